package files

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
)

// link is a device as "ip -j addr" and "ip -j -d link" print it.
type link struct {
	Index   int      `json:"ifindex"`
	Name    string   `json:"ifname"`
	Flags   []string `json:"flags"`
	MTU     int      `json:"mtu"`
	MAC     string   `json:"address"`
	Master  string   `json:"master"`
	Group   string   `json:"group"`
	NetnsID *int     `json:"link_netnsid"`
	// Promiscuity is only there with -d.
	Promiscuity *int      `json:"promiscuity"`
	Info        linkInfo  `json:"linkinfo"`
	Addresses   []address `json:"addr_info"`

	file     string
	detailed bool // the kind is known
}

type linkInfo struct {
	Kind string `json:"info_kind"`
	Data struct {
		ID       uint32     `json:"id"`
		Port     uint16     `json:"port"`
		Local    netip.Addr `json:"local"`
		Local6   netip.Addr `json:"local6"`
		External bool       `json:"external"`
	} `json:"info_data"`
	SlaveData struct {
		Hairpin bool `json:"hairpin"`
	} `json:"info_slave_data"`
}

type address struct {
	Local      netip.Addr `json:"local"`
	Bits       int        `json:"prefixlen"`
	Scope      string     `json:"scope"`
	Broadcast  netip.Addr `json:"broadcast"`
	Secondary  bool       `json:"secondary"`
	Deprecated bool       `json:"deprecated"`
	Tentative  bool       `json:"tentative"`
	DADFailed  bool       `json:"dadfailed"`
}

// addLink joins what several files say of one device.
func (r *reader) addLink(l *link) error {
	l.file = r.name
	l.detailed = l.Promiscuity != nil
	r.tell("devices")
	was := r.links[l.Name]
	if was == nil {
		r.links[l.Name] = l
		r.order = append(r.order, l)
		return nil
	}
	if was.Index != l.Index || was.MAC != "" && l.MAC != "" && was.MAC != l.MAC {
		return fmt.Errorf("%s and %s tell different things of device %s: give the files of one node, taken at one time", was.file, r.name, l.Name)
	}
	for _, a := range l.Addresses {
		was.Addresses = addUnique(was.Addresses, a, func(a, b address) bool { return a == b })
	}
	if was.Master == "" {
		was.Master = l.Master
	}
	if was.NetnsID == nil {
		was.NetnsID = l.NetnsID
	}
	if l.detailed && !was.detailed {
		was.detailed, was.Info = true, l.Info
	}
	return nil
}

// devices are the links in the document's words.
func (r *reader) devices() {
	for _, l := range r.order {
		d := snapshot.Device{Name: l.Name, Index: l.Index, Kind: l.kind(), MTU: l.MTU, Up: slices.Contains(l.Flags, "UP"), Master: l.Master,
			PeerNetns: l.NetnsID, Hairpin: l.Info.SlaveData.Hairpin}
		if strings.Count(l.MAC, ":") == 5 && l.MAC != "00:00:00:00:00:00" { // others are no hardware addresses
			d.MAC = l.MAC
		}
		if group, err := strconv.ParseUint(l.Group, 0, 32); err == nil {
			d.Group = uint32(group)
		} else if l.Group != "" && l.Group != "default" {
			r.unread("group of device "+l.Name, "the number of group %q is in /etc/iproute2/group of the node", l.Group)
		}
		if l.Master != "" && r.links[l.Master] == nil {
			r.unread("master of device "+l.Name, "no file tells of device %s", l.Master)
			d.Master = ""
		}
		for i := range l.Addresses {
			if a, ok := r.address(l, &l.Addresses[i]); ok {
				d.Addresses = append(d.Addresses, a)
			}
		}
		r.result.Node.Devices = append(r.result.Node.Devices, d)
	}
}

func (l *link) kind() string {
	switch {
	case slices.Contains(l.Flags, "LOOPBACK"):
		return "loopback"
	case l.Info.Kind != "":
		return l.Info.Kind
	case l.detailed:
		return "device"
	}
	return ""
}

func (r *reader) address(l *link, a *address) (snapshot.Address, bool) {
	what := fmt.Sprintf("address %s/%d of device %s", a.Local, a.Bits, l.Name)
	prefix := netip.PrefixFrom(a.Local, a.Bits)
	scope, known := scopeOf(a.Scope)
	switch {
	case !prefix.IsValid():
		r.unread(what, "it is not an address")
	case a.Tentative || a.DADFailed:
		r.unread(what, "the kernel does not use it: duplicate address detection has not ended well (yet)")
	case !known:
		r.unread(what, "not supported: scope %s", a.Scope)
	default:
		return snapshot.Address{Prefix: prefix, Scope: scope, Broadcast: a.Broadcast, Secondary: a.Secondary && a.Local.Is4(),
			Deprecated: a.Deprecated}, true
	}
	return snapshot.Address{}, false
}

// scopeOf reads the scope of an address or a route; an empty one is global.
func scopeOf(word string) (packetsim.Scope, bool) {
	scope := packetsim.Scope(word)
	switch scope {
	case "":
		return packetsim.ScopeGlobal, true
	case packetsim.ScopeGlobal, packetsim.ScopeSite, packetsim.ScopeLink, packetsim.ScopeHost, packetsim.ScopeNowhere:
		return scope, true
	}
	return "", false
}

// fdbEntry is an entry of "bridge -j fdb".
type fdbEntry struct {
	MAC    string     `json:"mac"`
	Dev    string     `json:"ifname"`
	Dst    netip.Addr `json:"dst"`
	Master string     `json:"master"`
	Flags  []string   `json:"flags"`
}

// neighbour is an entry of "ip -j neigh".
type neighbour struct {
	Addr  netip.Addr `json:"dst"`
	Dev   string     `json:"dev"`
	MAC   string     `json:"lladdr"`
	State []string   `json:"state"`
}

// behind fills what is known of the machines behind ports of bridges and behind tunnels.
func (r *reader) behind() {
	for i := range r.result.Node.Devices {
		d := &r.result.Node.Devices[i]
		l := r.links[d.Name]
		if l.Info.Kind == "vxlan" {
			r.tunnel(d, l)
		}
		if master := r.links[d.Master]; master != nil && master.Info.Kind == "bridge" {
			r.need(fdbEntries, "the neighbours behind ports of bridges are not known", "bridge -j fdb")
			r.need(neighbourTable, "the neighbours behind ports of bridges are not known", "ip -j neigh")
			for _, e := range r.fdb {
				if e.Dev == d.Name && e.Master == d.Master {
					d.Neighbours = r.addressesOf(d.Neighbours, e.MAC, d.Master)
				}
			}
			slices.SortFunc(d.Neighbours, netip.Addr.Compare)
		}
	}
}

func (r *reader) tunnel(d *snapshot.Device, l *link) {
	if l.Info.Data.External {
		r.unread("tunnel "+d.Name, "not supported: a tunnel whose identifier is set for each packet by a program")
		return
	}
	r.need(fdbEntries, "the machines behind tunnels are not known", "bridge -j fdb")
	r.need(neighbourTable, "the machines behind tunnels are not known", "ip -j neigh")
	d.VXLAN = &snapshot.VXLAN{ID: l.Info.Data.ID, Port: l.Info.Data.Port, Local: l.Info.Data.Local}
	if l.Info.Data.Local6.IsValid() {
		d.VXLAN.Local = l.Info.Data.Local6
	}
	for _, e := range r.fdb {
		if e.Dev != d.Name || !slices.Contains(e.Flags, "self") || !e.Dst.IsValid() {
			continue
		}
		for _, addr := range r.addressesOf(nil, e.MAC, d.Name) {
			d.VXLAN.Remotes = addUnique(d.VXLAN.Remotes, snapshot.Remote{Neighbour: addr, Remote: e.Dst},
				func(a, b snapshot.Remote) bool { return a.Neighbour == b.Neighbour })
		}
	}
	slices.SortFunc(d.VXLAN.Remotes, func(a, b snapshot.Remote) int { return a.Neighbour.Compare(b.Neighbour) })
}

// addressesOf adds the neighbours on a device with a link-layer address.
func (r *reader) addressesOf(list []netip.Addr, mac, dev string) []netip.Addr {
	for _, n := range r.neighs {
		dead := slices.ContainsFunc(n.State, func(s string) bool { return s == "FAILED" || s == "INCOMPLETE" || s == "NOARP" })
		if n.Dev == dev && n.MAC == mac && !dead {
			list = addUnique(list, n.Addr, func(a, b netip.Addr) bool { return a == b })
		}
	}
	return list
}
