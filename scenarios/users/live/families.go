package live

import (
	"maps"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios/explain/cause"
)

// joinFamilies makes one group of two that are the same fault in IPv4 and in IPv6, on the same nodes: somebody made one mistake, and fixes
// it by the same command for each family.
func joinFamilies(all []*group) []*group {
	var out []*group
	for _, one := range all {
		i := slices.IndexFunc(out, func(o *group) bool { return o.isTwin(one) })
		if i < 0 {
			out = append(out, one)
			continue
		}
		out[i].join(one)
	}
	return out
}

// isTwin says whether two groups are one fault in both families.
func (f *group) isTwin(o *group) bool {
	return f.Also == (cause.Cause{}) && f.Family != o.Family && f.Family != 0 && o.Family != 0 && f.unit == (unit{}) && o.unit == (unit{}) &&
		f.Cause.KeyOfFamilies() == o.Cause.KeyOfFamilies() && maps.Equal(f.nodes, o.nodes)
}

// join adds the fault in the other family. The finding is told as that of IPv4.
func (f *group) join(o *group) {
	six, stopped := o.Cause, slices.Concat(f.Stopped, o.Stopped)
	if f.Family == netfilter.IPv6 {
		f.Cause, six = six, f.Cause
		stopped = slices.Concat(o.Stopped, f.Stopped)
	}
	shown := min(len(stopped), shownRules)
	f.Stopped, f.MoreStopped = stopped[:shown], f.MoreStopped+o.MoreStopped+len(stopped)-shown
	f.Also = six
	f.Says = strings.TrimSuffix(f.Says, ".") + " (IPv4 and IPv6)."
	for _, rules := range []struct{ into, from map[Rule]*factRule }{
		{f.missing, o.missing}, {f.foreign, o.foreign}, {f.moved, o.moved}, {f.deciding, o.deciding},
	} {
		maps.Copy(rules.into, rules.from)
	}
	maps.Copy(f.services, o.services)
	f.Suffering, f.inside = f.Suffering+o.Suffering, f.inside+o.inside
	for _, b := range o.Clauses {
		if !slices.ContainsFunc(f.Clauses, func(own Broken) bool { return own.Clause == b.Clause }) {
			f.Clauses = append(f.Clauses, b)
		}
	}
	f.Packets = slices.Concat(f.Packets, o.Packets)[:min(len(f.Packets)+len(o.Packets), shownPackets)]
	f.attempts = slices.Concat(f.attempts, o.attempts)[:min(len(f.attempts)+len(o.attempts), maxWitnesses)]
}
