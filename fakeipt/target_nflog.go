package fakeipt

import (
	"bytes"
	"fmt"
	"math"

	"github.com/chainwalk/chainwalk/netfilter"
)

// TargetNFLOG is -j NFLOG. The packet goes on.
type TargetNFLOG struct {
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
func (*TargetNFLOG) Name() string { return "NFLOG" }

func (t *TargetNFLOG) appendSave(dst []byte, _ netfilter.Family, d netfilter.Dialect) []byte {
	return t.appendOptions(dst, " --", d)
}

func (t *TargetNFLOG) appendList(dst []byte, style listStyle) []byte {
	return t.appendOptions(dst, " ", style.dialect)
}

func (t *TargetNFLOG) appendOptions(dst []byte, prefix string, d netfilter.Dialect) []byte {
	if t.Prefix != "" {
		dst = appendQuoted(append(append(dst, prefix...), "nflog-prefix"...), t.Prefix)
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

func (t *TargetNFLOG) compared() any {
	cut := *t
	cut.Prefix = cut.Prefix[:min(len(cut.Prefix), comparedNFLOGPrefix)]
	return &cut
}

// unlike: what the nft tools do not save is not in the kernel.
func (t *TargetNFLOG) unlike(any) bool { return false }

var nflogExtension = &extension{
	name: "NFLOG",
	options: []optionSpec{{name: "nflog-group"}, {name: "nflog-prefix"}, {name: "nflog-range", excludes: 1 << 3},
		{name: "nflog-size", excludes: 1 << 2},
		{name: "nflog-threshold"}},
	newTarget: func() targetParser { return &nflogParser{} },
}

type nflogParser struct {
	t      TargetNFLOG
	ranged *optionCall // --nflog-range, if it was given
	arena  arena[TargetNFLOG]
}

func (p *nflogParser) begin(netfilter.Family) { p.t, p.ranged = TargetNFLOG{}, nil }

func (p *nflogParser) option(o *optionCall) error {
	var n uint64
	var err error
	switch o.name {
	case "nflog-prefix":
		if err := wantText(o); err != nil {
			return err
		}
		return p.prefix(o.arg, o.dialect())
	case "nflog-group":
		n, err = o.number(0, math.MaxUint16)
		p.t.Group = uint16(n)
	case "nflog-threshold":
		n, err = o.number(0, math.MaxUint16)
		p.t.Threshold = uint16(n)
	case "nflog-range":
		n, err = o.number(0, math.MaxUint32)
		p.t.Range, p.ranged = uint32(n), o
	case "nflog-size":
		n, err = o.number(0, math.MaxUint32)
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
		return badParameter("Newlines not allowed in --log-prefix")
	}
	return nil
}

func (p *nflogParser) finish(uint32) (Target, error) {
	if p.ranged != nil {
		p.ranged.warn("warn: --nflog-range has never worked and is no longer supported, please use --nflog-size instead\n")
	}
	return p.arena.intern(p.t), nil
}
