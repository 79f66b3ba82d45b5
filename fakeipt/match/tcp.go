package match

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// TCP is -m tcp: ports, flags and the presence of a TCP option.
type TCP struct {
	SrcPorts, DstPorts xtables.PortRange
	FlagMask, FlagComp uint8 // the packet's flags under FlagMask are FlagComp
	Option             uint8 // number of a TCP option that is present; 0: any
	InvSrc, InvDst     bool
	InvFlags           bool
	InvOption          bool
}

// Name is "tcp".
func (*TCP) Name() string { return "tcp" }

func (m *TCP) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	dst = xtables.AppendPortOption(dst, "--sport", m.SrcPorts, m.InvSrc)
	dst = xtables.AppendPortOption(dst, "--dport", m.DstPorts, m.InvDst)
	if m.Option != 0 || m.InvOption {
		dst = xtables.AppendOption(dst, "--tcp-option", m.InvOption)
		dst = strconv.AppendUint(append(dst, ' '), uint64(m.Option), 10)
	}
	if m.FlagMask != 0 || m.InvFlags {
		dst = xtables.AppendOption(dst, "--tcp-flags", m.InvFlags)
		dst = appendTCPFlags(append(dst, ' '), m.FlagMask)
		dst = appendTCPFlags(append(dst, ' '), m.FlagComp)
	}
	return dst
}

func (m *TCP) AppendList(dst []byte, style xtables.ListStyle) []byte {
	dst = append(dst, " tcp"...)
	dst = xtables.AppendPortList(dst, " spt", m.SrcPorts, m.InvSrc, style)
	dst = xtables.AppendPortList(dst, " dpt", m.DstPorts, m.InvDst, style)
	if m.Option != 0 || m.InvOption {
		dst = fmt.Appendf(dst, " option=%s%d", xtables.Bang(m.InvOption), m.Option)
	}
	if m.FlagMask == 0 && !m.InvFlags {
		return dst
	}
	dst = append(append(dst, " flags:"...), xtables.Bang(m.InvFlags)...)
	if style.Numeric {
		return fmt.Appendf(dst, "0x%02X/0x%02X", m.FlagMask, m.FlagComp)
	}
	dst = append(appendTCPFlags(dst, m.FlagMask), '/')
	return appendTCPFlags(dst, m.FlagComp)
}

func (m *TCP) Check(c *xtables.CheckContext) syscall.Errno {
	if c.Dialect == netfilter.NFT && m.NativeInNFT() {
		return 0
	}
	return c.WantProto(libc.ProtoTCP)
}

// NativeInNFT says that the nft tools write the match as expressions of
// nftables, so that the kernel's match is not asked.
func (m *TCP) NativeInNFT() bool {
	return m.Option == 0 && !m.InvOption && (!m.SrcPorts.IsAny() || !m.DstPorts.IsAny() || m.FlagMask != 0 || m.FlagComp != 0 ||
		m.InvSrc || m.InvDst || m.InvFlags)
}

// ReadsOtherwise says that the nft tools read another match back.
func (m *TCP) ReadsOtherwise() bool {
	return m.InvSrc || m.InvDst || m.FlagMask == 0 && (m.InvFlags || m.FlagComp != 0)
}

// ReadInto reads the match's expressions into an earlier match of the rule; nil: there is none.
func (m *TCP) ReadInto(before xtables.Match) xtables.Match {
	to, _ := before.(*TCP)
	if to == nil {
		if m.FlagMask == 0 && m.SrcPorts.IsAny() && m.DstPorts.IsAny() {
			return nil
		}
		to = &TCP{SrcPorts: xtables.AnyPort, DstPorts: xtables.AnyPort}
	}
	if m.FlagMask != 0 {
		to.FlagMask, to.FlagComp = m.FlagMask, m.FlagComp
		to.InvFlags = to.InvFlags || m.InvFlags
	}
	m.SrcPorts.ReadInto(&to.SrcPorts, &to.InvSrc, m.InvSrc)
	m.DstPorts.ReadInto(&to.DstPorts, &to.InvDst, m.InvDst)
	return to
}

// tcpFlagNames are the flags that -m tcp knows.
var tcpFlagNames = xtables.BitNames{Names: xtables.NamesFromBit0("FIN", "SYN", "RST", "PSH", "ACK", "URG"), None: "NONE"}

func appendTCPFlags(dst []byte, flags uint8) []byte {
	return tcpFlagNames.Append(dst, uint32(flags), ",")
}

func parseTCPFlags(s []byte) (uint8, error) {
	var flags uint8
	for word := range bytes.SplitSeq(s, []byte(",")) {
		switch name := strings.ToUpper(string(word)); name {
		case "ALL":
			flags |= 0x3f
		case "NONE", "":
		default:
			bit := tcpFlagNames.Bit(name)
			if bit == 0 {
				return 0, xtables.BadParameter("Unknown TCP flag `%s'", word)
			}
			flags |= uint8(bit)
		}
	}
	return flags, nil
}

func (m *TCP) AddFact(f *netfilter.Fact) {
	rest := *m
	if rest.DstPorts = xtables.AnyPort; rest != (TCP{SrcPorts: xtables.AnyPort, DstPorts: xtables.AnyPort}) {
		xtables.AddOther(&f.Conditions, m.Name())
		return
	}
	xtables.AddPorts(&f.Conditions, m.DstPorts)
}

var tcpExtension = &xtables.Extension{
	Name: "tcp",
	Options: slices.Concat(xtables.PortOptions, []xtables.Option{
		{Name: "syn", Flag: true, Invert: true, Multi: true},
		{Name: "tcp-flags", Invert: true, Multi: true},
		{Name: "tcp-option", Invert: true, Multi: true},
	}),
	NewMatch: func() xtables.MatchParser { return &tcpParser{} },
}

type tcpParser struct {
	m     TCP
	arena xtables.Arena[TCP]
	given xtables.PortsGiven
	flags bool
}

func (p *tcpParser) Begin(netfilter.Family) {
	p.m = TCP{SrcPorts: xtables.AnyPort, DstPorts: xtables.AnyPort}
	p.given, p.flags = xtables.PortsGiven{Proto: libc.ProtoTCP}, false
}

func (p *tcpParser) Option(o *xtables.OptionCall) error {
	switch o.Name {
	case "dport", "destination-port":
		return p.given.Dst(o, &p.m.DstPorts, &p.m.InvDst)
	case "sport", "source-port":
		return p.given.Src(o, &p.m.SrcPorts, &p.m.InvSrc)
	case "tcp-option":
		return p.tcpOption(o)
	}
	if p.flags {
		return xtables.BadParameter("Only one of `--syn' or `--tcp-flags'  allowed")
	}
	p.flags, p.m.InvFlags = true, o.Invert
	if o.Name == "syn" {
		p.m.FlagMask, p.m.FlagComp = 0x17, 0x02
		return nil
	}
	return p.tcpFlags(o)
}

func (p *tcpParser) tcpFlags(o *xtables.OptionCall) error {
	second, ok := o.Next()
	if !ok {
		return xtables.BadParameter("--tcp-flags requires two args.")
	}
	var err error
	if p.m.FlagMask, err = parseTCPFlags(o.Arg); err != nil {
		return err
	}
	p.m.FlagComp, err = parseTCPFlags(second)
	return err
}

func (p *tcpParser) tcpOption(o *xtables.OptionCall) error {
	if p.m.Option != 0 || p.m.InvOption {
		return xtables.BadParameter("Only one `--tcp-option' allowed")
	}
	n, ok := libc.WholeNumber(o.Arg, math.MaxUint8)
	if !ok || n == 0 {
		return xtables.BadParameter("Bad TCP option \"%s\"", o.Arg)
	}
	p.m.Option, p.m.InvOption = uint8(n), o.Invert
	return nil
}

func (p *tcpParser) Finish(uint32) (xtables.Match, error) { return p.arena.Intern(p.m), nil }
