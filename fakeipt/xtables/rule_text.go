package xtables

import (
	"strconv"

	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// AppendSave appends "-A CHAIN ..." as iptables-save prints the rule.
func (r *Rule) AppendSave(dst []byte, chain string, f netfilter.Family, d netfilter.Dialect) []byte {
	dst = append(append(dst, "-A "...), chain...)
	return r.AppendOptions(dst, f, d)
}

// Text is "-A CHAIN ..." as iptables-save prints the rule.
func (r *Rule) Text(chain string, f netfilter.Family, d netfilter.Dialect) string {
	return string(r.AppendSave(nil, chain, f, d))
}

// AppendOptions appends everything behind the chain's name.
func (r *Rule) AppendOptions(dst []byte, f netfilter.Family, d netfilter.Dialect) []byte {
	if r.HasOpaque {
		return append(append(dst, ' '), r.Opaque().Text...)
	}
	return r.AppendTarget(r.AppendMatches(dst, f, d), f, d)
}

// AppendMatches appends what a packet must have.
func (r *Rule) AppendMatches(dst []byte, f netfilter.Family, d netfilter.Dialect) []byte {
	if r.Src != nil {
		dst = r.Src.AppendSave(append(AppendOption(dst, "-s", r.Src.Invert), ' '))
	}
	if r.Dst != nil {
		dst = r.Dst.AppendSave(append(AppendOption(dst, "-d", r.Dst.Invert), ' '))
	}
	dst = r.In.appendSave(dst, "-i", d)
	dst = r.Out.appendSave(dst, "-o", d)
	if r.Proto.Number != 0 {
		dst = libc.AppendProtocol(append(AppendOption(dst, "-p", r.Proto.Invert), ' '), r.Proto.Number)
	}
	if r.Fragment != FragmentAny {
		dst = AppendOption(dst, "-f", r.Fragment == FragmentNot)
	}
	for _, m := range MatchesReadBack(r.Matches, d) {
		dst = append(append(dst, " -m "...), m.Name()...)
		dst = m.AppendSave(dst, f, d)
	}
	return dst
}

// AppendTarget appends what happens to the packet.
func (r *Rule) AppendTarget(dst []byte, f netfilter.Family, d netfilter.Dialect) []byte {
	if r.Target == nil {
		return dst
	}
	word := " -j "
	if j, ok := r.Target.(*Jump); ok && j.Goto {
		word = " -g "
	}
	dst = append(append(dst, word...), r.Target.Name()...)
	return r.Target.AppendSave(dst, f, d)
}

// appendSave appends " [!] OPTION DEVICE". Legacy says nothing about "+" alone, nft only if it is inverted.
func (m *IfaceMatch) appendSave(dst []byte, option string, d netfilter.Dialect) []byte {
	if m == nil || m.Name == "" && (d == netfilter.Legacy || !m.Invert) {
		return dst
	}
	dst = append(append(AppendOption(dst, option, m.Invert), ' '), m.Name...)
	if m.Prefix {
		dst = append(dst, '+')
	}
	return dst
}

// AppendCounters appends "PACKETS" and "BYTES" with what stands before, between and behind them.
func AppendCounters(dst []byte, before, between, behind string, c *netfilter.Counters) []byte {
	var packets, bytes uint64
	if c != nil {
		packets, bytes = c.Packets(), c.Bytes()
	}
	return AppendCounts(dst, packets, bytes, before, between, behind)
}

// AppendCounts is AppendCounters of two numbers.
func AppendCounts(dst []byte, packets, bytes uint64, before, between, behind string) []byte {
	dst = strconv.AppendUint(append(dst, before...), packets, 10)
	dst = strconv.AppendUint(append(dst, between...), bytes, 10)
	return append(dst, behind...)
}
