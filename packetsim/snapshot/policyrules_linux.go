package snapshot

import (
	"encoding/binary"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/chainwalk/chainwalk/internal/nlattr"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
)

// policyRules asks the kernel itself: the netlink library leaves out a rule's action, and what
// it does not know of a rule it does not show.
func (t *taker) policyRules() {
	for _, family := range bothFamilies() {
		messages, err := dump(func() ([][]byte, error) {
			req := nl.NewNetlinkRequest(unix.RTM_GETRULE, unix.NLM_F_DUMP)
			req.AddData(nl.NewIfInfomsg(netlinkFamily(family)))
			return req.Execute(unix.NETLINK_ROUTE, unix.RTM_NEWRULE)
		})
		if err != nil {
			t.unread(fmt.Sprintf("IPv%d policy rules", family), "%v", err)
			continue
		}
		for _, message := range messages {
			rule, err := parsePolicyRule(message, family)
			if err != nil {
				t.unread(fmt.Sprintf("IPv%d policy rule of priority %d", family, rule.Priority), "%v", err)
				continue
			}
			t.snapshot.PolicyRules = append(t.snapshot.PolicyRules, rule)
		}
	}
}

// parsePolicyRule reads struct fib_rule_hdr and its attributes (linux/fib_rules.h).
func parsePolicyRule(message []byte, family netfilter.Family) (PolicyRule, error) {
	const header, flagInvert = 12, 2
	p := PolicyRule{Family: family}
	if len(message) < header {
		return p, fmt.Errorf("%w: %d bytes", nlattr.ErrMessage, len(message))
	}
	dstLen, srcLen, tos, action := message[1], message[2], message[3], message[7]
	attrs, err := attributesByType(message[header:])
	if err != nil {
		return p, err
	}
	p.Priority = native32(attrs[unix.FRA_PRIORITY].Value)
	p.Invert = native32(message[8:])&flagInvert != 0
	p.Mark, p.MarkMask = native32(attrs[unix.FRA_FWMARK].Value), native32(attrs[unix.FRA_FWMASK].Value)
	p.In, p.Out = attrs[unix.FRA_IIFNAME].Text(), attrs[unix.FRA_OIFNAME].Text()
	p.From, p.To = prefixFrom(attrs[unix.FRA_SRC].Value, srcLen), prefixFrom(attrs[unix.FRA_DST].Value, dstLen)
	if tos != 0 {
		return p, fmt.Errorf("%w: a rule for TOS %#x only", errNotSupported, tos)
	}
	for _, typ := range slices.Sorted(maps.Keys(attrs)) {
		if !policyRuleAttr(attrs[typ]) {
			return p, fmt.Errorf("%w: selector or option %d (FRA_* of linux/fib_rules.h)", errNotSupported, typ)
		}
	}
	return p, p.setAction(action, native32(attrs[unix.FRA_TABLE].Value))
}

// policyRuleAttr says whether an attribute is one that a PolicyRule holds, or says nothing.
func policyRuleAttr(a nlattr.Attribute) bool {
	switch a.Type {
	case unix.FRA_PRIORITY, unix.FRA_FWMARK, unix.FRA_FWMASK, unix.FRA_IIFNAME, unix.FRA_OIFNAME,
		unix.FRA_SRC, unix.FRA_DST, unix.FRA_TABLE, unix.FRA_PROTOCOL, unix.FRA_PAD:
		return true
	case unix.FRA_SUPPRESS_PREFIXLEN, unix.FRA_SUPPRESS_IFGROUP:
		return native32(a.Value) == 1<<32-1 // nothing is suppressed
	}
	return false
}

func (p *PolicyRule) setAction(action uint8, table uint32) error {
	switch action {
	case unix.FR_ACT_TO_TBL:
		if table == 0 {
			return fmt.Errorf("%w: a look-up that names no table", errNotSupported)
		}
		p.Action, p.Table = packetsim.RuleLookup, packetsim.RouteTable(table)
	case unix.FR_ACT_UNREACHABLE:
		p.Action = packetsim.RuleUnreachable
	case unix.FR_ACT_PROHIBIT:
		p.Action = packetsim.RuleProhibit
	case unix.FR_ACT_BLACKHOLE:
		p.Action = packetsim.RuleBlackhole
	default:
		return fmt.Errorf("%w: action %d", errNotSupported, action)
	}
	return nil
}

func prefixFrom(addr []byte, bits uint8) netip.Prefix {
	a, ok := netip.AddrFromSlice(addr)
	if !ok {
		return netip.Prefix{}
	}
	return netip.PrefixFrom(a, int(bits))
}

// native32 is 0 for an attribute that is not there.
func native32(b []byte) uint32 {
	if len(b) < 4 {
		return 0
	}
	return binary.NativeEndian.Uint32(b)
}
