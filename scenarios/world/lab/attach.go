package lab

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios"
)

// Attached is a node's snapshot with its pods plugged in: where the snapshot has no way to a pod, one was added.
type Attached struct {
	*snapshot.NodeSnapshot
	Pods  map[string]string // devices by pod
	Notes []string          // what was added
	// Assumed is what was taken for granted of the place of who has an address.
	Assumed map[netip.Addr]string
	// Tunnels is what was taken for granted of the machines behind tunnels, by device.
	Tunnels map[string]string
	// MayBeDown is the doubt about an address for which no table names a port, where some ports that may lead to it are down and others
	// are up: the pod is taken to be behind one that is up.
	MayBeDown map[netip.Addr]packetsim.Doubt
	// unnamed are the ports of bridges behind which the snapshot knows no address that a pod could have.
	unnamed map[string]bool
	// unrouted are the endpoints without a pod to which the node has no route.
	unrouted []netip.Addr
	at       map[string]int    // where devices stand, by name
	highest  int               // index of a device
	behind   map[string]string // a pod by the device that leads to it
	ways     *Ways
}

// Attach plugs the pods of a node in. The snapshot itself stays as it is. Of its tracked connections those are left out that are not to
// be kept.
func Attach(taken *snapshot.NodeSnapshot, pods []scenarios.Pod, keep func(*snapshot.Connection) bool) *Attached {
	own := *taken
	own.Devices, own.Routes, own.Conntrack = slices.Clone(taken.Devices), slices.Clone(taken.Routes), nil
	for i := range taken.Conntrack {
		if keep(&taken.Conntrack[i]) {
			own.Conntrack = append(own.Conntrack, taken.Conntrack[i])
		}
	}
	a := &Attached{NodeSnapshot: &own, Pods: map[string]string{}, Assumed: map[netip.Addr]string{}, Tunnels: map[string]string{},
		MayBeDown: map[netip.Addr]packetsim.Doubt{}, unnamed: map[string]bool{}, at: map[string]int{}, behind: map[string]string{},
		ways: WaysOf(taken)}
	for i := range own.Devices {
		d := &own.Devices[i]
		a.at[d.Name], a.highest = i, max(a.highest, d.Index)
		a.unnamed[d.Name] = !namesAPod(d)
	}
	for i := range pods {
		if pods[i].Node == taken.Hostname {
			a.plug(&pods[i])
		}
	}
	if len(a.unrouted) > 0 {
		a.Notes = append(a.Notes, fmt.Sprintf("%s has no route to endpoints without a pod (%s): judged as if it had", a.Hostname,
			listed(a.unrouted)))
	}
	return a
}

// Place puts pods of a node behind ports of its bridges, and adds nothing else, neither routes nor devices.
func Place(taken *snapshot.NodeSnapshot, pods []scenarios.Pod) *Attached {
	a := Attach(taken, nil, func(*snapshot.Connection) bool { return true })
	for i := range pods {
		pod := &pods[i]
		for _, address := range pod.Addresses {
			bridge := a.ways.DeviceTo(address)
			if !a.isBridge(bridge) {
				continue
			}
			port := a.portOf(bridge, pod)
			if a.Pods[pod.Name] = port; port == "" {
				a.assume(pod,
					"no port of %s on %s is known to lead to %s: what it sends is taken to begin at the bridge, and hairpin mode is not looked at",
					bridge, a.Hostname, pod.Name)
			}
			break
		}
	}
	return a
}

// plug finds the device that leads to a pod, or makes one.
func (a *Attached) plug(pod *scenarios.Pod) {
	device := ""
	for _, address := range pod.Addresses {
		if found := a.ways.DeviceTo(address); found != "" {
			device = found
			break
		}
	}
	switch {
	case device == "" && !withoutPod(pod), a.isOthers(device, pod):
		a.put(pod, a.addDevice(&scenarios.Pod{}))
		a.Notes = append(a.Notes, fmt.Sprintf("%s has no route to %s (%s)", a.Hostname, pod.Name, listed(pod.Addresses)))
		return
	case device == "":
		device = a.addDevice(pod)
		a.unrouted = append(a.unrouted, pod.Addresses...)
	case a.isBridge(device):
		port := a.portOf(device, pod)
		if port == "" {
			port = a.addPort(device, pod)
		}
		a.put(pod, port)
		return
	}
	a.put(pod, device)
	for _, address := range pod.Addresses {
		if a.ways.DeviceTo(address) == "" {
			a.route(address, device)
		}
	}
}

// listed names the first addresses of a list.
func listed(all []netip.Addr) string {
	const told = 4
	var out []string
	for i, a := range all {
		if i == told && len(all) > told+1 {
			out = append(out, fmt.Sprintf("and %d more", len(all)-told))
			break
		}
		out = append(out, a.String())
	}
	return strings.Join(out, ", ")
}

// put puts a pod behind a device.
func (a *Attached) put(pod *scenarios.Pod, device string) {
	a.Pods[pod.Name], a.behind[device] = device, pod.Name
}

// isOthers says whether a device leads to another pod: behind a veth that is no port of a bridge there is one namespace.
func (a *Attached) isOthers(device string, pod *scenarios.Pod) bool {
	d := a.device(device)
	if d == nil || d.Kind != "veth" || d.Master != "" {
		return false
	}
	other, taken := a.behind[device]
	return taken && other != pod.Name
}

// withoutPod says whether a pod stands for an endpoint of which no Pod is known: its name is its address.
func withoutPod(pod *scenarios.Pod) bool {
	_, err := netip.ParseAddr(pod.Name)
	return err == nil
}

func (a *Attached) addDevice(pod *scenarios.Pod) string {
	a.highest++
	name := fmt.Sprintf("pod%d", a.highest)
	a.at[name] = len(a.Devices)
	a.Devices = append(a.Devices, snapshot.Device{Name: name, Index: a.highest, Kind: "veth", MTU: 1500, Up: true})
	for _, address := range pod.Addresses {
		a.route(address, name)
	}
	return name
}

func (a *Attached) route(address netip.Addr, device string) {
	r := snapshot.Route{
		Dst: netip.PrefixFrom(address, address.BitLen()), Dev: device, Table: packetsim.TableMain, Scope: packetsim.ScopeLink,
	}
	a.Routes = append(a.Routes, r)
	a.ways.add(&r)
}

func (a *Attached) isBridge(name string) bool {
	d := a.device(name)
	return d != nil && d.Kind == "bridge"
}

// namesAPod says whether the tables know an address behind a port that a pod can have. Each device has a link-local one of its own, which
// is no pod's.
func namesAPod(d *snapshot.Device) bool {
	return slices.ContainsFunc(d.Neighbours, func(a netip.Addr) bool { return !a.IsLinkLocalUnicast() })
}

// portOf is the port of a bridge that a pod is behind. Where the snapshot does not say, it gets the next one
// that has nobody behind it; empty if there is none.
func (a *Attached) portOf(bridge string, pod *scenarios.Pod) string {
	var unnamed []*snapshot.Device
	for i := range a.Devices {
		d := &a.Devices[i]
		if d.Master != bridge {
			continue
		}
		if !a.unnamed[d.Name] && slices.ContainsFunc(pod.Addresses, func(p netip.Addr) bool { return slices.Contains(d.Neighbours, p) }) {
			d.Neighbours = joined(d.Neighbours, pod.Addresses)
			return d.Name
		}
		if a.unnamed[d.Name] {
			unnamed = append(unnamed, d)
		}
	}
	port := a.pick(unnamed, bridge, pod)
	if port == nil {
		return ""
	}
	port.Neighbours = joined(port.Neighbours, pod.Addresses)
	if slices.ContainsFunc(unnamed, func(d *snapshot.Device) bool { return d.Hairpin != port.Hairpin }) {
		a.assumePort(bridge, pod, port)
	}
	return port.Name
}

// pick takes for a pod one of a bridge's ports of which no table says who is behind them; nil if each has a pod by now. A bridge forgets
// who is behind a port that goes down (br_stp_disable_port in net/bridge/br_stp_if.c), so a pod of which nothing is known may well be
// behind such a port. If others are up, it is taken to be behind one of these, and if need be with another pod, and that is a doubt.
func (a *Attached) pick(ports []*snapshot.Device, bridge string, pod *scenarios.Pod) *snapshot.Device {
	var free, up []*snapshot.Device
	var down []string
	for _, d := range ports {
		if !d.Up {
			down = append(down, d.Name)
		} else {
			up = append(up, d)
		}
		if !namesAPod(d) {
			free = append(free, d)
		}
	}
	switch {
	case len(free) == 0:
		if len(down) > 0 {
			a.mayBeDown(bridge, down, pod)
		}
		return nil
	case len(down) == 0 || len(up) == 0:
		return free[0]
	}
	a.mayBeDown(bridge, down, pod)
	if i := slices.IndexFunc(free, func(d *snapshot.Device) bool { return d.Up }); i >= 0 {
		return free[i]
	}
	return up[0]
}

// mayBeDown is the doubt whether a pod is behind one of a bridge's ports that are down.
func (a *Attached) mayBeDown(bridge string, down []string, pod *scenarios.Pod) {
	ports := "port " + down[0]
	if len(down) > 1 {
		ports = "one of the ports " + strings.Join(down[:len(down)-1], ", ") + " and " + down[len(down)-1]
	}
	for _, address := range pod.Addresses {
		a.MayBeDown[address] = packetsim.Doubt{
			Kind:   packetsim.DoubtDown,
			Unless: fmt.Sprintf("%s of %s, which is down, leads to %s", ports, bridge, pod.Name),
			See:    "bridge link; ip -n POD link, whose eth0@ifN names the port by its number",
		}
	}
}

// addPort adds a port to a bridge, with a pod behind it.
func (a *Attached) addPort(bridge string, pod *scenarios.Pod) string {
	hairpins := a.hairpins(bridge)
	a.addDevice(&scenarios.Pod{})
	port := &a.Devices[len(a.Devices)-1]
	port.Master, port.Hairpin, port.Neighbours = bridge, hairpins, slices.Clone(pod.Addresses)
	a.assumePort(bridge, pod, port)
	return port.Name
}

// assumePort says that another port may be the pod's.
func (a *Attached) assumePort(bridge string, pod *scenarios.Pod, port *snapshot.Device) {
	mode := "off"
	if port.Hairpin {
		mode = "on"
	}
	a.assume(pod, "which port of %s on %s leads to %s is not known: taken to be one with hairpin mode %s", bridge, a.Hostname, pod.Name, mode)
}

func (a *Attached) assume(pod *scenarios.Pod, format string, args ...any) {
	for _, address := range pod.Addresses {
		a.Assumed[address] = fmt.Sprintf(format, args...)
	}
}

// joined are the neighbours of a port with those that are not among them.
func joined(known, more []netip.Addr) []netip.Addr {
	out := slices.Clone(known)
	for _, address := range more {
		if !slices.Contains(out, address) {
			out = append(out, address)
		}
	}
	return out
}

// hairpins reports whether a bridge gives packets back by the port that they came by: whether no port that it has says otherwise.
func (a *Attached) hairpins(bridge string) bool {
	return !slices.ContainsFunc(a.Devices, func(d snapshot.Device) bool { return d.Master == bridge && !d.Hairpin })
}

// DeviceWith is the device of a node that has an address, and the address with its network; empty if there is none.
func DeviceWith(taken *snapshot.NodeSnapshot, address netip.Addr) (device string, network netip.Prefix) {
	for _, d := range taken.Devices {
		for _, own := range d.Addresses {
			if own.Prefix.Addr() == address {
				return d.Name, own.Prefix
			}
		}
	}
	return "", netip.Prefix{}
}

// gateways are the routers of a node's default routes.
func gateways(taken *snapshot.NodeSnapshot) []netip.Addr {
	var out []netip.Addr
	for i := range taken.Routes {
		r := &taken.Routes[i]
		if r.Dst.Bits() != 0 {
			continue
		}
		if r.Via.IsValid() {
			out = append(out, r.Via)
		}
		for _, hop := range r.NextHops {
			if hop.Via.IsValid() {
				out = append(out, hop.Via)
			}
		}
	}
	return out
}
