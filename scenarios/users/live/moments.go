package live

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/chainwalk/chainwalk/packetsim"
)

// walkMoments walks the packets at each moment of the change, and of the way back.
func (m *migration) walkMoments(ctx context.Context) error {
	m.out.Moments = append(m.out.Moments, Moment{
		Name: "the old kube-proxy has stopped", Ways: len(m.was), Established: m.established(),
		Says: "its rules stay and serve, and follow no change of the objects",
	})
	var err error
	if m.bare, err = m.hostsAfter(m.after, m.configs, false); err != nil {
		return err
	}
	if err := m.moment(ctx, "the new kube-proxy has started, and has not synced", m.bare, m.after,
		"it removes the rules of the other mode before it writes its own: drain the node, or change one node at a time"); err != nil {
		return err
	}
	synced := func(place int) (fared, error) { return m.is[place], nil }
	if err := m.count(ctx, "the new kube-proxy has synced", "what the findings and the documented differences tell", synced); err != nil {
		return err
	}
	if m.back, err = m.hostsAfter(m.before, m.configs, true); err != nil {
		return err
	}
	old := m.configsBefore()
	for _, object := range m.cluster.nodes() {
		if config := old[object.Name]; config != nil && m.back[object.Name] != nil {
			if err := m.start(m.back[object.Name], object, config, true); err != nil {
				return err
			}
		}
	}
	return m.moment(ctx, "the way back: the old kube-proxy has started again, and has synced", m.back, m.before, "")
}

// moment walks the packets through hosts.
func (m *migration) moment(ctx context.Context, name string, hosts map[string]*packetsim.Host, by *exam, says string) error {
	l, err := newLab(by.topology, by.nodes, hosts)
	if err != nil {
		return err
	}
	return m.momentOf(ctx, name, l, by, says)
}

func (m *migration) momentOf(ctx context.Context, name string, l *lab, by *exam, says string) error {
	return m.count(ctx, name, says, func(place int) (fared, error) {
		_, ways, err := m.try(by, l, m.errands[place])
		return faredBy(ways), err
	})
}

// count counts the packets at a moment by how they fare then.
func (m *migration) count(ctx context.Context, name, says string, then func(place int) (fared, error)) error {
	out := Moment{Name: name, Says: says}
	m.otherwise, m.opaque = "", 0
	for i, p := range m.errands {
		was, tried := m.was[i]
		if !tried || p.act != actConnect && p.act != actLive {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		is, err := then(i)
		var opaque *packetsim.OpaqueError
		if errors.As(err, &opaque) {
			m.opaque++
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		same := was.fates.same(is.fates)
		if !same && m.otherwise == "" {
			m.otherwise = thenAndNow(p.String(), was.fates.String(), is.fates.String())
		}
		if p.act == actLive {
			out.Established++
			if !same {
				out.Broken++
			}
			continue
		}
		out.Ways++
		if !same {
			out.Otherwise++
		}
		if was.served && !is.served {
			out.Unserved++
		}
	}
	m.out.Moments = append(m.out.Moments, out)
	return nil
}

// established counts the packets of connections that nodes remember.
func (m *migration) established() (count int) {
	for i := range m.was {
		if m.errands[i].act == actLive {
			count++
		}
	}
	return count
}

// thenAndNow is an example of a packet that has another fate than before.
func thenAndNow(packet, before, now string) string {
	return fmt.Sprintf("%s (before: %s; now: %s)", packet, before, now)
}

// sayBack says of the last moment, the way back, whether the nodes are as they were. It is known only if all packets of them were compared.
func (m *migration) sayBack() {
	back := &m.out.Moments[len(m.out.Moments)-1]
	one := len(m.configs) == 1
	changed, open := m.changedBack(back), m.openBack(back)
	switch {
	case changed != "" && one:
		back.Says = "the node is not as it was: " + changed
	case changed != "":
		back.Says = "not all nodes are as they were: " + changed
	case open != "":
		back.Says = "the ways that were walked are as they were"
	case one:
		back.Says = "the node is as it was"
	default:
		back.Says = "all nodes are as they were"
	}
	back.Says += prefixed("; ", open)
}

// changedBack says how many ways and packets fare otherwise after the way back than before the change, and names one of them. It is empty
// if none does.
func (m *migration) changedBack(back *Moment) string {
	var parts, nodes []string
	kinds, example := 0, m.otherwise
	for i := range back.AllPackets {
		all := &back.AllPackets[i]
		if all.Kinds == 0 {
			continue
		}
		kinds, nodes = kinds+all.Kinds, append(nodes, all.Node)
		if len(nodes) == 1 && len(all.Findings) > 0 {
			f := &all.Findings[0] // the likeliest
			example = thenAndNow(f.Packet, f.Before, f.After)
		}
	}
	for _, part := range []struct {
		n          int
		word, more string
	}{{back.Otherwise, "way", ""}, {back.Broken, "packet", " of established connections"}, {kinds, "kind", " of packets on " + few(nodes)}} {
		if part.n > 0 {
			parts = append(parts, plural(part.n, part.word)+part.more)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	verb := " fare"
	if back.Otherwise+back.Broken+kinds == 1 {
		verb = " fares"
	}
	return strings.Join(parts, " and ") + verb + " otherwise than before" + prefixed(", such as ", example)
}

// openBack says what was not compared after the way back. It is empty if everything was.
func (m *migration) openBack(back *Moment) string {
	var parts, skipped []string
	unknown, why := 0, ""
	for i := range back.AllPackets {
		all := &back.AllPackets[i]
		if all.Skipped != "" {
			skipped = append(skipped, all.Node)
		}
		if unknown += len(all.Unknown); why == "" && all.Open() {
			why = all.Unknown[0]
		}
	}
	if m.opaque > 0 {
		parts = append(parts, plural(m.opaque, "way")+" could not be walked")
	}
	switch {
	case !m.target.AllPackets:
		parts = append(parts, "all packets were not compared")
	case len(skipped) > 0:
		parts = append(parts, "all packets of "+few(skipped)+" were not compared")
	}
	if unknown > 0 {
		parts = append(parts, fmt.Sprintf("of %s of packets it cannot be said: %s", plural(unknown, "kind"), why))
	}
	return strings.Join(parts, "; ")
}
