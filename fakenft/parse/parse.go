package parse

import (
	"strings"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
)

// Files is where the files of "include" are.
type Files interface {
	// Glob lists the names that a pattern matches, in order. A name without wildcards is its own match if it is there.
	Glob(pattern string) ([]string, error)
	// Read is what a file holds. Errors of package os make nft's messages.
	Read(name string) ([]byte, error)
}

// Options are what a parser is told beside the text.
type Options struct {
	// Files are for "include"; nil: there are none.
	Files Files
	// IncludePaths are searched for names that begin neither with "/" nor with ".", in order.
	IncludePaths []string
	// Defines are those of the command line: names and values ("-D name=value").
	Defines [][2]string
}

// mostMistakes is how many mistakes nft looks for before it gives up.
const mostMistakes = 10

// Text reads commands. If there are mistakes, it returns the commands that it could read, and blocks without their wrong parts: nft 1.0.6
// evaluates these too and reports what it finds there behind the mistakes, before it gives up. It reads on until the tenth mistake.
func Text(in *syntax.Input, o Options) ([]*syntax.Command, []*syntax.Mistake) {
	p := newParser(o)
	if len(o.Defines) > 0 {
		var b strings.Builder
		for _, d := range o.Defines {
			b.WriteString("define " + d[0] + "=" + d[1] + "; ")
		}
		p.read(&syntax.Input{Text: b.String()})
	}
	if len(p.mistakes) == 0 {
		p.read(in)
	}
	return p.commands, p.mistakes
}

// parser takes commands. Each of its parts takes one kind of thing and has the parts that it needs. All of them share the stream; their
// functions are named after what they take.
type parser struct {
	stream
	nodes
	vars     definitions
	amounts  amountParser
	keys     keyParser
	exprs    exprParser
	elements elementParser
	steer    steerParser
	stmts    stmtParser
	blocks   blockParser
	sets     setParser
	hooks    hookParser
	handles  handleParser
	objects  objectParser
	commands []*syntax.Command
}

func newParser(o Options) *parser {
	p := &parser{}
	s, n := &p.stream, &p.nodes
	p.vars = definitions{stream: s, block: &variables{}}
	p.amounts = amountParser{s}
	p.keys = keyParser{s, n}
	p.exprs = exprParser{stream: s, nodes: n, vars: &p.vars, amounts: &p.amounts, keys: &p.keys, elements: &p.elements}
	p.elements = elementParser{stream: s, nodes: n, vars: &p.vars, amounts: &p.amounts, exprs: &p.exprs}
	p.steer = steerParser{stream: s, nodes: n, vars: &p.vars, keys: &p.keys, exprs: &p.exprs}
	p.stmts = stmtParser{
		stream: s, nodes: n, vars: &p.vars, amounts: &p.amounts, keys: &p.keys, exprs: &p.exprs, elements: &p.elements, steer: &p.steer,
	}
	p.blocks = blockParser{stream: s, options: o, vars: &p.vars, exprs: &p.exprs, elements: &p.elements}
	p.sets = setParser{stream: s, blocks: &p.blocks, amounts: &p.amounts, exprs: &p.exprs, elements: &p.elements, stmts: &p.stmts}
	p.hooks = hookParser{stream: s, nodes: n, blocks: &p.blocks, vars: &p.vars, stmts: &p.stmts}
	p.handles = handleParser{s}
	p.objects = objectParser{stream: s, blocks: &p.blocks, amounts: &p.amounts, handles: &p.handles}
	return p
}

// read takes a whole text.
func (p *parser) read(in *syntax.Input) {
	text := in.Text
	if in.Name == "" || in.Name == "/dev/stdin" {
		// nft holds these as C strings.
		if i := strings.IndexByte(text, 0); i >= 0 {
			text = text[:i]
		}
	}
	p.begin(in, text)
	p.input()
}
