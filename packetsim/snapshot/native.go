package snapshot

import (
	"fmt"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/fakenft"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
)

// nftTools are the tool nft in a namespace of the node, which knows its devices.
func (s *NodeSnapshot) nftTools(n *netfilter.Namespace) *fakenft.Tools {
	devices := map[uint32]string{}
	for i := range s.Devices {
		number := s.Devices[i].Index
		if number == 0 {
			number = i + 1
		}
		devices[uint32(number)] = s.Devices[i].Name
	}
	return fakenft.New(fakenft.Options{Namespace: n, Devices: func() map[uint32]string { return devices }})
}

// loadNative gives a namespace the tables of NFTables that were read, in their order: of chains with one priority packets meet first the
// one that came last, and those of iptables after all of them.
func (s *NodeSnapshot) loadNative(n *netfilter.Namespace, forget func(table, set string) bool) error {
	if !slices.ContainsFunc(s.NFTables, func(t NFTable) bool { return t.Rules != "" }) {
		return nil
	}
	tools := s.nftTools(n)
	for i := range s.NFTables {
		if err := s.loadTable(tools, i); err != nil {
			return err
		}
	}
	if forget != nil {
		return flushSets(tools.Kernel(), forget)
	}
	return nil
}

// flushSets takes the elements of some sets away.
func flushSets(kernel *nftables.Kernel, which func(table, set string) bool) error {
	var flushes []nftables.Change
	for _, table := range kernel.State().Tables() {
		for _, set := range table.Sets() {
			if which(table.Name, set.Name) {
				flushes = append(flushes, &nftables.DeleteElements{Family: table.Family, Table: table.Name, Set: set.Name})
			}
		}
	}
	if refused := kernel.Commit(flushes); len(refused) > 0 {
		return fmt.Errorf("flush sets: %w", refused[0].Errno)
	}
	return nil
}

// loadTable gives the kernel the table of a number, if it was read.
func (s *NodeSnapshot) loadTable(tools *fakenft.Tools, number int) error {
	t, path := &s.NFTables[number], fmt.Sprintf("nftables[%d].rules", number)
	if t.Rules == "" {
		return nil
	}
	if err := tools.Load(path, strings.NewReader(t.Rules), nil); err != nil {
		return err
	}
	for _, table := range tools.Kernel().State().Tables() {
		if table.Family.String() == t.Family && table.Name == t.Name {
			return nil
		}
	}
	return fmt.Errorf("%s: has no table %s %s", path, t.Family, t.Name)
}

// keepReadable takes the rules away of tables that cannot be read, and says in Unread which these are and why. A rule with an expression
// that is not walked stays: it is unknown to packets that meet it.
func (s *NodeSnapshot) keepReadable() {
	for i := range s.NFTables {
		if t := &s.NFTables[i]; t.Rules != "" {
			if err := s.loadTable(s.nftTools(netfilter.New(nil)), i); err != nil {
				t.Rules = ""
				why := strings.TrimSpace(strings.TrimPrefix(err.Error(), fmt.Sprintf("nftables[%d].rules:", i)))
				why = "not supported: " + strings.TrimPrefix(why, "not supported: ")
				s.Unread = append(s.Unread, Unread{What: nftTableUnread + t.Family + " " + t.Name, Why: why})
			}
		}
	}
}

// walks says whether packets are walked through a chain of the table: not at ingress and egress, which are a device's.
func (t *NFTable) walks(c *NFChain) bool {
	switch t.Family {
	case nftables.IPv4.String(), nftables.IPv6.String(), nftables.Inet.String():
		return t.Rules != "" && c.Hook != "ingress" && c.Hook != "egress"
	}
	return false
}

// addNative adds the native tables of a namespace, with the handles of their rules.
func (s *NodeSnapshot) addNative(n *netfilter.Namespace) error {
	kernel := nftables.In(n)
	if kernel == nil {
		return nil
	}
	tools := s.nftTools(n)
	for _, table := range kernel.State().Tables() {
		var out, errOut strings.Builder
		family := table.Family.String()
		if status := tools.Run([]string{"nft", "-a", "list", "table", family, table.Name}, strings.NewReader(""), &out, &errOut); status != 0 {
			return fmt.Errorf("table %s %s: %s", family, table.Name, errOut.String())
		}
		native := NFTable{Family: family, Name: table.Name, Rules: out.String()}
		for _, c := range table.BaseChains() {
			native.Chains = append(native.Chains, nativeChain(c.Name, c.Hooking))
		}
		s.NFTables = append(s.NFTables, native)
	}
	return nil
}

func nativeChain(name string, at *nftables.Hooking) NFChain {
	hook := strings.ToLower(netfilter.Hook(at.Hook).String())
	return NFChain{Name: name, Hook: hook, Priority: at.Priority, Type: at.Type}
}
