package match

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// maxPolicyDepth is how many transformations a rule can name.
const maxPolicyDepth = 4

// Policy is -m policy: what IPsec has done with the packet, or will do.
type Policy struct {
	Out    bool // --dir out: what will be done
	None   bool // --pol none: nothing
	Strict bool // the transformations are these and no others, in this order

	elements [maxPolicyDepth]policyElement
	depth    uint8 // the elements that count
}

// asked are the transformations that the rule asks for.
func (m *Policy) asked() []policyElement { return m.elements[:m.depth] }

// policyElement is one transformation of IPsec. What has no Has field set does not count.
type policyElement struct {
	HasReqID, InvReqID bool
	ReqID              uint32
	HasSPI, InvSPI     bool
	SPI                uint32
	Proto              uint8 // 0: any
	InvProto           bool
	HasMode, InvMode   bool
	Tunnel             bool              // of the mode: tunnel, not transport
	Src, Dst           xtables.AddrMatch // of the tunnel; without an address: any
}

// Name is "policy".
func (*Policy) Name() string { return "policy" }

func (m *Policy) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	dst = m.appendWords(dst, " --", "dir", "pol")
	for i := range m.asked() {
		if i > 0 {
			dst = append(dst, " --next"...)
		}
		dst = m.elements[i].append(dst, "--", false)
	}
	return dst
}

func (m *Policy) AppendList(dst []byte, style xtables.ListStyle) []byte {
	dst = m.appendWords(append(dst, " policy match"...), " ", "dir", "pol")
	for i := range m.asked() {
		if m.Strict && m.depth > 1 {
			dst = fmt.Appendf(dst, " [%d]", i)
		}
		dst = m.elements[i].append(dst, "", style.Numeric)
	}
	return dst
}

func (m *Policy) appendWords(dst []byte, prefix, dir, pol string) []byte {
	direction, policy := "in", "ipsec"
	if m.Out {
		direction = "out"
	}
	if m.None {
		policy = "none"
	}
	dst = fmt.Appendf(dst, "%s%s %s%s%s %s", prefix, dir, direction, prefix, pol, policy)
	return xtables.AppendFlags(dst, prefix, xtables.WordIf("strict", m.Strict))
}

// append appends " [!] PREFIXreqid N" and so on.
func (e *policyElement) append(dst []byte, prefix string, numeric bool) []byte {
	if e.HasReqID {
		dst = strconv.AppendUint(append(xtables.AppendOption(dst, prefix+"reqid", e.InvReqID), ' '), uint64(e.ReqID), 10)
	}
	if e.HasSPI {
		dst = xtables.AppendHex(append(xtables.AppendOption(dst, prefix+"spi", e.InvSPI), ' '), e.SPI)
	}
	if e.Proto != 0 {
		dst = append(xtables.AppendOption(dst, prefix+"proto", e.InvProto), ' ')
		if numeric {
			dst = strconv.AppendUint(dst, uint64(e.Proto), 10)
		} else {
			dst = libc.AppendProtocol(dst, uint16(e.Proto))
		}
	}
	if e.HasMode {
		dst = append(append(xtables.AppendOption(dst, prefix+"mode", e.InvMode), ' '), policyModes[xtables.Bit(e.Tunnel)-'0']...)
	}
	dst = appendTunnel(&e.Dst, dst, prefix+"tunnel-dst")
	return appendTunnel(&e.Src, dst, prefix+"tunnel-src")
}

// policyModes are the names of the modes; the second one is that of tunnels.
var policyModes = [...]string{"transport", "tunnel"}

func appendTunnel(m *xtables.AddrMatch, dst []byte, option string) []byte {
	if !m.Addr.IsValid() {
		return dst
	}
	dst = libc.AppendInetNtop(append(xtables.AppendOption(dst, option, m.Invert), ' '), m.Addr)
	if bits := xtables.MaskBits(m.Mask); bits < m.Addr.BitLen() {
		dst = strconv.AppendInt(append(dst, '/'), int64(bits), 10)
	}
	return dst
}

// AllowedHooks are the hooks of the packets that IPsec has handled, or will handle.
func (m *Policy) AllowedHooks(hidden bool) xtables.HookMask {
	switch {
	case hidden:
		return xtables.HooksAll
	case m.Out:
		return xtables.HookForward | xtables.HookOutput | xtables.HookPostrouting
	}
	return xtables.HookPrerouting | xtables.HookInput | xtables.HookForward
}

// The places of options in policyExtension.
const (
	policyDir = iota
	policyPol
	policyStrict
)

var policyExtension = &xtables.Extension{
	Name: "policy",
	Options: []xtables.Option{
		{Name: "dir"}, {Name: "pol"}, {Name: "strict", Flag: true},
		{Name: "reqid", Multi: true, Invert: true}, {Name: "spi", Multi: true, Invert: true}, {Name: "tunnel-src", Multi: true, Invert: true},
		{Name: "tunnel-dst", Multi: true, Invert: true}, {Name: "proto", Multi: true, Invert: true}, {Name: "mode", Multi: true, Invert: true},
		{Name: "next", Flag: true, Multi: true, Requires: 1 << policyStrict},
	},
	NewMatch: xtables.MatchOf(xtables.ValueParser[Policy]{Read: (*Policy).read, Whole: (*Policy).whole}),
}

func (m *Policy) read(o *xtables.OptionCall) error {
	switch o.Name {
	case "dir":
		m.Out = string(o.Arg) == "out"
		if !m.Out && string(o.Arg) != "in" {
			return xtables.BadParameter("policy_match: invalid dir \"%s\"", o.Arg)
		}
	case "pol":
		m.None = string(o.Arg) == "none"
		if !m.None && string(o.Arg) != "ipsec" {
			return xtables.BadParameter("policy match: invalid policy \"%s\"", o.Arg)
		}
	case "strict":
		m.Strict = true
	case "next":
		if m.depth++; m.depth == maxPolicyDepth {
			return xtables.BadParameter("policy match: maximum policy depth reached")
		}
	default:
		return m.elements[m.depth].read(o)
	}
	return nil
}

// read takes an option about a transformation, which can have each of them once.
func (e *policyElement) read(o *xtables.OptionCall) (err error) {
	double := false
	switch o.Name {
	case "reqid":
		double, e.HasReqID, e.InvReqID = e.HasReqID, true, o.Invert
		e.ReqID, err = o.Uint32()
	case "spi":
		double, e.HasSPI, e.InvSPI = e.HasSPI, true, o.Invert
		e.SPI, err = o.Uint32()
	case "proto":
		double, e.InvProto = e.Proto != 0, o.Invert
		e.Proto, err = policyProto(o)
	case "mode":
		mode := slices.Index(policyModes[:], string(o.Arg))
		if mode < 0 && !e.HasMode {
			err = xtables.BadParameter("policy match: invalid mode \"%s\"", o.Arg)
		}
		double, e.HasMode, e.InvMode, e.Tunnel = e.HasMode, true, o.Invert, mode == 1
	case "tunnel-src":
		double = e.Src.Addr.IsValid()
		e.Src, err = o.ResolvedHostMask()
	case "tunnel-dst":
		double = e.Dst.Addr.IsValid()
		e.Dst, err = o.ResolvedHostMask()
	}
	if err == nil && double {
		return xtables.BadParameter("policy match: double --%s option", o.Name)
	}
	return err
}

func policyProto(o *xtables.OptionCall) (uint8, error) {
	n, err := xtables.ParseProtocol(o.Arg)
	switch {
	case err != nil:
		return 0, err
	case n != libc.ProtoAH && n != libc.ProtoESP && n != libc.ProtoIPComp:
		return 0, xtables.BadParameter("policy match: protocol must be ah/esp/ipcomp")
	}
	return uint8(n), nil
}

func (m *Policy) whole(seen uint32) error {
	switch {
	case seen&(1<<policyDir) == 0:
		return xtables.BadParameter("policy match: neither --dir in nor --dir out specified")
	case m.None && m.Strict:
		return xtables.BadParameter("policy match: policy none but --strict given")
	case m.None && m.depth > 0:
		return xtables.BadParameter("policy match: policy none but policy given")
	case m.None:
		return nil
	}
	m.depth++
	for i, e := range m.asked() {
		tunnel := e.Src.Addr.IsValid() || e.Dst.Addr.IsValid()
		switch {
		case m.Strict && e == policyElement{}:
			return xtables.BadParameter("policy match: empty policy element %d. --strict is in effect, but at least one of "+
				"reqid, spi, tunnel-src, tunnel-dst, proto or mode is required.", i)
		case tunnel && e.Tunnel == e.InvMode:
			return xtables.BadParameter("policy match: --tunnel-src/--tunnel-dst is only valid in tunnel mode")
		}
	}
	return nil
}
