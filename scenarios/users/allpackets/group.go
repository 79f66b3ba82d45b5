package allpackets

import (
	"fmt"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/forall"
	"github.com/chainwalk/chainwalk/packetsim"
)

// told is a kind of packets that differ.
type told interface {
	write(w *strings.Builder)
	// rules are the rules that decide about its likely packet, as a key: those of the side that stops the packet, or of both sides.
	rules() string
	// name stands for the kind in a list of kinds that are not shown; named says that its packet's ends have names.
	name() string
	named() bool
}

// writeGroups writes kinds of packets: of those about which the same rules decide one, and the names of the others; or all of them.
func writeGroups(w *strings.Builder, list []told, all bool) {
	var keys []string
	groups := map[string][]told{}
	for i, kind := range list {
		key := kind.rules()
		if all {
			key = fmt.Sprint(i)
		}
		if groups[key] == nil {
			keys = append(keys, key)
		}
		groups[key] = append(groups[key], kind)
	}
	for _, key := range keys {
		group := groups[key]
		first := max(slices.IndexFunc(group, told.named), 0)
		group[first].write(w)
		var more []string
		for i, kind := range group {
			if i != first && !slices.Contains(more, kind.name()) {
				more = append(more, kind.name())
			}
		}
		if len(group) > 1 {
			if len(more) > mostNames {
				more = append(more[:mostNames], "...")
			}
			writeList(w, "also", fmt.Sprintf("%s more, decided alike (-v): %s", kinds(len(group)-1), strings.Join(more, "; ")))
		}
	}
}

// mostNames is how many kinds are named that are not told as a whole.
const mostNames = 6

// lineWidth is how wide the lines of lists are.
const lineWidth = 120

// writeList writes what is said of something, in lines.
func writeList(w *strings.Builder, name, text string) {
	line := ""
	for _, word := range strings.Fields(text) {
		if len(line)+1+len(word) > lineWidth-len("  12345678 ") {
			fmt.Fprintf(w, "  %-8s %s\n", name, line)
			name, line = "", ""
		}
		line = strings.TrimSpace(line + " " + word)
	}
	fmt.Fprintf(w, "  %-8s %s\n", name, line)
}

// decidersOf are the rules that decide about a packet, as a key. A packet that cannot be walked has none: its fates stand for them.
func decidersOf(before, after forall.Distribution, by, byThen []string) string {
	if len(by)+len(byThen) == 0 {
		return verdicts(before) + "\n" + verdicts(after)
	}
	switch stops, stopsThen := stops(before), stops(after); {
	case stops && !stopsThen:
		return strings.Join(by, "\n")
	case stopsThen && !stops:
		return strings.Join(byThen, "\n")
	}
	return strings.Join(by, "\n") + "\n" + strings.Join(byThen, "\n")
}

// stops says whether a packet may go nowhere.
func stops(d forall.Distribution) bool {
	return slices.ContainsFunc(d, func(s forall.Share) bool { return s.Fate.Verdict != packetsim.Accept })
}

// verdicts are the verdicts that packets may have.
func verdicts(d forall.Distribution) string {
	var out []string
	for _, s := range d {
		out = append(out, string(s.Fate.Verdict))
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), " ")
}

func (d *Difference) rules() string {
	return decidersOf(d.Before, d.After, d.DecidedBefore, d.DecidedAfter)
}

func (d *Difference) name() string {
	if d.Ends != "" {
		return d.Ends
	}
	return d.Packet
}

func (d *Difference) named() bool { return strings.Contains(d.Ends, "to ") }

func (o *Oddity) rules() string {
	return strings.Join(o.Nodes, ",") + "\n" + decidersOf(o.Here, o.There, o.DecidedHere, o.DecidedThere)
}

func (o *Oddity) name() string { return fmt.Sprintf("%s (IPv%d)", o.From, o.Family) }

func (o *Oddity) named() bool { return strings.Contains(o.Ends, "to ") }
