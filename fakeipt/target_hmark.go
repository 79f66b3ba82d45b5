package fakeipt

import (
	"bytes"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strings"
	"syscall"

	"github.com/chainwalk/chainwalk/netfilter"
)

// TargetHMARK is -j HMARK: the packet's mark becomes a number from a hash of the packet. The packet goes on.
type TargetHMARK struct {
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
func (*TargetHMARK) Name() string { return "HMARK" }

func (t *TargetHMARK) has(option int) bool { return t.Given&(1<<option) != 0 }

func (t *TargetHMARK) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	add := func(option int, format string, value any) {
		if t.has(option) {
			dst = fmt.Appendf(dst, " --"+hmarkOptions[option].name+" "+format, value)
		}
	}
	add(hmarkSrcPrefix, "%d", maskBits(t.SrcMask))
	add(hmarkDstPrefix, "%d", maskBits(t.DstMask))
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

func (t *TargetHMARK) appendList(dst []byte, style listStyle) []byte {
	add := func(option int, value any) {
		if t.has(option) {
			dst = fmt.Appendf(dst, strings.TrimPrefix(hmarkOptions[option].name, "hmark-")+" 0x%x ", value)
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
		dst = fmt.Appendf(dst, "src-prefix %s ", style.maskText(t.SrcMask))
	}
	if t.has(hmarkDstPrefix) {
		dst = fmt.Appendf(dst, "dst-prefix %s ", style.maskText(t.DstMask))
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
func (style listStyle) maskText(mask netip.Addr) string {
	if bits := maskBits(mask); style.family == netfilter.IPv4 || bits < mask.BitLen() {
		return fmt.Sprint(bits)
	}
	return ""
}

// check: ports and SPI are the same place of the kernel's struct.
func (t *TargetHMARK) check(*checkContext) syscall.Errno {
	if t.has(hmarkSPI) && (t.has(hmarkSrcPort) || t.has(hmarkDstPort)) {
		return syscall.EINVAL
	}
	return 0
}

// hmarkOptions are the options at their places.
var hmarkOptions = []optionSpec{
	hmarkSrcPrefix: {name: "hmark-src-prefix"}, hmarkDstPrefix: {name: "hmark-dst-prefix"},
	hmarkSrcPortMask: {name: "hmark-sport-mask"}, hmarkDstPortMask: {name: "hmark-dport-mask"}, hmarkSPIMask: {name: "hmark-spi-mask"},
	hmarkSrcPort: {name: "hmark-sport"}, hmarkDstPort: {name: "hmark-dport"}, hmarkSPI: {name: "hmark-spi"},
	hmarkProtoMask: {name: "hmark-proto-mask"}, hmarkRnd: {name: "hmark-rnd"}, hmarkModulus: {name: "hmark-mod"},
	hmarkOffset: {name: "hmark-offset"}, hmarkTuple: {name: "hmark-tuple"},
}

var hmarkExtension = &extension{
	name:      "HMARK",
	options:   hmarkOptions,
	newTarget: func() targetParser { return &hmarkParser{} },
}

type hmarkParser struct {
	t     TargetHMARK
	arena arena[TargetHMARK]
}

func (p *hmarkParser) begin(netfilter.Family) { p.t = TargetHMARK{} }

func (p *hmarkParser) option(o *optionCall) (err error) {
	id := slices.IndexFunc(hmarkOptions, func(spec optionSpec) bool { return spec.name == o.name })
	var n uint64
	switch id {
	case hmarkTuple:
		return p.tuple(o)
	case hmarkSrcPrefix:
		p.t.SrcMask, p.t.SrcAllOnes, err = hmarkPrefix(o)
	case hmarkDstPrefix:
		p.t.DstMask, p.t.DstAllOnes, err = hmarkPrefix(o)
	case hmarkSrcPortMask, hmarkDstPortMask, hmarkSrcPort, hmarkDstPort, hmarkProtoMask:
		n, err = o.number(0, math.MaxUint16)
	case hmarkModulus:
		n, err = o.number(1, math.MaxUint32)
	default:
		n, err = o.number(0, math.MaxUint32)
	}
	p.set(id, n)
	return err
}

// alsoSeen: --hmark-tuple gives other options.
func (p *hmarkParser) alsoSeen() uint32 { return p.t.Given }

// hmarkPrefix reads a prefix; what is none has all bits.
func hmarkPrefix(o *optionCall) (mask netip.Addr, allOnes bool, err error) {
	n, err := o.prefixLength(o.arg)
	if n == noPrefix {
		return factsOf(o.family).ones, o.family == netfilter.IPv4, err
	}
	return maskOf(int(n), factsOf(o.family).bits), false, err
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

func (p *hmarkParser) tuple(o *optionCall) error {
	list := o.arg
	for more := true; more; {
		var word []byte
		rest := list
		word, list, more = bytes.Cut(list, []byte(","))
		switch {
		case len(word) == 0 && !more:
			return badParameter("\"--hmark-tuple\" requires a list of types with no spaces, e.g. src,dst,sport,dport,proto")
		case !p.tupleType(word, o.family):
			return badParameter("Bad type \"%s\"", rest)
		}
	}
	return nil
}

// tupleType acts on one word, which may be cut short.
func (p *hmarkParser) tupleType(word []byte, f netfilter.Family) bool {
	for _, kind := range hmarkTypes {
		if len(word) == 0 || !beginsLike(kind.name, word) {
			continue
		}
		switch kind.option {
		case hmarkTuple:
			p.t.Conntrack = true
			return true
		case hmarkSrcPrefix:
			p.t.SrcMask, p.t.SrcAllOnes = factsOf(f).ones, f == netfilter.IPv4
		case hmarkDstPrefix:
			p.t.DstMask, p.t.DstAllOnes = factsOf(f).ones, f == netfilter.IPv4
		}
		p.set(kind.option, math.MaxUint64)
		return true
	}
	return false
}

// finish makes the checks in the order in which the tool makes them.
func (p *hmarkParser) finish(uint32) (Target, error) {
	t := &p.t
	const alone = 1<<hmarkRnd | 1<<hmarkModulus | 1<<hmarkOffset
	switch {
	case !t.has(hmarkModulus):
		return nil, badParameter("--hmark-mod is mandatory")
	case !t.has(hmarkRnd):
		return nil, badParameter("--hmark-rnd is mandatory")
	case t.has(hmarkSPIMask) && (t.has(hmarkSrcPortMask) || t.has(hmarkDstPortMask)):
		return nil, badParameter("you cannot use --hmark-spi-mask and --hmark-?port-mask,at the same time")
	case t.Given&^alone == 0 && !t.Conntrack:
		return nil, badParameter("you have to specify --hmark-tuple at least")
	}
	return p.arena.intern(*t), nil
}
