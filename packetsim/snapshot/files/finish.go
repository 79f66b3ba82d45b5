package files

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/internal/lazyregexp"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
)

var families = [...]netfilter.Family{netfilter.IPv4, netfilter.IPv6}

// finish makes the snapshot of all that was found, and says what is missing.
func (r *reader) finish() error {
	if len(r.order) == 0 {
		return ErrNoDevices
	}
	slices.SortStableFunc(r.order, func(a, b *link) int { return a.Index - b.Index })
	r.devices()
	r.behind()
	if slices.ContainsFunc(r.order, func(l *link) bool { return l.kind() == "" }) {
		r.unread(linkDetails, "bridges and tunnels are taken for plain devices: add what \"ip -d -j link\" prints")
	}
	if err := r.finishRoutes(); err != nil {
		return err
	}
	r.defaultRules()
	r.finishSettings()
	r.finishSaves()
	if err := r.finishListings(); err != nil {
		return err
	}
	r.need(snapshot.UnreadConntrack, "live connections are not known: every packet is taken for the first of its connection",
		"conntrack -L -o extended")
	r.objects()
	return r.result.Node.Finish("the files do not say it; \"chainwalk snapshot\" on the node asks the kernel")
}

// need says that a thing is missing, once.
func (r *reader) need(what, why, command string) {
	if r.found[what] == "" {
		r.found[what] = "nowhere"
		r.unread(what, "%s: add what %q prints", why, command)
	}
}

// finishSettings says which settings are missing that decide where packets go. A list is whole if it has, beside those that a snapshot
// keeps, some of every part of the network that each kernel has: people print those that they look for.
func (r *reader) finishSettings() {
	file := r.found[snapshot.UnreadSysctls]
	r.need(snapshot.UnreadSysctls, "settings are taken to be those of a node of Kubernetes, which forwards", "sysctl -a")
	if file == "" {
		return
	}
	whole := !slices.ContainsFunc(everywhere, func(part string) bool { return !r.parts[part] })
	r.result.Node.LacksSettings(whole, file+" does not have it: add what \"sysctl -a\" prints")
}

// everywhere are parts of the settings that every kernel with a network has.
var everywhere = []string{"net.core", "net.ipv4", "net.unix"}

// finishRoutes sorts out routes of devices that are not there, and adds those that the kernel makes for addresses where no file has them.
func (r *reader) finishRoutes() error {
	r.uniqueRoutes()
	node := r.result.Node
	node.Routes = slices.DeleteFunc(node.Routes, func(s snapshot.Route) bool {
		devices := []string{s.Dev}
		for _, h := range s.NextHops {
			devices = append(devices, h.Dev)
		}
		lost := slices.IndexFunc(devices, func(d string) bool { return d != "" && r.links[d] == nil })
		if lost >= 0 {
			r.unread(fmt.Sprintf("route to %s", s.Dst), "no file tells of its device %s", devices[lost])
		}
		return lost >= 0
	})
	made, err := kernelRoutes(node)
	if err != nil {
		return err
	}
	for _, family := range families {
		all, local := r.found[snapshot.UnreadRoutes(family)] != "", r.found[snapshot.UnreadRoutes(family)+" of table local"] != ""
		what, command := snapshot.UnreadRoutes(family), "ip -j route show table all"
		if family == netfilter.IPv6 {
			command = "ip -6 -j route show table all"
		}
		switch {
		case !all:
			r.need(what, "only those that the kernel makes for addresses are known", command)
		case !local:
			r.need(what+" of table local", "they are taken to be those that the kernel makes for addresses", command)
		}
		for _, s := range made {
			if inet.FamilyOf(s.Dst.Addr()) == family && (!all || !local && s.Table == packetsim.TableLocal) {
				node.Routes = append(node.Routes, s)
			}
		}
	}
	return nil
}

// kernelRoutes are the routes that the kernel makes for the addresses of a node.
func kernelRoutes(node *snapshot.NodeSnapshot) ([]snapshot.Route, error) {
	var devices []packetsim.Device
	for _, d := range node.Devices {
		device := packetsim.Device{Name: d.Name, Index: d.Index, Kind: d.Kind, Up: d.Up, Master: d.Master}
		for _, a := range d.Addresses {
			device.Addresses = append(device.Addresses, packetsim.Address(a))
		}
		devices = append(devices, device)
	}
	host, err := packetsim.NewHost(packetsim.HostConfig{Name: node.Hostname, Devices: devices})
	if err != nil {
		return nil, fmt.Errorf("the devices in the files: %w", err)
	}
	made, err := snapshot.Of(host)
	if err != nil {
		return nil, err
	}
	return made.Routes, nil
}

// defaultRules adds the policy rules that every kernel begins with where no file has any.
func (r *reader) defaultRules() {
	for _, family := range families {
		if r.found[snapshot.UnreadPolicyRules(family)] != "" {
			continue
		}
		command := "ip -j rule"
		tables := []packetsim.RouteTable{packetsim.TableLocal, packetsim.TableMain, packetsim.TableDefault}
		if family == netfilter.IPv6 {
			command, tables = "ip -6 -j rule", tables[:2]
		}
		r.need(snapshot.UnreadPolicyRules(family), "they are taken to be those that a kernel begins with", command)
		for i, table := range tables {
			priority := [...]uint32{0, 32766, 32767}[i]
			r.result.Node.PolicyRules = append(r.result.Node.PolicyRules,
				snapshot.PolicyRule{Family: family, Priority: priority, Action: packetsim.RuleLookup, Table: table})
		}
	}
}

// finishSaves puts the tables of one backend and family together. People save a table into a file of its own, and the same rules by several
// names of one tool.
func (r *reader) finishSaves() {
	node := r.result.Node
	tables := map[string]string{} // of backend, family and table, in which file
	for _, s := range r.saves {
		if s.Dialect == "" && s.Text != "" && r.tools == "" && strings.Contains("\n"+s.Text, "\n*") {
			r.unread("backend of the rules in "+s.file, "no head line says it: they are taken for those of legacy; the name of the file may say nft")
		}
		if s.Dialect == "" {
			s.Dialect = r.tools
		}
		if s.Dialect == "" {
			s.Dialect = "legacy"
		}
		var twice []string
		names := tableNames(s.Text)
		for _, name := range names {
			if key := fmt.Sprint(s.Dialect, s.Family, name); tables[key] != "" && tables[key] != s.file {
				twice = append(twice, name+" ("+tables[key]+")")
			} else {
				tables[key] = s.file
			}
		}
		if len(names) == 0 {
			continue
		}
		if len(twice) > 0 {
			r.name = s.file
			if len(twice) == len(names) {
				r.ignore("the same tables of IPv%d, %s, are in another file: %s", s.Family, s.Dialect, strings.Join(twice, ", "))
			} else {
				r.unread("rules in "+s.file, "some tables of IPv%d, %s, are in another file too: %s", s.Family, s.Dialect, strings.Join(twice, ", "))
			}
			continue
		}
		i := slices.IndexFunc(node.IPTables, func(n snapshot.Rules) bool { return n.Dialect == s.Dialect && n.Family == s.Family })
		if i < 0 {
			i = len(node.IPTables)
			node.IPTables = append(node.IPTables, snapshot.Rules{Dialect: s.Dialect, Family: s.Family})
		}
		node.IPTables[i].Save += strings.Trim(s.Text, "\n") + "\n"
	}
	slices.SortStableFunc(node.IPTables, func(a, b snapshot.Rules) int {
		if a.Family != b.Family {
			return int(a.Family) - int(b.Family)
		}
		return cmp.Compare(a.Dialect, b.Dialect)
	})
	r.otherTables()
	r.need(snapshot.UnreadRules(netfilter.IPv4), "no rules of IPv4 are walked", "iptables-save -c")
	r.need(snapshot.UnreadRules(netfilter.IPv6), "no rules of IPv6 are walked", "ip6tables-save -c")
}

// otherTables says which table is not there that the program always has which wrote the others: people save one with -t, and what they
// print does not say so.
func (r *reader) otherTables() {
	for i := range r.result.Node.IPTables {
		rules := &r.result.Node.IPTables[i]
		program, tables := r.writes(rules.Save)
		names := tableNames(rules.Save)
		for _, table := range tables {
			if !slices.Contains(names, table) {
				r.unread(fmt.Sprintf("table %s of the %s", table, snapshot.UnreadRules(rules.Family)),
					"none of its rules are walked, and %s has some in it: add what the save tool prints without -t", program)
			}
		}
	}
}

func tableNames(text string) []string {
	var names []string
	for line := range strings.Lines(text) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "*"); ok {
			names = append(names, name)
		}
	}
	return names
}

var (
	namedObject = lazyregexp.New(`--nfacct-name +(\S+)`)
	namesSet    = lazyregexp.New(` -m set | -j SET `)
)

// objects are what rules name: accounting objects are made with counters of zero, and sets are missing.
func (r *reader) objects() {
	node := r.result.Node
	for _, rules := range node.IPTables {
		if namesSet().MatchString(rules.Save) {
			r.need(snapshot.UnreadIPSets, "rules name sets", "ipset save")
		}
		for _, m := range namedObject().FindAllStringSubmatch(rules.Save, -1) {
			node.NFAcct = addUnique(node.NFAcct, snapshot.NFAcct{Name: strings.Trim(m[1], `"`)},
				func(a, b snapshot.NFAcct) bool { return a.Name == b.Name })
		}
	}
}
