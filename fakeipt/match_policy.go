package fakeipt

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// maxPolicyDepth is how many transformations a rule can name.
const maxPolicyDepth = 4

// MatchPolicy is -m policy: what IPsec has done with the packet, or will do.
type MatchPolicy struct {
	Out    bool // --dir out: what will be done
	None   bool // --pol none: nothing
	Strict bool // the transformations are these and no others, in this order

	elements [maxPolicyDepth]PolicyElement
	depth    uint8 // the elements that count
}

// Elements are the transformations that the rule asks for.
func (m *MatchPolicy) Elements() []PolicyElement { return m.elements[:m.depth] }

// PolicyElement is one transformation of IPsec. What has no Has field set does not count.
type PolicyElement struct {
	HasReqID, InvReqID bool
	ReqID              uint32
	HasSPI, InvSPI     bool
	SPI                uint32
	Proto              uint8 // 0: any
	InvProto           bool
	HasMode, InvMode   bool
	Tunnel             bool      // of the mode: tunnel, not transport
	Src, Dst           AddrMatch // of the tunnel; without an address: any
}

// Name is "policy".
func (*MatchPolicy) Name() string { return "policy" }

func (m *MatchPolicy) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	dst = m.appendWords(dst, " --", "dir", "pol")
	for i := range m.Elements() {
		if i > 0 {
			dst = append(dst, " --next"...)
		}
		dst = m.elements[i].append(dst, "--", false)
	}
	return dst
}

func (m *MatchPolicy) appendList(dst []byte, style listStyle) []byte {
	dst = m.appendWords(append(dst, " policy match"...), " ", "dir", "pol")
	for i := range m.Elements() {
		if m.Strict && m.depth > 1 {
			dst = fmt.Appendf(dst, " [%d]", i)
		}
		dst = m.elements[i].append(dst, "", style.numeric)
	}
	return dst
}

func (m *MatchPolicy) appendWords(dst []byte, prefix, dir, pol string) []byte {
	direction, policy := "in", "ipsec"
	if m.Out {
		direction = "out"
	}
	if m.None {
		policy = "none"
	}
	dst = fmt.Appendf(dst, "%s%s %s%s%s %s", prefix, dir, direction, prefix, pol, policy)
	return appendFlags(dst, prefix, flagWord{"strict", m.Strict})
}

// append appends " [!] PREFIXreqid N" and so on.
func (e *PolicyElement) append(dst []byte, prefix string, numeric bool) []byte {
	if e.HasReqID {
		dst = strconv.AppendUint(append(appendOption(dst, prefix+"reqid", e.InvReqID), ' '), uint64(e.ReqID), 10)
	}
	if e.HasSPI {
		dst = appendHex(append(appendOption(dst, prefix+"spi", e.InvSPI), ' '), e.SPI)
	}
	if e.Proto != 0 {
		dst = append(appendOption(dst, prefix+"proto", e.InvProto), ' ')
		if numeric {
			dst = strconv.AppendUint(dst, uint64(e.Proto), 10)
		} else {
			dst = libc.AppendProtocol(dst, uint16(e.Proto))
		}
	}
	if e.HasMode {
		dst = append(append(appendOption(dst, prefix+"mode", e.InvMode), ' '), policyModes[bit(e.Tunnel)-'0']...)
	}
	dst = e.Dst.appendTunnel(dst, prefix+"tunnel-dst")
	return e.Src.appendTunnel(dst, prefix+"tunnel-src")
}

// policyModes are the names of the modes; the second one is that of tunnels.
var policyModes = [...]string{"transport", "tunnel"}

func (m *AddrMatch) appendTunnel(dst []byte, option string) []byte {
	if !m.Addr.IsValid() {
		return dst
	}
	dst = libc.AppendInetNtop(append(appendOption(dst, option, m.Invert), ' '), m.Addr)
	if bits := maskBits(m.Mask); bits < m.Addr.BitLen() {
		dst = strconv.AppendInt(append(dst, '/'), int64(bits), 10)
	}
	return dst
}

// allowedHooks are those of the packets that IPsec has handled, or will handle.
func (m *MatchPolicy) allowedHooks(hidden bool) hookMask {
	switch {
	case hidden:
		return hooksAll
	case m.Out:
		return hookForward | hookOutput | hookPostrouting
	}
	return hookPrerouting | hookInput | hookForward
}

// The places of options in policyExtension.
const (
	policyDir = iota
	policyPol
	policyStrict
)

var policyExtension = &extension{
	name: "policy",
	options: []optionSpec{
		{name: "dir"}, {name: "pol"}, {name: "strict", flag: true},
		{name: "reqid", multi: true, invert: true}, {name: "spi", multi: true, invert: true}, {name: "tunnel-src", multi: true, invert: true},
		{name: "tunnel-dst", multi: true, invert: true}, {name: "proto", multi: true, invert: true}, {name: "mode", multi: true, invert: true},
		{name: "next", flag: true, multi: true, requires: 1 << policyStrict},
	},
	newMatch: matchOf(valueParser[MatchPolicy]{read: (*MatchPolicy).read, whole: (*MatchPolicy).whole}),
}

func (m *MatchPolicy) read(o *optionCall) error {
	switch o.name {
	case "dir":
		m.Out = string(o.arg) == "out"
		if !m.Out && string(o.arg) != "in" {
			return badParameter("policy_match: invalid dir \"%s\"", o.arg)
		}
	case "pol":
		m.None = string(o.arg) == "none"
		if !m.None && string(o.arg) != "ipsec" {
			return badParameter("policy match: invalid policy \"%s\"", o.arg)
		}
	case "strict":
		m.Strict = true
	case "next":
		if m.depth++; m.depth == maxPolicyDepth {
			return badParameter("policy match: maximum policy depth reached")
		}
	default:
		return m.elements[m.depth].read(o)
	}
	return nil
}

// read takes an option about a transformation, which can have each of them once.
func (e *PolicyElement) read(o *optionCall) (err error) {
	double := false
	switch o.name {
	case "reqid":
		double, e.HasReqID, e.InvReqID = e.HasReqID, true, o.invert
		e.ReqID, err = o.uint32()
	case "spi":
		double, e.HasSPI, e.InvSPI = e.HasSPI, true, o.invert
		e.SPI, err = o.uint32()
	case "proto":
		double, e.InvProto = e.Proto != 0, o.invert
		e.Proto, err = policyProto(o)
	case "mode":
		mode := slices.Index(policyModes[:], string(o.arg))
		if mode < 0 && !e.HasMode {
			err = badParameter("policy match: invalid mode \"%s\"", o.arg)
		}
		double, e.HasMode, e.InvMode, e.Tunnel = e.HasMode, true, o.invert, mode == 1
	case "tunnel-src":
		double = e.Src.Addr.IsValid()
		e.Src, err = o.resolvedHostMask()
	case "tunnel-dst":
		double = e.Dst.Addr.IsValid()
		e.Dst, err = o.resolvedHostMask()
	}
	if err == nil && double {
		return badParameter("policy match: double --%s option", o.name)
	}
	return err
}

func policyProto(o *optionCall) (uint8, error) {
	n, err := parseProtocol(o.arg)
	switch {
	case err != nil:
		return 0, err
	case n != libc.ProtoAH && n != libc.ProtoESP && n != libc.ProtoIPComp:
		return 0, badParameter("policy match: protocol must be ah/esp/ipcomp")
	}
	return uint8(n), nil
}

func (m *MatchPolicy) whole(seen uint32) error {
	switch {
	case seen&(1<<policyDir) == 0:
		return badParameter("policy match: neither --dir in nor --dir out specified")
	case m.None && m.Strict:
		return badParameter("policy match: policy none but --strict given")
	case m.None && m.depth > 0:
		return badParameter("policy match: policy none but policy given")
	case m.None:
		return nil
	}
	m.depth++
	for i, e := range m.Elements() {
		tunnel := e.Src.Addr.IsValid() || e.Dst.Addr.IsValid()
		switch {
		case m.Strict && e == PolicyElement{}:
			return badParameter("policy match: empty policy element %d. --strict is in effect, but at least one of "+
				"reqid, spi, tunnel-src, tunnel-dst, proto or mode is required.", i)
		case tunnel && e.Tunnel == e.InvMode:
			return badParameter("policy match: --tunnel-src/--tunnel-dst is only valid in tunnel mode")
		}
	}
	return nil
}
