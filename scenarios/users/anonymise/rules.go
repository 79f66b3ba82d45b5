package anonymise

import (
	"fmt"
	"net/netip"

	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/fakekernel"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios/explain/provenance"
)

// save is what iptables-save would have printed of the other rules, in the same order and with the same counters. Errors call it by its
// name and say the line.
func (r nodeRenamer) save(file, save string, rules *netfilter.RulesetView) (string, error) {
	lines, err := fakekernel.LinesOf(file, save, rules)
	if err != nil {
		return "", err
	}
	made := map[[2]string]bool{} // chains, by their tables
	for i := range lines {
		if l := &lines[i]; l.Chain != "" {
			made[[2]string{l.Table, l.Chain}] = true
		}
	}
	r.endpoints.inOrder(lines)
	var out strings.Builder
	for i := range lines {
		l := &lines[i]
		switch {
		case l.Fact != nil:
			args, err := r.rule(l.Table, l.Chain, l.Fact, l.Args, func(chain string) bool { return made[[2]string{l.Table, chain}] })
			if err != nil {
				return "", fmt.Errorf("%s: line %d: %w", file, i+1, err)
			}
			if strings.HasPrefix(l.Text, "[") {
				counters, _, _ := strings.Cut(l.Text, " ")
				out.WriteString(counters + " ")
			}
			out.WriteString(fakekernel.AppendedRule(r.Chain(l.Chain), args) + "\n")
		case l.Chain != "":
			_, policy, _ := strings.Cut(l.Text, " ")
			out.WriteString(":" + r.Chain(l.Chain) + " " + policy + "\n")
		case strings.HasPrefix(l.Text, "*"), l.Text == "COMMIT":
			out.WriteString(l.Text + "\n")
		}
	}
	return out.String(), nil
}

// Rule is another rule in the place of one of a chain. The arguments are those of a netfilter.Rules, and isChain says which words behind -j
// are chains. The error says what of the rule may hold a name or an address that nobody can find in it.
func (r *Renamer) Rule(table, chain string, f *netfilter.Fact, args []string, isChain func(string) bool) ([]string, error) {
	return nodeRenamer{r}.rule(table, chain, f, args, isChain)
}

func (r nodeRenamer) rule(table, chain string, f *netfilter.Fact, args []string, isChain func(string) bool) ([]string, error) {
	w := ruleWords{nodeRenamer: r, args: args, isChain: isChain, opaque: f.Opaque}
	w.comment = r.comment(table, chain, f)
	for w.at < len(args) {
		if err := w.next(); err != nil {
			return nil, fmt.Errorf("%w: take the rule out, or the option: -A %s %s", err, chain, strings.Join(args, " "))
		}
	}
	return w.out, nil
}

// ruleWords are the words of a rule on the way to other ones.
type ruleWords struct {
	nodeRenamer
	args      []string
	at        int
	out       []string
	isChain   func(string) bool
	opaque    bool // the rule has an extension that is not known
	extension string
	comment   string // the first one has all that is said
}

// next goes on by an option and what is behind it.
func (w *ruleWords) next() error {
	option := w.args[w.at]
	w.at++
	if option == "!" {
		w.out = append(w.out, option)
		return nil
	}
	is := valueOf(w.extension, option)
	switch {
	case is == match && w.at < len(w.args):
		w.extension = w.args[w.at]
	case is == jump && w.at < len(w.args):
		w.jump(option)
		return nil
	case is == comment:
		w.addComment(option)
		return nil
	case is == unknown && w.opaque:
		w.skip()
		return nil
	case is == unknown || is == opaque:
		return fmt.Errorf("%s may hold a name or an address", option)
	case is != plain && w.at < len(w.args): // the words of plain ones follow until the next option
		other, err := w.value(is, w.args[w.at])
		if err != nil {
			return fmt.Errorf("%s %s: %w", option, w.args[w.at], err)
		}
		w.out = append(w.out, option, other)
		w.at++
		option = ""
	}
	if option != "" {
		w.out = append(w.out, option)
	}
	if is == plain || is == match || is == set {
		w.plain()
	}
	return nil
}

// plain takes over the words until the next option.
func (w *ruleWords) plain() {
	for ; w.at < len(w.args) && !strings.HasPrefix(w.args[w.at], "-") && w.args[w.at] != "!"; w.at++ {
		w.out = append(w.out, w.args[w.at])
	}
}

// skip leaves out an option of an extension that is not known, with "!" before it.
func (w *ruleWords) skip() {
	if n := len(w.out); n > 0 && w.out[n-1] == "!" {
		w.out = w.out[:n-1]
	}
	for w.at < len(w.args) && !strings.HasPrefix(w.args[w.at], "-") && w.args[w.at] != "!" {
		w.at++
	}
}

// jump takes over a target, or leads to another chain.
func (w *ruleWords) jump(option string) {
	target := w.args[w.at]
	w.at++
	if w.isChain(target) {
		w.out = append(w.out, option, w.Chain(target))
		return
	}
	w.extension = target
	w.out = append(w.out, option, target)
}

// addComment puts the rule's whole comment in the place of its first one.
func (w *ruleWords) addComment(option string) {
	w.at++
	if w.comment != "" {
		w.out = append(w.out, option, w.comment)
		w.comment = ""
	} else if n := len(w.out); n > 1 {
		w.out = w.out[:n-2] // -m comment
	}
}

// value is another value in the place of one.
func (w *ruleWords) value(is value, old string) (string, error) {
	switch is {
	case address:
		return w.prefixes(old)
	case addressRange:
		return w.addressRange(old)
	case natRange:
		return w.natRange(old)
	case device:
		stem, isPrefix := strings.CutSuffix(old, "+")
		if isPrefix {
			return w.Device(stem) + "+", nil
		}
		return w.Device(old), nil
	case hardware:
		return w.mac(old), nil
	case set:
		return w.set(old), nil
	case list:
		if provenance.IsOfServicePort(old) {
			return w.Chain(old), nil
		}
		return w.list(old), nil
	case account:
		return w.account(old), nil
	case name:
		return w.Name("name", old), nil
	}
	return w.Name("text", old), nil
}

// prefixes are others, where several stand with commas between them.
func (r nodeRenamer) prefixes(old string) (string, error) {
	parts := strings.Split(old, ",")
	for i, part := range parts {
		a, err := netip.ParseAddr(part)
		p, wrong := netip.ParsePrefix(part)
		switch {
		case err == nil:
			parts[i] = r.Address(a).String()
		case wrong == nil:
			parts[i] = r.Prefix(p).String()
		default:
			return "", fmt.Errorf("an address under a mask that is no prefix does not keep what it holds")
		}
	}
	return strings.Join(parts, ","), nil
}

// addressRange is another range, or one address.
func (r nodeRenamer) addressRange(old string) (string, error) {
	first, last, isRange := strings.Cut(old, "-")
	a, err := netip.ParseAddr(first)
	if err != nil {
		return "", err
	}
	if !isRange {
		return r.Address(a).String(), nil
	}
	b, err := netip.ParseAddr(last)
	if err != nil {
		return "", err
	}
	r.keepRange(a, b)
	return r.Address(a).String() + "-" + r.Address(b).String(), nil
}

// natRange is another range, or one address, with the same ports.
func (r nodeRenamer) natRange(old string) (string, error) {
	inner, ports, open, shut := old, "", "", ""
	if rest, bracketed := strings.CutPrefix(old, "["); bracketed {
		inner, ports, _ = strings.Cut(rest, "]")
		open, shut = "[", "]"
	} else if at := strings.IndexByte(old, ':'); at == 0 || at > 0 && strings.Contains(old[:at], ".") {
		inner, ports = old[:at], old[at:]
	}
	if inner == "" {
		return old, nil
	}
	other, err := r.addressRange(inner)
	return open + other + shut + ports, err
}

// comment is what a rule's comment becomes: with other names if its form is known, or else one of its own.
func (r nodeRenamer) comment(table, chain string, f *netfilter.Fact) string {
	if other, known := provenance.WithNames(table, chain, f, r); known {
		return other
	}
	return r.Name("comment", f.Comment)
}

// The accounting objects of kube-proxy.
var accounts = []string{"ct_state_invalid_dropped_pkts", "localhost_nps_accepted_pkts"}

func (r nodeRenamer) account(old string) string {
	if slices.Contains(accounts, old) {
		return old
	}
	return r.Name("account", old)
}

func (r nodeRenamer) list(old string) string {
	if old == "DEFAULT" {
		return old
	}
	return r.Name("list", old)
}
