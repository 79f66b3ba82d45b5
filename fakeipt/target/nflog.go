package target

import (
	"bytes"
	"fmt"
	"math"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// NFLOG is -j NFLOG. The packet goes on.
type NFLOG struct {
	Group  uint16
	Prefix string
	// Range is --nflog-range, Size is --nflog-size: bytes of the packet that are copied, 0: not given.
	Range, Size uint32
	HasSize     bool
	Threshold   uint16 // 0: the kernel's choice
}

// The lengths of the prefix that the kernel keeps; the tools cut the rest off.
const (
	maxNFLOGPrefix    = 63
	maxNFLOGPrefixNFT = 127
)

// Name is "NFLOG".
func (*NFLOG) Name() string { return "NFLOG" }

func (t *NFLOG) AppendSave(dst []byte, _ netfilter.Family, d netfilter.Dialect) []byte {
	return t.appendOptions(dst, " --", d)
}

func (t *NFLOG) AppendList(dst []byte, style xtables.ListStyle) []byte {
	return t.appendOptions(dst, " ", style.Dialect)
}

func (t *NFLOG) appendOptions(dst []byte, prefix string, d netfilter.Dialect) []byte {
	if t.Prefix != "" {
		dst = xtables.AppendQuoted(append(append(dst, prefix...), "nflog-prefix"...), t.Prefix)
	}
	if t.Group != 0 {
		dst = fmt.Appendf(dst, "%snflog-group %d", prefix, t.Group)
	}
	if t.HasSize {
		dst = fmt.Appendf(dst, "%snflog-size %d", prefix, t.Size)
	} else if t.Range != 0 && d == netfilter.Legacy {
		// The nft tools have no place for it.
		dst = fmt.Appendf(dst, "%snflog-range %d", prefix, t.Range)
	}
	if t.Threshold != 0 {
		dst = fmt.Appendf(dst, "%snflog-threshold %d", prefix, t.Threshold)
	}
	return dst
}

// comparedNFLOGPrefix is how much of the prefix lies within the struct that the nft tools compare.
const comparedNFLOGPrefix = 68

func (t *NFLOG) Compared() any {
	cut := *t
	cut.Prefix = cut.Prefix[:min(len(cut.Prefix), comparedNFLOGPrefix)]
	return &cut
}

// Unlike: what the nft tools do not save is not in the kernel.
func (t *NFLOG) Unlike(any) bool { return false }

var nflogExtension = &xtables.Extension{
	Name: "NFLOG",
	Options: []xtables.Option{{Name: "nflog-group"}, {Name: "nflog-prefix"}, {Name: "nflog-range", Excludes: 1 << 3},
		{Name: "nflog-size", Excludes: 1 << 2},
		{Name: "nflog-threshold"}},
	NewTarget: func() xtables.TargetParser { return &nflogParser{} },
}

type nflogParser struct {
	t      NFLOG
	ranged *xtables.OptionCall // --nflog-range, if it was given
	arena  xtables.Arena[NFLOG]
}

func (p *nflogParser) Begin(netfilter.Family) { p.t, p.ranged = NFLOG{}, nil }

func (p *nflogParser) Option(o *xtables.OptionCall) error {
	var n uint64
	var err error
	switch o.Name {
	case "nflog-prefix":
		if err := xtables.WantText(o); err != nil {
			return err
		}
		return p.prefix(o.Arg, o.Dialect())
	case "nflog-group":
		n, err = o.Number(0, math.MaxUint16)
		p.t.Group = uint16(n)
	case "nflog-threshold":
		n, err = o.Number(0, math.MaxUint16)
		p.t.Threshold = uint16(n)
	case "nflog-range":
		n, err = o.Number(0, math.MaxUint32)
		p.t.Range, p.ranged = uint32(n), o
	case "nflog-size":
		n, err = o.Number(0, math.MaxUint32)
		p.t.Size, p.t.HasSize = uint32(n), true
	}
	return err
}

func (p *nflogParser) prefix(arg []byte, d netfilter.Dialect) error {
	limit := maxNFLOGPrefix
	if d == netfilter.NFT {
		limit = maxNFLOGPrefixNFT
	}
	p.t.Prefix = string(arg[:min(len(arg), limit)])
	if bytes.IndexByte(arg, '\n') >= 0 {
		return xtables.BadParameter("Newlines not allowed in --log-prefix")
	}
	return nil
}

func (p *nflogParser) Finish(uint32) (xtables.Target, error) {
	if p.ranged != nil {
		p.ranged.Warn("warn: --nflog-range has never worked and is no longer supported, please use --nflog-size instead\n")
	}
	return p.arena.Intern(p.t), nil
}
