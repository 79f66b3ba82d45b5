package live

import (
	"context"
	"errors"
	"fmt"

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
	if err := m.momentOf(ctx, "the new kube-proxy has synced", m.after.lab, m.after,
		"what the findings and the documented differences tell"); err != nil {
		return err
	}
	back, err := m.hostsAfter(m.before, m.configs, true)
	if err != nil {
		return err
	}
	old := m.configsBefore()
	for _, object := range m.cluster.nodes() {
		if config := old[object.Name]; config != nil && back[object.Name] != nil {
			if err := m.start(back[object.Name], object, config, true); err != nil {
				return err
			}
		}
	}
	return m.moment(ctx, "the way back: the old kube-proxy has started again, and has synced", back, m.before, "the node is as it was")
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
	out := Moment{Name: name, Says: says}
	for i, p := range m.errands {
		was, tried := m.was[i]
		if !tried || p.act != actConnect && p.act != actLive {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		_, ways, err := m.try(by, l, p)
		var opaque *packetsim.OpaqueError
		if errors.As(err, &opaque) {
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if p.act == actLive {
			out.Established++
			if !was.fates.same(distributionOf(ways)) {
				out.Broken++
			}
			continue
		}
		out.Ways++
		if !was.fates.same(distributionOf(ways)) {
			out.Otherwise++
		}
		if was.served && !served(ways) {
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
