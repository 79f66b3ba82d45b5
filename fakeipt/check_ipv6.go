package fakeipt

// When ip6tables of the legacy kind looks for a rule of -C, it holds the options of extensions against each other under
// a mask that it made without room for the head of the rule, but which it reads from behind that head. So the mask lies too
// far in front: it ends by the length of the head before the options do, and what is behind its end does not count. The
// addresses, the protocol and the names of extensions are compared, and the options of the first extensions only if there is
// much behind them. -D, and both of the other tools, compare everything.

// The lengths in bytes of the head of an IPv6 rule, and of an extension before its options (struct ip6t_entry,
// struct xt_entry_match).
const (
	ruleHeadIPv6  = 168
	extensionHead = 32
)

// optionBytes are the lengths of the options of extensions in the kernel's structs, as far as the tools compare them. A
// rule with another extension is compared wholly.
var optionBytes = map[string]int{
	"addrtype": 8, "comment": 256, "connmark": 16, "conntrack": 168, "connlimit": 24, "icmp6": 8, "iprange": 72, "length": 8,
	"limit": 8, "mac": 16, "mark": 16, "multiport": 48, "owner": 24, "physdev": 72, "pkttype": 8, "quota": 16, "recent": 232,
	"set": 48, "state": 8, "statistic": 16, "tcp": 16, "udp": 16,
	"CONNMARK": 16, "DNAT": 48, "LOG": 32, "MARK": 8, "MASQUERADE": 40, "NFLOG": 80, "REDIRECT": 40, "REJECT": 8, "SET": 24, "SNAT": 40,
}

// verdictBytes is that length of what is a verdict or a jump.
const verdictBytes = 8

// longTexts are the extensions whose options say at their beginning what they mostly differ in.
var longTexts = map[string]bool{"comment": true, "recent": true}

// matchesChecked is how many of a rule's matches -C of ip6tables compares by their options, and all is whether it
// compares everything.
func matchesChecked(r *Rule) (n int, all bool) {
	end := extensionHead + verdictBytes - ruleHeadIPv6
	if !plainTarget(r.Target) {
		size, ok := optionBytes[r.Target.Name()]
		if !ok {
			return 0, true
		}
		end += size - verdictBytes
	}
	for _, m := range r.Matches {
		size, ok := optionBytes[m.Name()]
		if !ok {
			return 0, true
		}
		end += extensionHead + size
	}
	at := 0
	for _, m := range r.Matches {
		at += extensionHead
		if at >= end || !longTexts[m.Name()] && at+optionBytes[m.Name()] > end {
			break
		}
		at += optionBytes[m.Name()]
		n++
	}
	return n, false
}

// plainTarget says that a rule's target is the kernel's own: a verdict, a jump, or none.
func plainTarget(t Target) bool {
	switch t.(type) {
	case nil, *Verdict, *Jump:
		return true
	}
	return false
}

// findChecked is findRule for -C.
func (e *tableEdit) findChecked(s *chainSlot, r *Rule) int {
	if e.family == IPv4 || e.dialect == NFT {
		return e.findRule(s, r, nil)
	}
	n, all := matchesChecked(r)
	if all {
		return e.findRule(s, r, nil)
	}
	want := *r
	want.Matches = r.Matches[:n]
	return e.findRule(s, &want, func(other *Rule) *Rule {
		if len(other.Matches) != len(r.Matches) || !sameNames(other, r, n) {
			return nil
		}
		part := *other
		part.Matches = other.Matches[:n]
		if !plainTarget(r.Target) {
			part.Target = r.Target
		}
		return &part
	})
}

// sameNames says whether the target and all matches from the n-th on have the same names in both rules.
func sameNames(a, b *Rule, n int) bool {
	for i := n; i < len(a.Matches); i++ {
		if a.Matches[i].Name() != b.Matches[i].Name() {
			return false
		}
	}
	if plainTarget(a.Target) || plainTarget(b.Target) {
		return plainTarget(a.Target) == plainTarget(b.Target)
	}
	return a.Target.Name() == b.Target.Name()
}
