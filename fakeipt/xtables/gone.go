package xtables

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

func (*Gone) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte { return dst }

func (g *Gone) AppendList(dst []byte, _ ListStyle) []byte { return append(dst, g.Said...) }

func (g *Gone) Check(c *CheckContext) syscall.Errno { return g.absent(c.Dialect) }

// absent: of nft the kernel takes a word for a target that stands for none.
func (g *Gone) absent(d netfilter.Dialect) syscall.Errno {
	if g.Extension == StandardTarget && d == netfilter.NFT {
		return syscall.EINVAL
	}
	return syscall.ENOENT
}

// GoneOption is an option. read refuses what the tools refuse of its value, and returns the value as they print it; nil: it has none.
type GoneOption struct {
	Option
	Read func(o *OptionCall) (string, error)
}

// GoneValue is a value that was given, as the tools print it.
type GoneValue struct {
	Text           string
	Given, Inverts bool
}

// Append appends " [! ]WORD VALUE" if the value was given.
func (v GoneValue) Append(dst []byte, word string) []byte {
	if !v.Given {
		return dst
	}
	dst = AppendOption(dst, word, v.Inverts)
	if v.Text != "" {
		dst = append(append(dst, ' '), v.Text...)
	}
	return dst
}

// goneParser reads the options of one. end says what the tools refuse of all of them, and what they print.
type goneParser struct {
	extension *Extension
	options   []GoneOption
	end       func(values []GoneValue) (string, error)

	values []GoneValue // by the options' places
}

func (p *goneParser) Begin(netfilter.Family) { p.values = make([]GoneValue, len(p.options)) }

func (p *goneParser) Option(o *OptionCall) (err error) {
	id := p.extension.Find([]byte(o.Name))
	v := &p.values[id]
	v.Given, v.Inverts = true, o.Invert
	if read := p.options[id].Read; read != nil {
		v.Text, err = read(o)
	}
	return err
}

func (p *goneParser) finished() (*Gone, error) {
	said, err := p.end(p.values)
	return &Gone{p.extension.Name, said}, err
}

type (
	goneMatchParser  struct{ goneParser }
	goneTargetParser struct{ goneParser }
)

func (p *goneMatchParser) Finish(uint32) (Match, error) { return p.finished() }

func (p *goneTargetParser) Finish(uint32) (Target, error) { return p.finished() }

// NewGone is the extension of that name as a match and as a target: which it is, the registry says.
func NewGone(name string, f netfilter.Family, end func(values []GoneValue) (string, error), options ...GoneOption) *Extension {
	e := &Extension{Name: name, OnlyIn: f, Gone: true}
	for _, o := range options {
		e.Options = append(e.Options, o.Option)
	}
	p := goneParser{extension: e, options: options, end: end}
	e.NewMatch = func() MatchParser { return &goneMatchParser{p} }
	e.NewTarget = func() TargetParser { return &goneTargetParser{p} }
	return e
}

// GoneNumber wants a number.
func GoneNumber(low, high uint64) func(*OptionCall) (string, error) {
	return func(o *OptionCall) (string, error) {
		n, err := o.Number(low, high)
		return strconv.FormatUint(n, 10), err
	}
}

// GoneWord wants one of some words; case does not matter.
func GoneWord(words ...string) func(*OptionCall) (string, error) {
	return func(o *OptionCall) (string, error) {
		for _, word := range words {
			if strings.EqualFold(word, string(o.Arg)) {
				return word, nil
			}
		}
		return "", o.BadValue(o.Arg)
	}
}
