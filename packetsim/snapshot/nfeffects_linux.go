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
}

// newNFTReader sorts rules by their chains.
func newNFTReader(rules []nftMessage) *nftReader {
	r := &nftReader{rules: map[nftChainID][]nlattr.Attribute{}, elements: nftElements, known: map[nftChainID][]NFEffect{}}
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
	for _, rule := range r.rules[at] {
		for element, err := range nlattr.All(rule.Value) {
			if err != nil {
				all = append(all, EffectUnknown)
				break
			}
			all = append(all, r.expression(at.nftTableID, element)...)
		}
	}
	slices.Sort(all)
	r.known[at] = slices.Compact(all)
	return r.known[at]
}

// expression is what one expression of a rule does, if the ones before it let the packet come to it.
func (r *nftReader) expression(table nftTableID, element nlattr.Attribute) []NFEffect {
	unknown := []NFEffect{EffectUnknown}
	expression, err := attributesByType(element.Value)
	if err != nil {
		return unknown
	}
	data, err := attributesByType(expression[nftExprData].Value)
	if err != nil {
		return unknown
	}
	switch name := expression[nftExprName].Text(); name {
	case "immediate":
		if to, err := data[nftImmediateDreg].Uint32(); err != nil || to != nftVerdictRegister {
			return nil
		}
		return r.verdict(table, data[nftImmediateData])
	case "lookup":
		if to, err := data[nftLookupDreg].Uint32(); err != nil || to != nftVerdictRegister {
			return nil
		}
		return r.verdictMap(table, data[nftLookupSet].Text())
	default:
		return effectOf(name, data)
	}
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
	c.May = slices.Clone(r.effects(nftChainID{nftTableID{m.family, m.attrs[nftChainTable].Text()}, c.Name}))
	if policy, err := m.attrs[nftChainPolicy].Uint32(); err == nil && policy == nftDrop && !slices.Contains(c.May, EffectDrop) {
		c.May = append(c.May, EffectDrop)
		slices.Sort(c.May)
	}
	if len(c.May) == 0 {
		c.May = []NFEffect{EffectPass}
	}
}
