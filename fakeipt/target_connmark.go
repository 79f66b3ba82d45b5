package fakeipt

import (
	"fmt"
	"math"
	"syscall"

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

// TargetConnmark is -j CONNMARK.
type TargetConnmark struct {
	Mode           ConnmarkMode
	Value          uint32
	CTMask, NFMask uint32
	// Shift is --left-shift-mark, or if it is less than 0 --right-shift-mark: the mark that is saved or restored is
	// shifted by so many bits after it was masked.
	Shift int8
}

// Name is "CONNMARK".
func (*TargetConnmark) Name() string { return "CONNMARK" }

func (t *TargetConnmark) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
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
func (t *TargetConnmark) appendShift(dst []byte, prefix string) []byte {
	switch {
	case t.Shift > 0:
		return fmt.Appendf(dst, "%sleft-shift-mark %d", prefix, t.Shift)
	case t.Shift < 0:
		return fmt.Appendf(dst, "%sright-shift-mark %d", prefix, -t.Shift)
	}
	return dst
}

func (t *TargetConnmark) appendList(dst []byte, _ listStyle) []byte {
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

func (t *TargetConnmark) check(*checkContext) syscall.Errno {
	if t.Shift > maxMarkShift || t.Shift < -maxMarkShift {
		return syscall.EINVAL
	}
	return 0
}

var connmarkExtension = &extension{
	name: "CONNMARK",
	options: []optionSpec{
		{name: "set-xmark", rank: 6, excludes: 0x7e},
		{name: "set-mark", excludes: 0x7d},
		{name: "and-mark", rank: 3, excludes: 0x7b},
		{name: "or-mark", rank: 4, excludes: 0x77},
		{name: "xor-mark", rank: 5, excludes: 0x6f},
		{name: "save-mark", flag: true, rank: 1, excludes: 0x5f},
		{name: "restore-mark", flag: true, rank: 2, excludes: 0x3f},
		{name: "nfmask", excludes: 1 << 9},
		{name: "ctmask", excludes: 1 << 9},
		{name: "mask", excludes: 1<<7 | 1<<8},
		{name: "left-shift-mark"},
		{name: "right-shift-mark"},
	},
	newTarget: func() targetParser { return &connmarkParser{} },
}

type connmarkParser struct {
	t     TargetConnmark
	arena arena[TargetConnmark]
}

func (p *connmarkParser) begin(netfilter.Family) {
	p.t = TargetConnmark{CTMask: 0xffffffff, NFMask: 0xffffffff}
}

func (p *connmarkParser) option(o *optionCall) error {
	value, mask, done, err := parseMarkOperation(o)
	if done {
		p.t.Value, p.t.CTMask = value, mask
		return err
	}
	switch o.name {
	case "restore-mark":
		p.t.Mode = ConnmarkRestore
		return nil
	case "save-mark":
		p.t.Mode = ConnmarkSave
		return nil
	}
	if o.name == "left-shift-mark" || o.name == "right-shift-mark" {
		return p.shift(o)
	}
	n, err := o.number(0, math.MaxUint32)
	if err != nil {
		return err
	}
	if o.name != "ctmask" {
		p.t.NFMask = uint32(n)
	}
	if o.name != "nfmask" {
		p.t.CTMask = uint32(n)
	}
	return nil
}

func (p *connmarkParser) shift(o *optionCall) error {
	n, err := o.number(0, maxMarkShift+1)
	p.t.Shift = int8(n)
	if o.name == "right-shift-mark" {
		p.t.Shift = -p.t.Shift
	}
	return err
}

func (p *connmarkParser) finish(seen uint32) (Target, error) {
	if seen&0x7f == 0 {
		return nil, badParameter("CONNMARK target: No operation specified")
	}
	return p.arena.intern(p.t), nil
}
