package target

import (
	"fmt"
	"math"
	"syscall"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// ConnmarkMode is what -j CONNMARK does.
type ConnmarkMode uint8

// The modes.
const (
	ConnmarkSet     ConnmarkMode = iota // ctmark = (ctmark &^ CTMask) ^ Value
	ConnmarkSave                        // ctmark = (ctmark &^ CTMask) ^ (mark & NFMask)
	ConnmarkRestore                     // mark = (mark &^ NFMask) ^ (ctmark & CTMask)
)

// Connmark is -j CONNMARK.
type Connmark struct {
	Mode           ConnmarkMode
	Value          uint32
	CTMask, NFMask uint32
	// Shift is --left-shift-mark, or if it is less than 0 --right-shift-mark: the mark that is saved or restored is
	// shifted by so many bits after it was masked.
	Shift int8
}

// Name is "CONNMARK".
func (*Connmark) Name() string { return "CONNMARK" }

func (t *Connmark) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	switch t.Mode {
	case ConnmarkSave:
		dst = fmt.Appendf(dst, " --save-mark --nfmask %#x --ctmask %#x", t.NFMask, t.CTMask)
	case ConnmarkRestore:
		dst = fmt.Appendf(dst, " --restore-mark --nfmask %#x --ctmask %#x", t.NFMask, t.CTMask)
	default:
		dst = fmt.Appendf(dst, " --set-xmark %#x/%#x", t.Value, t.CTMask)
	}
	return t.appendShift(dst, " --")
}

// appendShift appends " left-shift-mark N" behind a prefix.
func (t *Connmark) appendShift(dst []byte, prefix string) []byte {
	switch {
	case t.Shift > 0:
		return fmt.Appendf(dst, "%sleft-shift-mark %d", prefix, t.Shift)
	case t.Shift < 0:
		return fmt.Appendf(dst, "%sright-shift-mark %d", prefix, -t.Shift)
	}
	return dst
}

func (t *Connmark) AppendList(dst []byte, _ xtables.ListStyle) []byte {
	dst = append(dst, " CONNMARK "...)
	if t.Mode == ConnmarkSet {
		return t.appendShift(appendMarkOperation(dst, t.Value, t.CTMask), " ")
	}
	word, first, second := "save", "nfmask", "ctmask"
	from, to := t.NFMask, t.CTMask
	if t.Mode == ConnmarkRestore {
		word, first, second = "restore", "ctmask", "nfmask"
		from, to = to, from
	}
	dst = append(dst, word...)
	switch {
	case from == 0xffffffff && to == 0xffffffff:
	case from == to:
		dst = fmt.Appendf(dst, " mask %#x", to)
	default:
		dst = fmt.Appendf(dst, " %s %#x %s ~%#x", first, from, second, to)
	}
	return t.appendShift(dst, " ")
}

// maxMarkShift is the greatest shift that the kernel makes of a mark; the tool takes one more.
const maxMarkShift = 31

func (t *Connmark) Check(*xtables.CheckContext) syscall.Errno {
	if t.Shift > maxMarkShift || t.Shift < -maxMarkShift {
		return syscall.EINVAL
	}
	return 0
}

var connmarkExtension = &xtables.Extension{
	Name: "CONNMARK",
	Options: []xtables.Option{
		{Name: "set-xmark", Rank: 6, Excludes: 0x7e},
		{Name: "set-mark", Excludes: 0x7d},
		{Name: "and-mark", Rank: 3, Excludes: 0x7b},
		{Name: "or-mark", Rank: 4, Excludes: 0x77},
		{Name: "xor-mark", Rank: 5, Excludes: 0x6f},
		{Name: "save-mark", Flag: true, Rank: 1, Excludes: 0x5f},
		{Name: "restore-mark", Flag: true, Rank: 2, Excludes: 0x3f},
		{Name: "nfmask", Excludes: 1 << 9},
		{Name: "ctmask", Excludes: 1 << 9},
		{Name: "mask", Excludes: 1<<7 | 1<<8},
		{Name: "left-shift-mark"},
		{Name: "right-shift-mark"},
	},
	NewTarget: func() xtables.TargetParser { return &connmarkParser{} },
}

type connmarkParser struct {
	t     Connmark
	arena xtables.Arena[Connmark]
}

func (p *connmarkParser) Begin(netfilter.Family) {
	p.t = Connmark{CTMask: 0xffffffff, NFMask: 0xffffffff}
}

func (p *connmarkParser) Option(o *xtables.OptionCall) error {
	value, mask, done, err := parseMarkOperation(o)
	if done {
		p.t.Value, p.t.CTMask = value, mask
		return err
	}
	switch o.Name {
	case "restore-mark":
		p.t.Mode = ConnmarkRestore
		return nil
	case "save-mark":
		p.t.Mode = ConnmarkSave
		return nil
	}
	if o.Name == "left-shift-mark" || o.Name == "right-shift-mark" {
		return p.shift(o)
	}
	n, err := o.Number(0, math.MaxUint32)
	if err != nil {
		return err
	}
	if o.Name != "ctmask" {
		p.t.NFMask = uint32(n)
	}
	if o.Name != "nfmask" {
		p.t.CTMask = uint32(n)
	}
	return nil
}

func (p *connmarkParser) shift(o *xtables.OptionCall) error {
	n, err := o.Number(0, maxMarkShift+1)
	p.t.Shift = int8(n)
	if o.Name == "right-shift-mark" {
		p.t.Shift = -p.t.Shift
	}
	return err
}

func (p *connmarkParser) Finish(seen uint32) (xtables.Target, error) {
	if seen&0x7f == 0 {
		return nil, xtables.BadParameter("CONNMARK target: No operation specified")
	}
	return p.arena.Intern(p.t), nil
}
