package peers

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	utiliptables "k8s.io/kubernetes/pkg/util/iptables"
	"k8s.io/utils/exec"

	simtools "github.com/chainwalk/chainwalk/scenarios/world/tools"
)

// inOrder has the rules of the chains that all services share in the order of their services, the jumps to node ports last, in that of the
// node's addresses.
func inOrder(data []byte) []byte {
	lines := strings.Split(string(data), "\n")
	places := map[string][]int{} // of each chain, the lines of its table
	order := func() {
		for _, at := range places {
			rules := make([]string, len(at))
			for i, line := range at {
				rules[i] = lines[line]
			}
			slices.SortStableFunc(rules, inChain)
			for i, line := range at {
				lines[line] = rules[i]
			}
		}
		clear(places)
	}
	for i, line := range lines {
		if chain := sharedChain(line); chain != "" {
			places[chain] = append(places[chain], i)
		}
		if line == "COMMIT" {
			order()
		}
	}
	return []byte(strings.Join(lines, "\n"))
}

// inChain compares two rules of a shared chain by their place in it.
func inChain(a, b string) int {
	switch aLast, bLast := strings.Contains(a, lastRule), strings.Contains(b, lastRule); {
	case aLast && bLast:
		return strings.Compare(a, b)
	case aLast:
		return 1
	case bLast:
		return -1
	}
	return strings.Compare(commentOf(a), commentOf(b))
}

// lastRule is what the jumps to node ports say of themselves.
const lastRule = "must be the last rule"

// sharedChain is the chain that a rule of a service is added to, empty if that is none that services share.
func sharedChain(line string) string {
	words := strings.Fields(line)
	if len(words) < 2 || words[0] != "-A" {
		return ""
	}
	switch words[1] {
	case "KUBE-SERVICES", "KUBE-NODEPORTS", "KUBE-EXTERNAL-SERVICES", "KUBE-PROXY-FIREWALL":
		return words[1]
	}
	return ""
}

// commentOf is the comment of a rule, which names its service.
func commentOf(line string) string {
	_, rest, _ := strings.Cut(line, "--comment ")
	comment, _, _ := strings.Cut(rest, " -m ")
	return comment
}

// orderedTools restore services in order.
type orderedTools struct{ utiliptables.Interface }

// RestoreAll restores in order.
func (t orderedTools) RestoreAll(data []byte, flush utiliptables.FlushFlag, counters utiliptables.RestoreCountersFlag) error {
	return t.Interface.RestoreAll(inOrder(data), flush, counters)
}

// sparingTools leave out of a restore the chains that stand as they would be written, apart from the order of services. kube-proxy's
// restores name all of a chain.
type sparingTools struct {
	utiliptables.Interface
	look utiliptables.Interface
	// written are the chains of restores that ended well, as they were given and as they stood then.
	written map[chainOf]written
}

// chainOf is a chain of a table.
type chainOf struct{ table, chain string }

// written is what a chain was given, and what that came to.
type written struct{ given, stood []string }

// RestoreAll restores what stands otherwise.
func (t *sparingTools) RestoreAll(data []byte, flush utiliptables.FlushFlag, counters utiliptables.RestoreCountersFlag) error {
	given, standing := chainsIn(inOrder(data)), t.standing()
	left := linesWithout(data, func(at chainOf) bool {
		stood, there := standing[at]
		known, ok := t.written[at]
		return there && ok && slices.Equal(known.given, given[at]) && slices.Equal(known.stood, stood)
	})
	if left == nil {
		return nil
	}
	if err := t.Interface.RestoreAll(left, flush, counters); err != nil {
		return err
	}
	stand := t.standing()
	if t.written == nil {
		t.written = map[chainOf]written{}
	}
	for at, lines := range given {
		if stood, there := stand[at]; there {
			t.written[at] = written{lines, stood}
		}
	}
	return nil
}

// standing are the chains of the tables that restores write, as they are saved. What cannot be saved is none.
func (t *sparingTools) standing() map[chainOf][]string {
	out := map[chainOf][]string{}
	for _, table := range []utiliptables.Table{utiliptables.TableNAT, utiliptables.TableFilter} {
		var save bytes.Buffer
		if t.look.SaveInto(table, &save) == nil {
			maps.Copy(out, chainsIn(save.Bytes()))
		}
	}
	return out
}

// chainsIn are the rules of each chain that a text of iptables-save names.
func chainsIn(data []byte) map[chainOf][]string {
	out := map[chainOf][]string{}
	eachLine(data, func(line string, at chainOf) {
		switch {
		case strings.HasPrefix(line, ":"):
			out[at] = nil
		case at.chain != "":
			out[at] = append(out[at], line)
		}
	})
	return out
}

// linesWithout is the text without some chains, and without tables that have nothing to say then; nil if that is all.
func linesWithout(data []byte, leave func(chainOf) bool) []byte {
	var all, table []string
	eachLine(data, func(line string, at chainOf) {
		switch {
		case at.chain != "" && leave(at):
		case line == "COMMIT" && len(table) <= 1:
			table = nil
		case line == "COMMIT":
			all, table = append(append(all, table...), line, ""), nil
		default:
			table = append(table, line)
		}
	})
	if all == nil {
		return nil
	}
	return []byte(strings.Join(all, "\n"))
}

// eachLine visits the lines of a text of iptables-save, with the chain that each is of, if it is of one.
func eachLine(data []byte, visit func(line string, at chainOf)) {
	table := ""
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		words := strings.Fields(line)
		at := chainOf{table: table}
		switch {
		case len(words) == 0 || words[0][0] == '#':
			continue
		case words[0][0] == '*':
			table = words[0][1:]
		case words[0][0] == ':':
			at.chain = words[0][1:]
		case len(words) > 1 && (words[0] == "-A" || words[0] == "-X"):
			at.chain = words[1]
		}
		visit(line, at)
	}
}

// unwatched are programs for looks of mends: they meet no fault, and nobody takes them for kube-proxy's.
func unwatched(programs exec.Interface) exec.Interface {
	if proxied, ok := programs.(*simtools.Proxied); ok {
		return proxied.Interface
	}
	return programs
}
