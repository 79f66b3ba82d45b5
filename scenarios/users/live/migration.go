package live

import (
	"encoding/json"
	"errors"
	"io"
	"slices"

	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios/explain/cause"
	stories "github.com/chainwalk/chainwalk/scenarios/explain/story"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
	"github.com/chainwalk/chainwalk/scenarios/users/allpackets/explained"
)

// Target is what the kube-proxies of a cluster change to.
type Target struct {
	// Mode is iptables or nftables. Empty: the mode of Config, or without one the other mode than each node has.
	Mode kubeproxyconfig.ProxyMode
	// Config is their new configuration. Nil: the one that they have, in the new mode.
	Config *kubeproxyconfig.KubeProxyConfiguration
	// AllPackets has all packets of each node judged too, and not only one of each class: a second or two for a node of a hundred pods, and
	// more on larger nodes. MostDevices is how many devices a node may have for that; 0: any number.
	AllPackets  bool
	MostDevices int
	// Versions are those of kube-proxy, if it is a change of versions. Without Mode and Config each node stays in its mode.
	Versions Versions
}

// Migration is what becomes of packets when the kube-proxies of a cluster change their mode or their configuration. Each class of packets
// is the same afterwards, or otherwise as a document says, or it is a finding.
type Migration struct {
	Version int    `json:"version"`
	Kind    string `json:"kind"`
	// Answer is the whole answer in one line.
	Answer string         `json:"answer"`
	Nodes  []MigratedNode `json:"nodes"`
	// Ways counts the classes of packets that were tried on both sides, and Same those of them that are treated alike.
	Ways int `json:"ways"`
	Same int `json:"same"`
	// WrongBefore counts those that are treated differently and were not as the objects promise before.
	WrongBefore int `json:"wrongBefore,omitempty"`
	// Findings are differences that no document tells of, and what keeps a node from changing.
	Findings []Moved `json:"findings"`
	// Documented are differences that a document tells of, those first by which somebody is not served any longer.
	Documented []Moved `json:"documented"`
	// AllPackets is what becomes of all packets of each node that was walked, if that was asked for.
	AllPackets []explained.Answer `json:"allPackets,omitempty"`
	// Moments are the steps of the change and of the way back.
	Moments []Moment `json:"moments"`
	// Doubts are what was taken for granted, and may be otherwise.
	Doubts []Doubt `json:"doubts,omitempty"`
	// Unjudged are the classes that could not be tried.
	Unjudged []Unjudged `json:"unjudged,omitempty"`
	// Notes say what was assumed, and what else an operator may want to know.
	Notes []string `json:"notes,omitempty"`

	// names are those of the cluster's objects.
	names func() stories.Names
	// after makes the cluster as it will be.
	after func() (*Cluster, error)
}

// The kind and the version of a Migration's document.
const (
	migrationKind    = "Migration"
	migrationVersion = 1
)

// MigratedNode is a node that changes.
type MigratedNode struct {
	Name string `json:"name"`
	// From and To are the modes of its kube-proxy, From empty if it runs none that is known.
	From string `json:"from,omitempty"`
	To   string `json:"to"`
	// Seen is how the first mode was seen.
	Seen string `json:"seen,omitempty"`
	// Why says why the node was not walked; empty if it was.
	Why string `json:"why,omitempty"`
}

// Moved is one difference, with everything that has it.
type Moved struct {
	// Clause is the clause of the specification by which packets are treated differently, or which is broken afterwards.
	Clause string `json:"clause,omitempty"`
	Says   string `json:"says"`
	// Sentence is what the document says, and Document where it stands.
	Sentence string `json:"sentence,omitempty"`
	Document string `json:"document,omitempty"`
	// Unserved counts the ways whose client was served before and is not afterwards.
	Unserved int `json:"unserved,omitempty"`
	// Ways counts the classes of packets, and Services are those whose packets they are.
	Ways     int      `json:"ways"`
	Services []string `json:"services,omitempty"`
	// Set is what to set so that packets fare as before, or what to do.
	Set string `json:"set,omitempty"`
	// Cause is what stops the packet of the example afterwards; without a code if nothing does.
	Cause cause.Cause `json:"cause,omitzero"`
	// Example is one of the packets.
	Example *MovedPacket `json:"example,omitempty"`

	services map[string]bool
}

// MovedPacket is a packet before and after.
type MovedPacket struct {
	Packet string `json:"packet"`
	Before string `json:"before"`
	After  string `json:"after"`
	// WayBefore and WayAfter are its ways through the rules, step by step.
	WayBefore []string `json:"wayBefore"`
	WayAfter  []string `json:"wayAfter"`

	// before and after are the same ways for lanes.
	before, after []story
}

// Moment is a step of the change.
type Moment struct {
	Name string `json:"name"`
	// Ways counts the classes of packets that were tried, Otherwise those that are treated differently after the change, and Unserved those
	// whose client was served before and is not now.
	Ways      int `json:"ways"`
	Otherwise int `json:"otherwise"`
	Unserved  int `json:"unserved"`
	// Established counts the connections that nodes remember, and Broken those of them that do not go on.
	Established int    `json:"established"`
	Broken      int    `json:"broken"`
	Says        string `json:"says"`
	// AllPackets is what becomes of all packets of each node that was walked, beside what became of them before. Only the way back has it, if
	// all packets were asked for. All kinds that differ are findings there: no clause allows them.
	AllPackets []explained.Answer `json:"allPackets,omitempty"`
}

// MigrationState is the answer of a Migration in a word.
type MigrationState string

// The states.
const (
	MigrationHolds   MigrationState = "holds"   // the same, or as documented
	MigrationFinds   MigrationState = "finds"   // there are findings
	MigrationUnknown MigrationState = "unknown" // something could not be judged
)

// State is the answer in a word.
func (m *Migration) State() MigrationState {
	walked := 0
	for i := range m.Nodes {
		if m.Nodes[i].Why == "" {
			walked++
		}
	}
	switch {
	case len(m.Findings) > 0 || slices.ContainsFunc(m.AllPackets, func(a explained.Answer) bool { return len(a.Findings) > 0 }):
		return MigrationFinds
	case walked < len(m.Nodes) || m.Ways == 0 || len(m.Unjudged)+len(m.Doubts) > 0 ||
		slices.ContainsFunc(m.AllPackets, func(a explained.Answer) bool { return a.Open() }):
		return MigrationUnknown
	}
	return MigrationHolds
}

// WriteJSON writes the migration as JSON.
func (m *Migration) WriteJSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(m)
}

// After is the cluster as it will be after the change, with no packet walked through it. A node that was walked has the snapshot that was
// taken of it, with the rules, sets, settings and connections that it has when kube-proxy has started by its new configuration and has
// synced once. The snapshots of the other nodes, and why nodes have none, are as they were.
//
// The ConfigMap kube-system/kube-proxy of its objects, which may be new, and its Config are the new configuration, in the mode that most of
// the walked nodes change to. A node whose own configuration is another one has that in NodeConfigs. It is an error if what kube-proxy
// would write cannot be told.
func (m *Migration) After() (*Cluster, error) { return m.after() }

// clusterAfter is that cluster.
func (m *migration) clusterAfter() (*Cluster, error) {
	if len(m.configs) == 0 {
		return nil, errors.New("no node was walked, so nothing is known of the cluster after the change")
	}
	out := *m.cluster
	out.Snapshots = slices.Clone(out.Snapshots)
	for i, taken := range out.Snapshots {
		if config := m.configs[taken.Hostname]; config != nil {
			var err error
			if out.Snapshots[i], err = m.foretold(taken, config); err != nil {
				return nil, err
			}
		}
	}
	return &out, m.configure(&out)
}

// foretold is the snapshot of a node after the change. It is made of all that was taken: of connections, too, that no errand is about,
// since kube-proxy deletes some of them, and of the clients that sets remember.
func (m *migration) foretold(taken *snapshot.NodeSnapshot, config *kubeproxyconfig.KubeProxyConfiguration) (*snapshot.NodeSnapshot, error) {
	options, err := m.cluster.dialectOptions(taken)
	if err != nil {
		return nil, err
	}
	var hosts [2]*packetsim.Host
	for i := range hosts {
		if hosts[i], err = snapshot.NewHost(taken, options); err != nil {
			return nil, err
		}
	}
	was, is := hosts[0], hosts[1]
	for _, object := range m.cluster.nodes() {
		if object.Name == taken.Hostname {
			err = m.start(is, object, config, true)
		}
	}
	if err != nil {
		return nil, err
	}
	return snapshot.After(taken, was, is)
}

// configure gives the cluster after the change its configurations.
func (m *migration) configure(after *Cluster) error {
	config, err := m.cluster.config()
	if err != nil {
		return err
	}
	switch {
	case m.target.Config != nil:
		config = m.target.Config
	case config == nil:
		config = AssumedConfiguration(m.cluster.Objects)
	}
	after.Config = manifest.InMode(config, m.usualMode())
	after.NodeConfigs = nil
	for name, own := range m.cluster.NodeConfigs {
		if m.configs[name] != nil {
			if m.target.Config != nil {
				continue // it has that of all now
			}
			own = manifest.InMode(own, m.configs[name].Mode)
		}
		if after.NodeConfigs == nil {
			after.NodeConfigs = map[string]*kubeproxyconfig.KubeProxyConfiguration{}
		}
		after.NodeConfigs[name] = own
	}
	after.Objects, err = manifest.WithKubeProxyConfiguration(m.cluster.Objects, after.Config)
	return err
}

// usualMode is the mode that most of the walked nodes change to, nftables if as many change to either.
func (m *migration) usualMode() kubeproxyconfig.ProxyMode {
	more := 0
	for _, config := range m.configs {
		if config.Mode == manifest.ModeNFTables {
			more++
		} else {
			more--
		}
	}
	if more < 0 {
		return manifest.ModeIPTables
	}
	return manifest.ModeNFTables
}
