package snapshot

import (
	"slices"

	"github.com/vishvananda/netlink/nl"

	"github.com/chainwalk/chainwalk/internal/nlattr"
)

// More messages of nf_tables and attributes of what they say (include/uapi/linux/netfilter/nf_tables.h).
const (
	nftGetSetElements = nftSubsystem | 13
	nftListTable      = 1
	nftListSet        = 2
	nftListElements   = 3
	nftElementData    = 2
	nftChainPolicy    = 5
	nftChainType      = 7
	nftImmediateDreg  = 1
	nftImmediateData  = 2
	nftDataVerdict    = 2
	nftVerdictCode    = 1
	nftVerdictChain   = 2
	nftLookupSet      = 1
	nftLookupDreg     = 3
	nftMetaKey        = 2
	nftMetaSreg       = 3
	nftCTSreg         = 4
	nftObjectType     = 1
	nftTargetName     = 1
)

// nftVerdictRegister is the register whose value ends a rule (NFT_REG_VERDICT).
const nftVerdictRegister = 0

// The codes of verdicts. Those of nf_tables alone are negative.
const (
	nftDrop     = 0
	nftAccept   = 1
	nftQueue    = 3
	nftContinue = -1
	nftBreak    = -2
	nftJump     = -3
	nftGoto     = -4
	nftReturn   = -5
)

// nftChainID names a chain of nf_tables.
type nftChainID struct {
	nftTableID
	chain string
}

// nftReader knows what the chains of native tables can do to packets.
type nftReader struct {
	rules map[nftChainID][]nlattr.Attribute // the expressions of each rule
	// elements asks for the elements of a map.
	elements func(table nftTableID, set string) ([]nlattr.Attribute, error)
	known    map[nftChainID][]NFEffect
	matches  map[nftChainID]nftMet
}

// nftMet is what packets are like that meet what a chain does: each of them fits one. Any says that it may be any packet.
type nftMet struct {
	only []NFMatch
	any  bool
}

// newNFTReader sorts rules by their chains.
func newNFTReader(rules []nftMessage) *nftReader {
	r := &nftReader{rules: map[nftChainID][]nlattr.Attribute{}, elements: nftElements, known: map[nftChainID][]NFEffect{},
		matches: map[nftChainID]nftMet{}}
	for i := range rules {
		m := &rules[i]
		at := nftChainID{nftTableID{m.family, m.attrs[nftRuleTable].Text()}, m.attrs[nftRuleChain].Text()}
		r.rules[at] = append(r.rules[at], m.attrs[nftRuleExprs])
	}
	return r
}

// effects are what a chain and those that it jumps to can do, each once and sorted.
func (r *nftReader) effects(at nftChainID) []NFEffect {
	if known, is := r.known[at]; is {
		return known
	}
	r.known[at] = nil // no chain comes to itself
	var all []NFEffect
	var met nftMet
	for _, rule := range r.rules[at] {
		matcher := newNFTMatcher(at.family)
		for element, err := range nlattr.All(rule.Value) {
			if err != nil {
				all, met.any = append(all, EffectUnknown), true
				break
			}
			effects, below := r.expression(at.nftTableID, element, matcher)
			all = append(all, effects...)
			if len(effects) > 0 {
				met.add(matcher.match, below)
			}
		}
	}
	slices.Sort(all)
	r.known[at], r.matches[at] = slices.Compact(all), met
	return r.known[at]
}

// add adds what a rule does to packets that fit a match, and that meet what the chain does to which it jumps; below is nil if it does it
// itself.
func (m *nftMet) add(match NFMatch, below *nftMet) {
	switch {
	case below != nil && !below.any:
		for _, one := range below.only {
			m.only = append(m.only, match.and(one))
		}
	case match.plain():
		m.only = append(m.only, match)
	default:
		m.any = true
	}
}

// expression is what one expression of a rule does, if the ones before it let the packet come to it, and which packets meet that if it is
// a jump.
func (r *nftReader) expression(table nftTableID, element nlattr.Attribute, matcher *nftMatcher) ([]NFEffect, *nftMet) {
	unknown := []NFEffect{EffectUnknown}
	expression, err := attributesByType(element.Value)
	if err != nil {
		return unknown, nil
	}
	data, err := attributesByType(expression[nftExprData].Value)
	if err != nil {
		return unknown, nil
	}
	name := expression[nftExprName].Text()
	matcher.take(name, data)
	switch name {
	case "immediate":
		if to, err := data[nftImmediateDreg].Uint32(); err != nil || to != nftVerdictRegister {
			return nil, nil
		}
		return r.verdict(table, data[nftImmediateData]), r.below(table, data[nftImmediateData])
	case "lookup":
		if to, err := data[nftLookupDreg].Uint32(); err != nil || to != nftVerdictRegister {
			return nil, nil
		}
		return r.verdictMap(table, data[nftLookupSet].Text()), nil
	default:
		return effectOf(name, data), nil
	}
}

// below are the packets that meet what a chain does to which a verdict jumps; nil if it jumps to none.
func (r *nftReader) below(table nftTableID, data nlattr.Attribute) *nftMet {
	value, err := attributesByType(data.Value)
	if err != nil {
		return nil
	}
	verdict, err := attributesByType(value[nftDataVerdict].Value)
	if err != nil {
		return nil
	}
	code, err := verdict[nftVerdictCode].Uint32()
	if err != nil || int32(code) != nftJump && int32(code) != nftGoto {
		return nil
	}
	met, known := r.matches[nftChainID{table, verdict[nftVerdictChain].Text()}]
	if !known {
		return nil
	}
	return &met
}

// effectOf is what an expression that gives no verdict by itself does. Those that only read, count or log do nothing.
func effectOf(name string, data map[uint16]nlattr.Attribute) []NFEffect {
	writes := func(register uint16) []NFEffect {
		if _, is := data[register]; is {
			return []NFEffect{EffectChange}
		}
		return nil
	}
	switch name {
	case "counter", "limit", "quota", "connlimit", "last", "log", "cmp", "range", "bitwise", "byteorder", "rt", "fib", "socket", "osf",
		"hash", "numgen", "tunnel", "xfrm", "inner", "dynset", "dup",
		"exthdr": // what it writes is an option, such as the greatest segment
		return nil
	case "payload":
		return writes(nftPayloadSreg)
	case "ct":
		return writes(nftCTSreg)
	case "meta":
		if key, err := data[nftMetaKey].Uint32(); err == nil && slices.Contains(harmlessMeta, key) {
			return nil
		}
		return writes(nftMetaSreg)
	case "objref":
		if kind, err := data[nftObjectType].Uint32(); err == nil && slices.Contains(harmlessObjects, kind) {
			return nil
		}
		return []NFEffect{EffectChange}
	case "nat", "masq", "redir":
		return []NFEffect{EffectTranslate}
	case "reject":
		return []NFEffect{EffectReject}
	case "queue":
		return []NFEffect{EffectQueue}
	case "notrack", "tproxy", "synproxy", "fwd", "flow_offload":
		return []NFEffect{EffectChange}
	case "match":
		return nil
	case "target":
		if slices.Contains(harmlessTargets, data[nftTargetName].Text()) {
			return nil
		}
	}
	return []NFEffect{EffectUnknown}
}

var (
	harmlessMeta    = []uint32{2, 12}               // the priority of the queue and nftrace (enum nft_meta_keys)
	harmlessObjects = []uint32{1, 2, 3, 4, 5, 7, 8} // counter, quota, helper, limit, connlimit, timeout and secmark (NFT_OBJECT_COUNTER...)
	harmlessTargets = []string{"LOG", "NFLOG", "TRACE", "TCPMSS", "AUDIT"}
)

// verdict is what a verdict does to a packet.
func (r *nftReader) verdict(table nftTableID, data nlattr.Attribute) []NFEffect {
	value, err := attributesByType(data.Value)
	if err != nil {
		return []NFEffect{EffectUnknown}
	}
	verdict, err := attributesByType(value[nftDataVerdict].Value)
	if err != nil {
		return []NFEffect{EffectUnknown}
	}
	code, err := verdict[nftVerdictCode].Uint32()
	if err != nil {
		return []NFEffect{EffectUnknown}
	}
	switch int32(code) {
	case nftAccept, nftContinue, nftBreak, nftReturn:
		return nil
	case nftDrop:
		return []NFEffect{EffectDrop}
	case nftJump, nftGoto:
		return r.effects(nftChainID{table, verdict[nftVerdictChain].Text()})
	}
	if code&0xff == nftQueue { // the number of the queue is in the upper half
		return []NFEffect{EffectQueue}
	}
	return []NFEffect{EffectUnknown}
}

// verdictMap is what the verdicts of a map do.
func (r *nftReader) verdictMap(table nftTableID, set string) []NFEffect {
	elements, err := r.elements(table, set)
	if err != nil {
		return []NFEffect{EffectUnknown}
	}
	var all []NFEffect
	for _, element := range elements {
		attrs, err := attributesByType(element.Value)
		if err != nil {
			return []NFEffect{EffectUnknown}
		}
		if data, is := attrs[nftElementData]; is { // the end of an interval has none
			all = append(all, r.verdict(table, data)...)
		}
	}
	return all
}

// nftElements asks the kernel for the elements of a set.
func nftElements(table nftTableID, set string) ([]nlattr.Attribute, error) {
	messages, err := dump(func() ([][]byte, error) {
		return dumpNetfilter(nftGetSetElements, int(table.family), nl.NewRtAttr(nftListTable, nl.ZeroTerminated(table.name)),
			nl.NewRtAttr(nftListSet, nl.ZeroTerminated(set)))
	})
	if err != nil {
		return nil, err
	}
	var all []nlattr.Attribute
	for _, message := range messages {
		attrs, err := attributesByType(message[min(nfgenmsgHeader, len(message)):])
		if err != nil {
			return nil, err
		}
		for element, err := range nlattr.All(attrs[nftListElements].Value) {
			if err != nil {
				return nil, err
			}
			all = append(all, element)
		}
	}
	return all, nil
}

// know writes down what a base chain can do, its policy included.
func (r *nftReader) know(c *NFChain, m *nftMessage) {
	c.Type = m.attrs[nftChainType].Text()
	at := nftChainID{nftTableID{m.family, m.attrs[nftChainTable].Text()}, c.Name}
	c.May = slices.Clone(r.effects(at))
	met := r.matches[at]
	if policy, err := m.attrs[nftChainPolicy].Uint32(); err == nil && policy == nftDrop {
		met.any = true
		if !slices.Contains(c.May, EffectDrop) {
			c.May = append(c.May, EffectDrop)
			slices.Sort(c.May)
		}
	}
	if !met.any {
		c.Only = slices.Clone(met.only)
	}
	if len(c.May) == 0 {
		c.May = []NFEffect{EffectPass}
	}
}
