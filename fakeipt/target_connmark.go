package fakeipt

import (
	"fmt"
	"strconv"
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
}

// Name is "CONNMARK".
func (*TargetConnmark) Name() string { return "CONNMARK" }

func (t *TargetConnmark) appendSave(dst []byte, _ Family, _ Dialect) []byte {
	switch t.Mode {
	case ConnmarkSave:
		return fmt.Appendf(dst, " --save-mark --nfmask %#x --ctmask %#x", t.NFMask, t.CTMask)
	case ConnmarkRestore:
		return fmt.Appendf(dst, " --restore-mark --nfmask %#x --ctmask %#x", t.NFMask, t.CTMask)
	}
	return fmt.Appendf(dst, " --set-xmark %#x/%#x", t.Value, t.CTMask)
}

func (t *TargetConnmark) appendList(dst []byte, _ listStyle) []byte {
	if t.Mode == ConnmarkSet {
		return t.appendListSet(dst)
	}
	word := " CONNMARK save"
	if t.Mode == ConnmarkRestore {
		word = " CONNMARK restore"
	}
	dst = append(dst, word...)
	switch {
	case t.NFMask == 0xffffffff && t.CTMask == 0xffffffff:
		return dst
	case t.NFMask == t.CTMask:
		return fmt.Appendf(dst, " mask %#x", t.CTMask)
	}
	return fmt.Appendf(dst, " nfmask %#x ctmask ~%#x", t.NFMask, t.CTMask)
}

func (t *TargetConnmark) appendListSet(dst []byte) []byte {
	switch {
	case t.Value == 0:
		return fmt.Appendf(dst, " CONNMARK and %#x", ^t.CTMask)
	case t.Value == t.CTMask:
		return fmt.Appendf(dst, " CONNMARK or %#x", t.Value)
	case t.CTMask == 0:
		return fmt.Appendf(dst, " CONNMARK xor %#x", t.Value)
	case t.CTMask == 0xffffffff:
		return fmt.Appendf(dst, " CONNMARK set %#x", t.Value)
	}
	return fmt.Appendf(dst, " CONNMARK xset %#x/%#x", t.Value, t.CTMask)
}

var connmarkExtension = &extension{
	name: "CONNMARK",
	options: []optionSpec{
		{name: "set-xmark", excludes: 0x7e},
		{name: "set-mark", excludes: 0x7d},
		{name: "and-mark", excludes: 0x7b},
		{name: "or-mark", excludes: 0x77},
		{name: "xor-mark", excludes: 0x6f},
		{name: "restore-mark", flag: true, excludes: 0x5f},
		{name: "save-mark", flag: true, excludes: 0x3f},
		{name: "nfmask", excludes: 1<<9 | 0x1f},
		{name: "ctmask", excludes: 1<<9 | 0x1f},
		{name: "mask", excludes: 1<<7 | 1<<8 | 0x1f},
	},
	newTarget: func() targetParser { return &connmarkParser{} },
}

type connmarkParser struct {
	t     TargetConnmark
	arena arena[TargetConnmark]
}

func (p *connmarkParser) begin(Family) {
	p.t = TargetConnmark{CTMask: 0xffffffff, NFMask: 0xffffffff}
}

func (p *connmarkParser) option(o *optionCall) error {
	value, mask, done, err := parseMarkOperation(o, "CONNMARK")
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
	n, err := strconv.ParseUint(string(o.arg), 0, 32)
	if err != nil {
		return o.badInteger("CONNMARK")
	}
	if o.name != "ctmask" {
		p.t.NFMask = uint32(n)
	}
	if o.name != "nfmask" {
		p.t.CTMask = uint32(n)
	}
	return nil
}

func (p *connmarkParser) finish(seen uint32) (Target, error) {
	if seen&0x7f == 0 {
		return nil, badParameter("CONNMARK target: No operation specified")
	}
	if p.t.Mode == ConnmarkSet {
		p.t.NFMask = 0
	}
	return p.arena.intern(p.t), nil
}
