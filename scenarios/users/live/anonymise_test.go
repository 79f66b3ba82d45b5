package live

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/sample"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
	"github.com/chainwalk/chainwalk/scenarios/users/anonymise"
)

// anonymous is a cluster with other names and addresses, and what renamed it.
func anonymous(t *testing.T, c *Cluster, key anonymise.Key) (*Cluster, *anonymise.Renamer) {
	old := &anonymise.Dump{Objects: c.Objects}
	for _, s := range c.Snapshots {
		old.Nodes = append(old.Nodes, anonymise.Node{Name: s.Hostname, Snapshot: s, File: s.Hostname})
	}
	other, r, err := anonymise.Of(key, old)
	require.NoError(t, err)
	out := *c
	out.Objects, out.Snapshots, out.NodeConfigs = other.Objects, nil, nil
	for i := range other.Nodes {
		out.Snapshots = append(out.Snapshots, other.Nodes[i].Snapshot)
	}
	if c.Config != nil {
		out.Config = r.Config(c.Config)
	}
	return &out, r
}

// twoWorlds are a cluster and its anonymous twin, examined.
type twoWorlds struct {
	old, other *exam
	*anonymise.Renamer
}

// host is the twin of a host, which for a machine outside is that with its address of a family; false for one that only one world has.
func (w *twoWorlds) host(name string, v6 bool) (string, bool) {
	switch {
	case name == "":
		return "", true
	case w.old.pods[name] != nil:
		pod := w.other.podAt[w.Address(w.old.pods[name].Addresses[0])]
		if pod == nil {
			return "", false
		}
		return pod.Name, true
	case w.old.topology.Node(name) != nil:
		return w.Name("node", name), true
	}
	for _, m := range w.old.topology.Outside {
		for _, other := range w.other.topology.Outside {
			if m.Name == name && slices.ContainsFunc(m.Addresses, func(a netip.Addr) bool {
				return a.Is6() == v6 && slices.Contains(other.Addresses, w.Address(a))
			}) {
				return other.Name, true
			}
		}
	}
	return "", false
}

// end is the twin of where a packet ended, which may be a router that both worlds have.
func (w *twoWorlds) end(name string, v6 bool) string {
	if other, known := w.host(name, v6); known {
		return other
	}
	return name
}

// address is the twin of an address and port.
func (w *twoWorlds) address(at netip.AddrPort) netip.AddrPort {
	if !at.IsValid() {
		return at
	}
	return netip.AddrPortFrom(w.Address(at.Addr()), at.Port())
}

// fates are the ways of an attempt as texts, in an order that addresses do not decide.
func fates(ways []oracle.Way, host func(string) string, address func(netip.AddrPort) netip.AddrPort) []string {
	var out []string
	for _, way := range ways {
		if way.Client.Port() != way.Sender.Port() { // masquerading takes one by a hash of the addresses
			way.Client = netip.AddrPortFrom(way.Client.Addr(), 1)
		}
		out = append(out, fmt.Sprintf("%.6f %s %s at %s, from %v by %v to %v, heard %t", way.Probability, way.End, way.With, host(way.Host),
			address(way.Sender), address(way.Client), address(way.Server), way.Heard))
	}
	slices.Sort(out)
	return out
}

// same holds that each class of packets has the same fates in both worlds, and returns how many were compared.
func (w *twoWorlds) same(t *testing.T) (compared int) {
	attempts := slices.DeleteFunc(w.old.spec.Attempts(), func(a oracle.Attempt) bool {
		from, known := w.host(a.From, a.To.Addr().Is6())
		_, there := w.host(a.Via, false)
		return !known || !there || from == "" || w.old.unknown(a) != "" || w.old.anycast[a.To.Addr()]
	})
	for _, a := range attempts {
		twin := a
		twin.From, _ = w.host(a.From, a.To.Addr().Is6())
		twin.Via, _ = w.host(a.Via, false)
		twin.To, twin.Source = w.address(a.To), w.address(a.Source)
		ways, err := w.old.lab.reach(a)
		require.NoError(t, err)
		twins, err := w.other.lab.reach(twin)
		require.NoError(t, err)
		want := fates(ways, func(name string) string { return w.end(name, a.To.Addr().Is6()) }, w.address)
		same := fates(twins, func(name string) string { return name }, func(at netip.AddrPort) netip.AddrPort { return at })
		require.Equal(t, want, same, "%s, and %s", attemptText(a), attemptText(twin))
		compared++
	}
	return compared
}

// compareFates examines a cluster and its anonymous twin.
func compareFates(t *testing.T, c *Cluster, key anonymise.Key) int {
	other, r := anonymous(t, c, key)
	w := twoWorlds{Renamer: r}
	var err error
	w.old, err = c.exam()
	require.NoError(t, err)
	for _, m := range w.old.topology.Outside {
		other.ends = append(other.ends, r.Addresses(m.Addresses)...)
	}
	w.other, err = other.exam()
	require.NoError(t, err)
	for i := range w.old.report.Nodes {
		// the doctor compares rules word by word
		is, was := w.other.report.Nodes[i], w.old.report.Nodes[i]
		assert.Equal(t, []int{was.Missing, was.Foreign}, []int{is.Missing, is.Foreign}, "%s, %s", cmp.Or(was.Name, "?"), is.Name)
	}
	return w.same(t)
}

// TestAnAnonymousClusterBehavesTheSame holds, for whatever a cluster is made of, that each class of packets has the fates that it had.
func TestAnAnonymousClusterBehavesTheSame(t *testing.T) {
	for seed := range uint64(40) {
		if !sample.Takes(t, int(seed), 8) {
			continue
		}
		c := simulated(t, seed)
		if c.NodeConfigs != nil { // a folder has one configuration
			continue
		}
		require.Positive(t, compareFates(t, c, anonymise.Key{byte(seed)}), "seed %d", seed)
	}
	for _, tools := range sample.Some(t, []string{"legacy", "nft"}, 2) {
		require.Greater(t, compareFates(t, recorded(t, tools, dumpNodes...), anonymise.Key{7}), 100)
	}
}
