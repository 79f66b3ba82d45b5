package kind

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/chainwalk/chainwalk/kindtest/probe"
)

// places are the pods' places in the pool: which are taken by addresses of the scenario, and which are empty.
type places struct {
	*stage
	links   *links
	sockets *sockets
	// vanished are the addresses of pods that have gone.
	vanished map[netip.Addr]place
}

// layShared gives the pods of the pool that stand for several their further addresses, and their nodes the routes to them.
func (p *places) layShared(ctx context.Context) error {
	for i := range p.cluster.Pods {
		pod := &p.cluster.Pods[i]
		to, ok := p.mapping.Host(pod.Name)
		if !ok || !p.mapping.added(pod.Name) {
			continue
		}
		if err := p.addToPod(ctx, to); err != nil {
			return err
		}
	}
	return nil
}

// vanish makes a pod's node lead nowhere. The route that was there is put back at the end, or when another pod has the place.
func (p *places) vanish(ctx context.Context, name string) error {
	host, ok := p.mapping.Host(name)
	if !ok {
		return fmt.Errorf("there is no pod %s", name)
	}
	if err := p.relay(host.Machine).Serve(ctx, host.Agent, nil); err != nil {
		return err
	}
	p.sockets.clear(agent{host.Machine, host.Agent})
	for _, a := range host.Addresses {
		to, err := p.deviceTo(ctx, host.Machine, a)
		if err != nil {
			return err
		}
		if _, err := run(ctx, p.relay(host.Machine), "", "ip", "route", "replace", "blackhole", prefixOf(a)); err != nil {
			return err
		}
		p.vanished[a] = place{host.Machine, to}
	}
	p.onUndo(func(ctx context.Context) error { return p.appearAt(ctx, host) })
	return nil
}

// appear makes a pod be there again whose place was empty.
func (p *places) appear(ctx context.Context, name string) error {
	host, ok := p.mapping.Host(name)
	if !ok {
		return nil
	}
	if p.mapping.added(name) {
		return p.addToPod(ctx, host)
	}
	return p.appearAt(ctx, host)
}

func (p *places) appearAt(ctx context.Context, host Host) error {
	var errs []error
	for _, a := range host.Addresses {
		at, gone := p.vanished[a]
		if !gone {
			continue
		}
		delete(p.vanished, a)
		lines := fmt.Sprintf("route del blackhole %s\nroute replace %s dev %s scope %s\n", prefixOf(a), prefixOf(a), at.device, scopeOf(a))
		_, err := run(ctx, p.relay(at.node), lines, "ip", "-force", "-batch", "-")
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// addToPod gives a pod of the pool further addresses, and its node the routes to them.
func (p *places) addToPod(ctx context.Context, host Host) error {
	pool := p.backend.facts.podsOn(host.Machine)
	for i := range pool {
		if pool[i].Name != host.Agent {
			continue
		}
		to, err := p.deviceTo(ctx, host.Machine, pool[i].Addresses[0])
		if err != nil {
			return err
		}
		var add, remove []probe.Change
		lines := map[string][]string{}
		for _, a := range host.Addresses {
			prefix := netip.PrefixFrom(a, a.BitLen())
			add = append(add, probe.Change{Action: probe.AddAddress, Device: device, Prefix: prefix})
			remove = append(remove, probe.Change{Action: probe.RemoveAddress, Device: device, Prefix: prefix})
			lines[host.Machine] = append(lines[host.Machine], fmt.Sprintf("route replace %s dev %s", prefix, to))
			p.links.undo[host.Machine] = append(p.links.undo[host.Machine], fmt.Sprintf("route del %s dev %s", prefix, to))
		}
		p.onUndo(func(ctx context.Context) error { return p.relay(host.Machine).Change(ctx, host.Agent, remove) })
		return errors.Join(p.relay(host.Machine).Change(ctx, host.Agent, add), p.links.batch(ctx, lines))
	}
	return fmt.Errorf("the pool has no pod %s", host.Agent)
}

// scopeOf is the scope of a host route, as the plugin ptp makes it.
func scopeOf(a netip.Addr) string {
	if a.Is6() {
		return "global"
	}
	return "host"
}

// place is a node and its device to a pod.
type place struct{ node, device string }
