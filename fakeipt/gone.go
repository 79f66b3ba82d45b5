package fakeipt

import (
	"strconv"
	"strings"
	"syscall"

	"github.com/chainwalk/chainwalk/netfilter"
)

// Gone is a match or a target that the tools ship and whose module the kernel has not: IPVS and LEDs are not built in,
// CLUSTERIP and ULOG no longer exist. The tools read its options, and print them with -v, and the kernel then refuses the rule.
type Gone struct {
	Extension string
	// Said is what the tools print of its options.
	Said string
}

// Name is the extension's name.
func (g *Gone) Name() string { return g.Extension }

func (*Gone) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte { return dst }

func (g *Gone) appendList(dst []byte, _ listStyle) []byte { return append(dst, g.Said...) }

func (g *Gone) check(c *checkContext) syscall.Errno { return g.absent(c.dialect) }

// absent: of nft the kernel takes a word for a target that stands for none.
func (g *Gone) absent(d netfilter.Dialect) syscall.Errno {
	if g.Extension == standardTarget && d == netfilter.NFT {
		return syscall.EINVAL
	}
	return syscall.ENOENT
}

// goneOption is an option. read refuses what the tools refuse of its value, and returns the value as they print it; nil: it has none.
type goneOption struct {
	optionSpec
	read func(o *optionCall) (string, error)
}

// goneValue is a value that was given, as the tools print it.
type goneValue struct {
	text           string
	given, inverts bool
}

// append appends " [! ]WORD VALUE" if the value was given.
func (v goneValue) append(dst []byte, word string) []byte {
	if !v.given {
		return dst
	}
	dst = appendOption(dst, word, v.inverts)
	if v.text != "" {
		dst = append(append(dst, ' '), v.text...)
	}
	return dst
}

// goneParser reads the options of one. end says what the tools refuse of all of them, and what they print.
type goneParser struct {
	extension *extension
	options   []goneOption
	end       func(values []goneValue) (string, error)

	values []goneValue // by the options' places
}

func (p *goneParser) begin(netfilter.Family) { p.values = make([]goneValue, len(p.options)) }

func (p *goneParser) option(o *optionCall) (err error) {
	id := p.extension.find([]byte(o.name))
	v := &p.values[id]
	v.given, v.inverts = true, o.invert
	if read := p.options[id].read; read != nil {
		v.text, err = read(o)
	}
	return err
}

func (p *goneParser) finished() (*Gone, error) {
	said, err := p.end(p.values)
	return &Gone{p.extension.name, said}, err
}

type (
	goneMatchParser  struct{ goneParser }
	goneTargetParser struct{ goneParser }
)

func (p *goneMatchParser) finish(uint32) (Match, error) { return p.finished() }

func (p *goneTargetParser) finish(uint32) (Target, error) { return p.finished() }

// goneExtension is the extension of that name as a match and as a target: which it is, the registry says.
func goneExtension(name string, f netfilter.Family, end func(values []goneValue) (string, error), options ...goneOption) *extension {
	e := &extension{name: name, onlyIn: f, gone: true}
	for _, o := range options {
		e.options = append(e.options, o.optionSpec)
	}
	p := goneParser{extension: e, options: options, end: end}
	e.newMatch = func() matchParser { return &goneMatchParser{p} }
	e.newTarget = func() targetParser { return &goneTargetParser{p} }
	return e
}

// goneNumber wants a number.
func goneNumber(low, high uint64) func(*optionCall) (string, error) {
	return func(o *optionCall) (string, error) {
		n, err := o.number(low, high)
		return strconv.FormatUint(n, 10), err
	}
}

// goneWord wants one of some words; case does not matter.
func goneWord(words ...string) func(*optionCall) (string, error) {
	return func(o *optionCall) (string, error) {
		for _, word := range words {
			if strings.EqualFold(word, string(o.arg)) {
				return word, nil
			}
		}
		return "", o.badValue(o.arg)
	}
}
