package fakeipt

import (
	"strconv"

	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// appendSave appends "-A CHAIN ..." as iptables-save prints the rule.
func (r *Rule) appendSave(dst []byte, chain string, f netfilter.Family, d netfilter.Dialect) []byte {
	dst = append(append(dst, "-A "...), chain...)
	return r.appendOptions(dst, f, d)
}

// Text is "-A CHAIN ..." as iptables-save prints the rule.
func (r *Rule) Text(chain string, f netfilter.Family, d netfilter.Dialect) string {
	return string(r.appendSave(nil, chain, f, d))
}

// args are the words of the text behind the chain, with or without those of comments.
func (r *Rule) args(f netfilter.Family, d netfilter.Dialect, comments bool) []string {
	var list wordList
	if list.add(append(r.appendOptions(nil, f, d), '\n'), 1) != nil {
		return nil // no rule that was committed is longer than a line can be
	}
	words := make([]string, 0, len(list.words))
	for i := 0; i < len(list.words); i++ {
		if comment := []string{"-m", "comment", "--comment"}; !comments && i+len(comment) < len(list.words) && list.has(i, comment) {
			i += len(comment)
			continue
		}
		words = append(words, string(list.words[i]))
	}
	return words
}

// appendOptions appends everything behind the chain's name.
func (r *Rule) appendOptions(dst []byte, f netfilter.Family, d netfilter.Dialect) []byte {
	if r.opaque {
		return append(append(dst, ' '), r.Opaque().Text...)
	}
	return r.appendTarget(r.appendMatches(dst, f, d), f, d)
}

// appendMatches appends what a packet must have.
func (r *Rule) appendMatches(dst []byte, f netfilter.Family, d netfilter.Dialect) []byte {
	if r.Src != nil {
		dst = r.Src.appendSave(append(appendOption(dst, "-s", r.Src.Invert), ' '))
	}
	if r.Dst != nil {
		dst = r.Dst.appendSave(append(appendOption(dst, "-d", r.Dst.Invert), ' '))
	}
	dst = r.In.appendSave(dst, "-i", d)
	dst = r.Out.appendSave(dst, "-o", d)
	if r.Proto.Number != 0 {
		dst = libc.AppendProtocol(append(appendOption(dst, "-p", r.Proto.Invert), ' '), r.Proto.Number)
	}
	if r.Fragment != FragmentAny {
		dst = appendOption(dst, "-f", r.Fragment == FragmentNot)
	}
	for _, m := range matchesReadBack(r.Matches, d) {
		dst = append(append(dst, " -m "...), m.Name()...)
		dst = m.appendSave(dst, f, d)
	}
	return dst
}

// appendTarget appends what happens to the packet.
func (r *Rule) appendTarget(dst []byte, f netfilter.Family, d netfilter.Dialect) []byte {
	if r.Target == nil {
		return dst
	}
	word := " -j "
	if j, ok := r.Target.(*Jump); ok && j.Goto {
		word = " -g "
	}
	dst = append(append(dst, word...), r.Target.Name()...)
	return r.Target.appendSave(dst, f, d)
}

// appendSave appends " [!] OPTION DEVICE". Legacy says nothing about "+" alone, nft only if it is inverted.
func (m *IfaceMatch) appendSave(dst []byte, option string, d netfilter.Dialect) []byte {
	if m == nil || m.Name == "" && (d == netfilter.Legacy || !m.Invert) {
		return dst
	}
	dst = append(append(appendOption(dst, option, m.Invert), ' '), m.Name...)
	if m.Prefix {
		dst = append(dst, '+')
	}
	return dst
}

// appendCounters appends "PACKETS" and "BYTES" with what stands before, between and behind them.
func appendCounters(dst []byte, before, between, behind string, c *netfilter.Counters) []byte {
	var packets, bytes uint64
	if c != nil {
		packets, bytes = c.Packets(), c.Bytes()
	}
	return appendCounts(dst, packets, bytes, before, between, behind)
}

func appendCounts(dst []byte, packets, bytes uint64, before, between, behind string) []byte {
	dst = strconv.AppendUint(append(dst, before...), packets, 10)
	dst = strconv.AppendUint(append(dst, between...), bytes, 10)
	return append(dst, behind...)
}
