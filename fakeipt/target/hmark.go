package target

import (
	"bytes"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strings"
	"syscall"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// HMARK is -j HMARK: the packet's mark becomes a number from a hash of the packet. The packet goes on.
type HMARK struct {
	// Given are the fields that were given, as places in hmarkOptions.
	Given uint32
	// SrcMask and DstMask are the masks of the addresses. AllOnes says of each that it is one without a length, which the
	// tools take for another one than that with all bits, though it is saved alike (IPv4).
	SrcMask, DstMask       netip.Addr
	SrcAllOnes, DstAllOnes bool
	// The ports are (port & mask) | set, and SPI the same.
	SrcPortMask, DstPortMask, SrcPortSet, DstPortSet uint16
	SPIMask, SPISet                                  uint32
	ProtoMask                                        uint16
	Conntrack                                        bool // the tuple of the connection, not of the packet
	Rnd, Modulus, Offset                             uint32
}

// The places of HMARK's options.
const (
	hmarkSrcPrefix = iota
	hmarkDstPrefix
	hmarkSrcPortMask
	hmarkDstPortMask
	hmarkSPIMask
	hmarkSrcPort
	hmarkDstPort
	hmarkSPI
	hmarkProtoMask
	hmarkRnd
	hmarkModulus
	hmarkOffset
	hmarkTuple
)

// Name is "HMARK".
func (*HMARK) Name() string { return "HMARK" }

func (t *HMARK) has(option int) bool { return t.Given&(1<<option) != 0 }

func (t *HMARK) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	add := func(option int, format string, value any) {
		if t.has(option) {
			dst = fmt.Appendf(dst, " --"+hmarkOptions[option].Name+" "+format, value)
		}
	}
	add(hmarkSrcPrefix, "%d", xtables.MaskBits(t.SrcMask))
	add(hmarkDstPrefix, "%d", xtables.MaskBits(t.DstMask))
	add(hmarkSrcPortMask, "0x%04x", t.SrcPortMask)
	add(hmarkDstPortMask, "0x%04x", t.DstPortMask)
	add(hmarkSPIMask, "0x%08x", t.SPIMask)
	add(hmarkSrcPort, "0x%04x", t.SrcPortSet)
	add(hmarkDstPort, "0x%04x", t.DstPortSet)
	add(hmarkSPI, "0x%08x", t.SPISet)
	add(hmarkProtoMask, "0x%02x", t.ProtoMask)
	add(hmarkRnd, "0x%08x", t.Rnd)
	add(hmarkModulus, "%d", t.Modulus)
	add(hmarkOffset, "%d", t.Offset)
	if t.Conntrack {
		dst = append(dst, " --hmark-tuple ct"...)
	}
	return dst
}

func (t *HMARK) AppendList(dst []byte, style xtables.ListStyle) []byte {
	add := func(option int, value any) {
		if t.has(option) {
			dst = fmt.Appendf(dst, strings.TrimPrefix(hmarkOptions[option].Name, "hmark-")+" 0x%x ", value)
		}
	}
	dst = fmt.Appendf(dst, " HMARK mod %d ", t.Modulus)
	if t.has(hmarkOffset) {
		dst = fmt.Appendf(dst, "+ 0x%x ", t.Offset)
	}
	if t.Conntrack {
		dst = append(dst, "ct, "...)
	}
	if t.has(hmarkSrcPrefix) {
		dst = fmt.Appendf(dst, "src-prefix %s ", maskText(style, t.SrcMask))
	}
	if t.has(hmarkDstPrefix) {
		dst = fmt.Appendf(dst, "dst-prefix %s ", maskText(style, t.DstMask))
	}
	add(hmarkSrcPortMask, t.SrcPortMask)
	add(hmarkDstPortMask, t.DstPortMask)
	add(hmarkSPIMask, t.SPIMask)
	add(hmarkSrcPort, t.SrcPortSet)
	add(hmarkDstPort, t.DstPortSet)
	add(hmarkSPI, t.SPISet)
	add(hmarkProtoMask, t.ProtoMask)
	add(hmarkRnd, t.Rnd)
	return dst
}

// maskText is the length of a mask in a listing, which says nothing of all bits in IPv6.
func maskText(style xtables.ListStyle, mask netip.Addr) string {
	if bits := xtables.MaskBits(mask); style.Family == netfilter.IPv4 || bits < mask.BitLen() {
		return fmt.Sprint(bits)
	}
	return ""
}

// Check: ports and SPI are the same place of the kernel's struct.
func (t *HMARK) Check(*xtables.CheckContext) syscall.Errno {
	if t.has(hmarkSPI) && (t.has(hmarkSrcPort) || t.has(hmarkDstPort)) {
		return syscall.EINVAL
	}
	return 0
}

// hmarkOptions are the options at their places.
var hmarkOptions = []xtables.Option{
	hmarkSrcPrefix: {Name: "hmark-src-prefix"}, hmarkDstPrefix: {Name: "hmark-dst-prefix"},
	hmarkSrcPortMask: {Name: "hmark-sport-mask"}, hmarkDstPortMask: {Name: "hmark-dport-mask"}, hmarkSPIMask: {Name: "hmark-spi-mask"},
	hmarkSrcPort: {Name: "hmark-sport"}, hmarkDstPort: {Name: "hmark-dport"}, hmarkSPI: {Name: "hmark-spi"},
	hmarkProtoMask: {Name: "hmark-proto-mask"}, hmarkRnd: {Name: "hmark-rnd"}, hmarkModulus: {Name: "hmark-mod"},
	hmarkOffset: {Name: "hmark-offset"}, hmarkTuple: {Name: "hmark-tuple"},
}

var hmarkExtension = &xtables.Extension{
	Name:      "HMARK",
	Options:   hmarkOptions,
	NewTarget: func() xtables.TargetParser { return &hmarkParser{} },
}

type hmarkParser struct {
	t     HMARK
	arena xtables.Arena[HMARK]
}

func (p *hmarkParser) Begin(netfilter.Family) { p.t = HMARK{} }

func (p *hmarkParser) Option(o *xtables.OptionCall) (err error) {
	id := slices.IndexFunc(hmarkOptions, func(spec xtables.Option) bool { return spec.Name == o.Name })
	var n uint64
	switch id {
	case hmarkTuple:
		return p.tuple(o)
	case hmarkSrcPrefix:
		p.t.SrcMask, p.t.SrcAllOnes, err = hmarkPrefix(o)
	case hmarkDstPrefix:
		p.t.DstMask, p.t.DstAllOnes, err = hmarkPrefix(o)
	case hmarkSrcPortMask, hmarkDstPortMask, hmarkSrcPort, hmarkDstPort, hmarkProtoMask:
		n, err = o.Number(0, math.MaxUint16)
	case hmarkModulus:
		n, err = o.Number(1, math.MaxUint32)
	default:
		n, err = o.Number(0, math.MaxUint32)
	}
	p.set(id, n)
	return err
}

// AlsoSeen: --hmark-tuple gives other options.
func (p *hmarkParser) AlsoSeen() uint32 { return p.t.Given }

// hmarkPrefix reads a prefix; an address without a prefix length has all bits.
func hmarkPrefix(o *xtables.OptionCall) (mask netip.Addr, allOnes bool, err error) {
	n, err := o.PrefixLength(o.Arg)
	if n == xtables.NoPrefix {
		return xtables.FactsOf(o.Family).Ones, o.Family == netfilter.IPv4, err
	}
	return xtables.MaskOf(int(n), xtables.FactsOf(o.Family).Bits), false, err
}

// set gives a number to the field of an option, which is given then.
func (p *hmarkParser) set(id int, n uint64) {
	p.t.Given |= 1 << id
	switch id {
	case hmarkSrcPortMask:
		p.t.SrcPortMask = uint16(n)
	case hmarkDstPortMask:
		p.t.DstPortMask = uint16(n)
	case hmarkSPIMask:
		p.t.SPIMask = uint32(n)
	case hmarkSrcPort:
		p.t.SrcPortSet = uint16(n)
	case hmarkDstPort:
		p.t.DstPortSet = uint16(n)
	case hmarkSPI:
		p.t.SPISet = uint32(n)
	case hmarkProtoMask:
		p.t.ProtoMask = uint16(n)
	case hmarkRnd:
		p.t.Rnd = uint32(n)
	case hmarkModulus:
		p.t.Modulus = uint32(n)
	case hmarkOffset:
		p.t.Offset = uint32(n)
	}
}

// hmarkTypes are the words of --hmark-tuple with the options that each stands for; ct stands for itself.
var hmarkTypes = [...]struct {
	name   string
	option int
}{{"src", hmarkSrcPrefix}, {"dst", hmarkDstPrefix}, {"sport", hmarkSrcPortMask}, {"dport", hmarkDstPortMask}, {"spi", hmarkSPIMask},
	{"proto", hmarkProtoMask}, {"ct", hmarkTuple}}

func (p *hmarkParser) tuple(o *xtables.OptionCall) error {
	list := o.Arg
	for more := true; more; {
		var word []byte
		rest := list
		word, list, more = bytes.Cut(list, []byte(","))
		switch {
		case len(word) == 0 && !more:
			return xtables.BadParameter("\"--hmark-tuple\" requires a list of types with no spaces, e.g. src,dst,sport,dport,proto")
		case !p.tupleType(word, o.Family):
			return xtables.BadParameter("Bad type \"%s\"", rest)
		}
	}
	return nil
}

// tupleType acts on one word, which may be cut short.
func (p *hmarkParser) tupleType(word []byte, f netfilter.Family) bool {
	for _, kind := range hmarkTypes {
		if len(word) == 0 || !xtables.BeginsLike(kind.name, word) {
			continue
		}
		switch kind.option {
		case hmarkTuple:
			p.t.Conntrack = true
			return true
		case hmarkSrcPrefix:
			p.t.SrcMask, p.t.SrcAllOnes = xtables.FactsOf(f).Ones, f == netfilter.IPv4
		case hmarkDstPrefix:
			p.t.DstMask, p.t.DstAllOnes = xtables.FactsOf(f).Ones, f == netfilter.IPv4
		}
		p.set(kind.option, math.MaxUint64)
		return true
	}
	return false
}

// Finish makes the checks in the order in which the tool makes them.
func (p *hmarkParser) Finish(uint32) (xtables.Target, error) {
	t := &p.t
	const alone = 1<<hmarkRnd | 1<<hmarkModulus | 1<<hmarkOffset
	switch {
	case !t.has(hmarkModulus):
		return nil, xtables.BadParameter("--hmark-mod is mandatory")
	case !t.has(hmarkRnd):
		return nil, xtables.BadParameter("--hmark-rnd is mandatory")
	case t.has(hmarkSPIMask) && (t.has(hmarkSrcPortMask) || t.has(hmarkDstPortMask)):
		return nil, xtables.BadParameter("you cannot use --hmark-spi-mask and --hmark-?port-mask,at the same time")
	case t.Given&^alone == 0 && !t.Conntrack:
		return nil, xtables.BadParameter("you have to specify --hmark-tuple at least")
	}
	return p.arena.Intern(*t), nil
}
