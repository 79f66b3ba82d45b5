package fakeipt

import (
	"bytes"

	"github.com/chainwalk/chainwalk/fakeipt/match"
	"github.com/chainwalk/chainwalk/fakeipt/ruleset"
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// When ip6tables of the legacy kind looks for a rule of -C, it holds the options of extensions against each other under a mask
// that it made without room for the head of the rule, but which it reads from behind that head. So the mask lies too far in
// front: it ends by the length of the head before the options do, and what is behind its end does not count. The addresses, the
// protocol and the names of extensions are compared, and the options of the first extensions only if there is much behind
// them. -D, and both of the other tools, compare everything.
//
// What stands in the tool's memory behind the mask is taken for zeros, which it mostly is: with some lengths a few bits are not,
// and the real tool compares these bits too.

// The lengths in bytes of an extension's head before its options (struct xt_entry_match, struct xt_entry_target), and by how much
// the mask lies too far in front: the head of an IPv6 rule (struct ip6t_entry) without the pointer that the tool measured instead.
const (
	extensionHead = 32
	maskTooEarly  = 168 - 8
)

// kernelOptions are the options of an extension as the kernel has them (for IPv6): their length in bytes, and how many of these
// the tools compare at most. 0: all.
type kernelOptions struct{ size, compared int }

// matchOptions and targetOptions are by the kernel's name of the extension.
var (
	matchOptions = map[string]kernelOptions{
		"addrtype": {size: 8}, "ah": {size: 16}, "bpf": {528, 520}, "cgroup": {528, 520}, "cluster": {size: 16}, "comment": {size: 256},
		"connbytes": {size: 24}, "connlabel": {size: 8}, "connlimit": {32, 24}, "connmark": {size: 16}, "conntrack": {size: 168},
		"cpu": {size: 8}, "dccp": {size: 16}, "devgroup": {size: 24}, "dscp": {size: 8}, "dst": {size: 40}, "ecn": {size: 8},
		"esp": {size: 16}, "eui64": {size: 8}, "frag": {size: 16}, "hashlimit": {312, 304}, "hbh": {size: 40}, "helper": {size: 40},
		"hl": {size: 8}, "icmp6": {size: 8}, "ipcomp": {size: 16}, "iprange": {size: 72}, "ipv6header": {size: 8}, "length": {size: 8},
		"limit": {40, 8}, "mac": {size: 16}, "mark": {size: 16}, "mh": {size: 8}, "multiport": {size: 48}, "nfacct": {40, 32},
		"owner": {size: 24}, "physdev": {size: 72}, "pkttype": {size: 8}, "policy": {size: 312}, "quota": {24, 16}, "rateest": {72, 56},
		"recent": {size: 232}, "rpfilter": {size: 8}, "rt": {size: 280}, "sctp": {size: 296}, "set": {size: 48}, "socket": {size: 8},
		"srh": {size: 112}, "statistic": {24, 12}, "string": {160, 152}, "tcp": {size: 16}, "tcpmss": {size: 8}, "time": {size: 24},
		"tos": {size: 8}, "u32": {size: 1984}, "udp": {size: 16},
	}
	targetOptions = map[string]kernelOptions{
		"": {size: 8}, "AUDIT": {size: 8}, "CHECKSUM": {size: 8}, "CLASSIFY": {size: 8}, "CONNMARK": {size: 16}, "CONNSECMARK": {size: 8},
		"CT": {size: 72}, "DNAT": {size: 48}, "DNPT": {size: 40}, "DSCP": {size: 8}, "HL": {size: 8}, "HMARK": {size: 64},
		"IDLETIMER": {size: 48}, "LOG": {size: 32}, "MARK": {size: 8}, "MASQUERADE": {size: 40}, "NETMAP": {size: 40}, "NFLOG": {size: 80},
		"NFQUEUE": {size: 8}, "RATEEST": {size: 32}, "REDIRECT": {size: 40}, "REJECT": {size: 8}, "SECMARK": {size: 264}, "SET": {size: 24},
		"SNAT": {size: 40}, "SNPT": {size: 40}, "SYNPROXY": {size: 8}, "TCPMSS": {size: 8}, "TCPOPTSTRIP": {size: 32}, "TEE": {size: 40},
		"TOS": {size: 8}, "TPROXY": {size: 32}, "TRACE": {size: 0},
	}
)

// kernelNames are the names that the kernel has for what the tools know by another one.
var kernelNames = map[string]string{"state": "conntrack", "NOTRACK": "CT"}

func kernelName(name string) string {
	if real, ok := kernelNames[name]; ok {
		return real
	}
	return name
}

// plainTarget says that a rule's target is the kernel's own: a verdict, a jump, or none.
func plainTarget(t xtables.Target) bool {
	switch t.(type) {
	case nil, *xtables.TargetVerdict, *xtables.Jump:
		return true
	}
	return false
}

// targetKernelName is "" for what is plain.
func targetKernelName(t xtables.Target) string {
	if plainTarget(t) {
		return ""
	}
	return kernelName(t.Name())
}

// findChecked is findRule for -C.
func findChecked(e *ruleset.Edit, s *ruleset.Slot, r *xtables.Rule) int {
	if e.Family == netfilter.IPv4 || e.Dialect == netfilter.NFT {
		return e.FindRule(s, r)
	}
	counting := bytesChecked(r)
	head := withoutExtensions(r)
	for i, other := range s.CurrentRules() {
		if len(other.Matches) == len(r.Matches) && targetKernelName(other.Target) == targetKernelName(r.Target) &&
			sameMatches(r.Matches, other.Matches, counting) && e.FindIn([]*xtables.Rule{withoutExtensions(other)}, head) == 0 {
			return i
		}
	}
	return -1
}

// withoutExtensions is the rule with nothing of them.
func withoutExtensions(r *xtables.Rule) *xtables.Rule {
	head := *r
	head.Matches = nil
	if !plainTarget(r.Target) {
		head.Target = nil
	}
	return &head
}

// bytesChecked is how many bytes of the options of each of a rule's matches -C of ip6tables compares. The mask ends too early for all
// targets.
func bytesChecked(r *xtables.Rule) []int {
	end := extensionHead + targetOptions[targetKernelName(r.Target)].size - maskTooEarly
	for _, m := range r.Matches {
		end += extensionHead + matchOptions[kernelName(m.Name())].size
	}
	counting := make([]int, len(r.Matches))
	at := 0
	for i, m := range r.Matches {
		at += extensionHead
		counting[i] = min(max(end-at, 0), matchOptions[kernelName(m.Name())].size)
		at += matchOptions[kernelName(m.Name())].size
	}
	return counting
}

// sameMatches says whether matches are the same ones, with the same options as far as these are compared.
func sameMatches(as, bs []xtables.Match, counting []int) bool {
	for i, a := range as {
		b := bs[i]
		if kernelName(a.Name()) != kernelName(b.Name()) || !sameOptions(a, b, counting[i]) {
			return false
		}
	}
	return true
}

// sameOptions says whether two matches of one name are the same in so many bytes.
func sameOptions(a, b xtables.Match, n int) bool {
	if n == 0 {
		return true
	}
	options := matchOptions[kernelName(a.Name())]
	if whole := options.compared; n >= whole && whole > 0 || n >= options.size {
		return xtables.SameMatch(a, b)
	}
	image, ok := match.KernelBytes(a)
	if !ok {
		return true
	}
	other, _ := match.KernelBytes(b)
	return bytes.Equal(image[:min(n, len(image))], other[:min(n, len(other))])
}
