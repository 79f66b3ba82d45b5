package fakeipt

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// MatchTCP is -m tcp: ports, flags and the presence of a TCP option.
type MatchTCP struct {
	SrcPorts, DstPorts PortRange
	FlagMask, FlagComp uint8 // the packet's flags under FlagMask are FlagComp
	Option             uint8 // number of a TCP option that is present; 0: any
	InvSrc, InvDst     bool
	InvFlags           bool
	InvOption          bool
}

// Name is "tcp".
func (*MatchTCP) Name() string { return "tcp" }

func (m *MatchTCP) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	dst = appendPortOption(dst, "--sport", m.SrcPorts, m.InvSrc)
	dst = appendPortOption(dst, "--dport", m.DstPorts, m.InvDst)
	if m.Option != 0 || m.InvOption {
		dst = appendOption(dst, "--tcp-option", m.InvOption)
		dst = strconv.AppendUint(append(dst, ' '), uint64(m.Option), 10)
	}
	if m.FlagMask != 0 || m.InvFlags {
		dst = appendOption(dst, "--tcp-flags", m.InvFlags)
		dst = appendTCPFlags(append(dst, ' '), m.FlagMask)
		dst = appendTCPFlags(append(dst, ' '), m.FlagComp)
	}
	return dst
}

func (m *MatchTCP) appendList(dst []byte, style listStyle) []byte {
	dst = append(dst, " tcp"...)
	dst = appendPortList(dst, " spt", m.SrcPorts, m.InvSrc, style)
	dst = appendPortList(dst, " dpt", m.DstPorts, m.InvDst, style)
	if m.Option != 0 || m.InvOption {
		dst = fmt.Appendf(dst, " option=%s%d", bang(m.InvOption), m.Option)
	}
	if m.FlagMask == 0 && !m.InvFlags {
		return dst
	}
	dst = append(append(dst, " flags:"...), bang(m.InvFlags)...)
	if style.numeric {
		return fmt.Appendf(dst, "0x%02X/0x%02X", m.FlagMask, m.FlagComp)
	}
	dst = append(appendTCPFlags(dst, m.FlagMask), '/')
	return appendTCPFlags(dst, m.FlagComp)
}

func (m *MatchTCP) check(c *checkContext) syscall.Errno {
	if c.dialect == netfilter.NFT && m.nativeInNFT() {
		return 0
	}
	return c.wantProto(libc.ProtoTCP)
}

// nativeInNFT says that the nft tools write the match as expressions of
// nftables, so that the kernel's match is not asked.
func (m *MatchTCP) nativeInNFT() bool {
	return m.Option == 0 && !m.InvOption && (!m.SrcPorts.isAny() || !m.DstPorts.isAny() || m.FlagMask != 0 || m.FlagComp != 0 ||
		m.InvSrc || m.InvDst || m.InvFlags)
}

// tcpFlagNames are the flags that -m tcp knows.
var tcpFlagNames = bitNames{names: namesFromBit0("FIN", "SYN", "RST", "PSH", "ACK", "URG"), none: "NONE"}

func appendTCPFlags(dst []byte, flags uint8) []byte {
	return tcpFlagNames.append(dst, uint32(flags), ",")
}

func parseTCPFlags(s []byte) (uint8, error) {
	var flags uint8
	for word := range bytes.SplitSeq(s, []byte(",")) {
		switch name := strings.ToUpper(string(word)); name {
		case "ALL":
			flags |= 0x3f
		case "NONE", "":
		default:
			bit := tcpFlagNames.bit(name)
			if bit == 0 {
				return 0, badParameter("Unknown TCP flag `%s'", word)
			}
			flags |= uint8(bit)
		}
	}
	return flags, nil
}

func (m *MatchTCP) addFact(f *netfilter.Fact) {
	rest := *m
	if rest.DstPorts = anyPort; rest != (MatchTCP{SrcPorts: anyPort, DstPorts: anyPort}) {
		addOther(&f.Conditions, m.Name())
		return
	}
	addPorts(&f.Conditions, m.DstPorts)
}

var tcpExtension = &extension{
	name: "tcp",
	options: slices.Concat(portOptions, []optionSpec{
		{name: "syn", flag: true, invert: true, multi: true},
		{name: "tcp-flags", invert: true, multi: true},
		{name: "tcp-option", invert: true, multi: true},
	}),
	newMatch: func() matchParser { return &tcpParser{} },
}

type tcpParser struct {
	m     MatchTCP
	arena arena[MatchTCP]
	given portsGiven
	flags bool
}

func (p *tcpParser) begin(netfilter.Family) {
	p.m = MatchTCP{SrcPorts: anyPort, DstPorts: anyPort}
	p.given, p.flags = portsGiven{proto: libc.ProtoTCP}, false
}

func (p *tcpParser) option(o *optionCall) error {
	switch o.name {
	case "dport", "destination-port":
		return p.given.dst(o, &p.m.DstPorts, &p.m.InvDst)
	case "sport", "source-port":
		return p.given.src(o, &p.m.SrcPorts, &p.m.InvSrc)
	case "tcp-option":
		return p.tcpOption(o)
	}
	if p.flags {
		return badParameter("Only one of `--syn' or `--tcp-flags'  allowed")
	}
	p.flags, p.m.InvFlags = true, o.invert
	if o.name == "syn" {
		p.m.FlagMask, p.m.FlagComp = 0x17, 0x02
		return nil
	}
	return p.tcpFlags(o)
}

func (p *tcpParser) tcpFlags(o *optionCall) error {
	second, ok := o.next()
	if !ok {
		return badParameter("--tcp-flags requires two args.")
	}
	var err error
	if p.m.FlagMask, err = parseTCPFlags(o.arg); err != nil {
		return err
	}
	p.m.FlagComp, err = parseTCPFlags(second)
	return err
}

func (p *tcpParser) tcpOption(o *optionCall) error {
	if p.m.Option != 0 || p.m.InvOption {
		return badParameter("Only one `--tcp-option' allowed")
	}
	n, ok := libc.WholeNumber(o.arg, math.MaxUint8)
	if !ok || n == 0 {
		return badParameter("Bad TCP option \"%s\"", o.arg)
	}
	p.m.Option, p.m.InvOption = uint8(n), o.invert
	return nil
}

func (p *tcpParser) finish(uint32) (Match, error) { return p.arena.intern(p.m), nil }
