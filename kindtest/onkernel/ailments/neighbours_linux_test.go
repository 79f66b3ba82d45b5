package ailments

import (
	"errors"
	"fmt"
)

// nextMAC gives a device a hardware address that no other has.
func (w *Ward) nextMAC(machine, device string) string {
	mac := fmt.Sprintf("02:c4:00:00:00:%02x", len(w.macs)+1)
	w.macs[[2]string{machine, device}] = mac
	return mac
}

// attached is a machine on a link.
type attached struct {
	machine, device string
	at              pair
}

// links are who hears whom.
func (w *Ward) links() [][]attached {
	out := [][]attached{
		{{"router", "lan", nodeAt(0)}, {"node1", "eth0", nodeAt(1)}, {"node2", "eth0", nodeAt(2)}},
		{{"router", "wan", routerOutside}, {"outside", "eth0", outsideAt}},
	}
	bridged := map[int][]attached{}
	for _, p := range places {
		node, pod := fmt.Sprintf("node%d", p.node), attached{p.name, "eth0", podAt(p.node, p.host)}
		gateway := podAt(p.node, 1)
		if !w.Layout.onBridge() {
			out = append(out, []attached{{node, p.wire(), gateway}, pod})
			continue
		}
		if bridged[p.node] == nil {
			bridged[p.node] = []attached{{node, "cni0", gateway}}
		}
		bridged[p.node] = append(bridged[p.node], pod)
	}
	for n := 1; n <= 2 && w.Layout.onBridge(); n++ {
		out = append(out, bridged[n])
	}
	return out
}

// introduce tells machines each other's hardware addresses of IPv6: the kernel takes seconds before it asks for them on a new link.
func (w *Ward) introduce() error {
	if !w.Families.has(true) {
		return nil
	}
	scripts := map[string]*script{}
	for _, link := range w.links() {
		for _, one := range link {
			if scripts[one.machine] == nil {
				scripts[one.machine] = &script{}
			}
			for _, other := range link {
				if other != one {
					scripts[one.machine].add("neigh replace %s lladdr %s dev %s nud permanent", other.at.of(true),
						w.macs[[2]string{other.machine, other.device}], one.device)
				}
			}
		}
	}
	var errs []error
	for name, s := range scripts {
		errs = append(errs, w.machines[name].configure(nil, s.lines))
	}
	return errors.Join(errs...)
}
