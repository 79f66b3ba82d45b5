package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/scenarios/explain/names"
	"github.com/chainwalk/chainwalk/scenarios/explain/provenance"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
	"github.com/chainwalk/chainwalk/scenarios/users/allpackets"
	"github.com/chainwalk/chainwalk/scenarios/users/allpackets/explained"
	"github.com/chainwalk/chainwalk/scenarios/world/plan"
	"github.com/chainwalk/chainwalk/scenarios/world/sim"
)

// Migrate says what becomes of packets when the kube-proxies change to the target: it walks every class of packets through the nodes as
// they are, and as they are after kube-proxy has started and synced by its new configuration. It changes nothing in any cluster.
func (c *Cluster) Migrate(ctx context.Context, to Target) (*Migration, error) {
	m := newMigration(c, to)
	var err error
	if m.before, err = c.exam(); err != nil {
		return nil, err
	}
	m.out.Notes, m.out.names = m.before.report.Notes, c.names
	if err := m.choose(); err != nil {
		return nil, err
	}
	if len(m.configs) > 0 {
		if err := m.walk(ctx); err != nil {
			return nil, err
		}
	}
	if err := m.know(); err != nil {
		return nil, err
	}
	m.conclude()
	m.out.after = m.clusterAfter
	return m.out, nil
}

// walk walks every class of packets through the nodes that change.
func (m *migration) walk(ctx context.Context) error {
	var err error
	if m.after, err = m.examAfter(); err != nil {
		return err
	}
	if err := m.compare(ctx); err != nil {
		return err
	}
	if err := m.walkMoments(ctx); err != nil {
		return err
	}
	if m.target.AllPackets {
		if err := m.allPackets(ctx); err != nil {
			return err
		}
	}
	m.sayBack()
	return nil
}

// migration is a Migration in the making.
type migration struct {
	cluster       *Cluster
	target        Target
	before, after *exam
	// bare are the nodes when the new kube-proxy has started, and has not synced.
	bare map[string]*packetsim.Host
	// back are the nodes after the way back.
	back map[string]*packetsim.Host
	// configs are the new configurations of the nodes that change.
	configs map[string]*kubeproxyconfig.KubeProxyConfiguration
	errands []errand
	// was and is are what became of the errands that were tried before the change, and what becomes of them after it, by their place.
	was, is map[int]fared
	// otherwise is the first way that was otherwise than before at the last moment, in words, and opaque counts those there that met a rule
	// that is not walked.
	otherwise string
	opaque    int
	out       *Migration
}

func newMigration(c *Cluster, to Target) *migration {
	return &migration{cluster: c, target: to, configs: map[string]*kubeproxyconfig.KubeProxyConfiguration{}, out: &Migration{
		Version: migrationVersion, Kind: migrationKind, Nodes: []MigratedNode{}, Findings: []Moved{}, Documented: []Moved{}, Moments: []Moment{},
	}}
}

// fared is what becomes of an errand.
type fared struct {
	fates  distribution
	served bool
}

func faredBy(ways []oracle.Way) fared { return fared{distributionOf(ways), served(ways)} }

// choose finds what each node changes from and to.
func (m *migration) choose() error {
	for i := range m.before.topology.Nodes {
		name := m.before.topology.Nodes[i].Name
		node := MigratedNode{Name: name, Why: "no snapshot" + prefixed(": ", oneLine(m.cluster.NoSnapshot[name]))}
		config := m.before.topology.Configs[name]
		if m.before.nodes[name] != nil {
			found := m.before.proxies[name]
			node.From, node.Seen, node.Why = found.Mode, found.Seen, ""
			if !found.InRules {
				node.Why = fmt.Sprintf("it runs %s (%s), whose work chainwalk does not walk", found.Name, found.Seen)
			}
		}
		if config == nil {
			config = &kubeproxyconfig.KubeProxyConfiguration{}
		}
		mode := m.modeFrom(node.From)
		node.To = string(mode)
		own := m.target.Config
		if own == nil {
			own = config
		}
		if node.Why == "" {
			m.configs[name] = manifest.InMode(own, mode)
		}
		m.out.Nodes = append(m.out.Nodes, node)
	}
	if len(m.configs) == 0 && !m.knowsLeftovers() {
		return m.nothing()
	}
	return nil
}

// modeFrom is the mode that a node in another one changes to.
func (m *migration) modeFrom(from string) kubeproxyconfig.ProxyMode {
	switch {
	case m.target.Mode != "":
		return m.target.Mode
	case m.target.Config != nil:
		return cmp.Or(m.target.Config.Mode, manifest.ModeIPTables)
	case m.target.Versions != (Versions{}):
		return kubeproxyconfig.ProxyMode(cmp.Or(from, provenance.ModeIPTables))
	case from == provenance.ModeNFTables:
		return manifest.ModeIPTables
	}
	return manifest.ModeNFTables
}

// nothing is the error that no node can be walked.
func (m *migration) nothing() error {
	var why string
	for i := range m.out.Nodes {
		why += fmt.Sprintf("\n  %s: %s", m.out.Nodes[i].Name, m.out.Nodes[i].Why)
	}
	return errors.New("nothing can be said of any node:" + why + "\ngive snapshots of the nodes that change (chainwalk snapshot, --node)")
}

// examAfter is the examination of the nodes after the change.
func (m *migration) examAfter() (*exam, error) {
	own := *m.cluster
	own.NodeConfigs = maps.Clone(own.NodeConfigs)
	if own.NodeConfigs == nil {
		own.NodeConfigs = map[string]*kubeproxyconfig.KubeProxyConfiguration{}
	}
	maps.Copy(own.NodeConfigs, m.configs)
	e, err := own.prepared(isLive)
	if err != nil {
		return nil, err
	}
	d, _, err := own.draft()
	if err != nil {
		return nil, err
	}
	for name, config := range m.configs {
		config = config.DeepCopy()
		e.topology.Configs[name] = config
		e.proxies[name] = provenance.ServiceProxy{Name: "kube-proxy in mode " + modeOf(config), InRules: true, Mode: modeOf(config)}
		delete(e.others, name)
	}
	e.spec = oracle.New(e.oracleCluster(plan.Of(e.topology), d.objects))
	hosts, err := m.hostsAfter(e, m.configs, true)
	if err != nil {
		return nil, err
	}
	e.lab, err = newLab(e.topology, e.nodes, hosts)
	return e, err
}

// hostsAfter are the nodes after kube-proxy has started by configurations, and has synced if that is asked.
func (m *migration) hostsAfter(e *exam, configs map[string]*kubeproxyconfig.KubeProxyConfiguration, synced bool) (
	map[string]*packetsim.Host, error,
) {
	hosts, err := e.hosts(m.cluster.hostOptions)
	if err != nil {
		return nil, err
	}
	for _, object := range m.cluster.nodes() {
		if config := configs[object.Name]; config != nil && hosts[object.Name] != nil {
			if err := m.start(hosts[object.Name], object, config, synced); err != nil {
				return nil, err
			}
		}
	}
	return hosts, nil
}

// start starts a kube-proxy on a host.
func (m *migration) start(host *packetsim.Host, node *corev1.Node, config *kubeproxyconfig.KubeProxyConfiguration, synced bool) error {
	own := config.DeepCopy()
	own.HostnameOverride = node.Name
	_, err := sim.Rules(sim.RulesInput{Objects: m.cluster.Objects, Configuration: own, Node: node, Host: host, StartOnly: !synced})
	if err != nil {
		return fmt.Errorf("what kube-proxy would write on %s: %w", node.Name, err)
	}
	return nil
}

// collect finds the errands of both sides, each once.
func (m *migration) collect() {
	type key struct {
		attempt oracle.Attempt
		act     act
		pick    string
	}
	seen := map[key]bool{}
	for i, e := range []*exam{m.before, m.after} {
		for _, p := range e.split(e.errands()) {
			k := key{p.attempt, p.act, p.pick.String()}
			if p.live == nil && seen[k] || p.live != nil && i > 0 {
				continue
			}
			seen[k] = true
			m.errands = append(m.errands, p)
		}
	}
}

// try makes an errand on one side.
func (m *migration) try(e *exam, l *lab, p errand) (wrong []oracle.Violation, ways []oracle.Way, err error) {
	l.seen = nil
	wrong, _, err = l.try(e.spec, p, false)
	return wrong, l.seen, err
}

// compare makes every errand on both sides.
func (m *migration) compare(ctx context.Context) error {
	m.collect()
	for _, e := range []*exam{m.before, m.after} {
		e.lab.noteCourses(m.errands)
	}
	m.was, m.is = map[int]fared{}, map[int]fared{}
	g := movedGroups{migration: m, by: map[string]*Moved{}}
	for i, p := range m.errands {
		if err := ctx.Err(); err != nil {
			return err
		}
		wrong, ways, err := m.try(m.before, m.before.lab, p)
		var broken []oracle.Violation
		var now []oracle.Way
		if err == nil {
			broken, now, err = m.try(m.after, m.after.lab, p)
		}
		var opaque *packetsim.OpaqueError
		if errors.As(err, &opaque) {
			m.before.report.leaveOut(fmt.Sprintf("which meet a rule of %s: %s", opaque.Host, opaque), 1)
			continue
		}
		if err != nil {
			return err
		}
		if len(ways) == 0 && len(now) == 0 {
			continue // the connection before the last act is not made on either side: another errand is about that
		}
		m.out.Ways++
		was, is := faredBy(ways), faredBy(now)
		m.was[i], m.is[i] = was, is
		switch {
		case was.fates.same(is.fates):
			m.out.Same++
		case len(ways) == 0 || len(now) == 0:
			// the connection before it is made on one side only, which its own errand tells
		default:
			err = g.add(&movedErrand{
				errand: p, was: was.fates, is: is.fates, wrong: wrong, broken: broken, unserved: was.served && !is.served,
			})
		}
		if err != nil {
			return err
		}
	}
	g.conclude()
	for _, e := range []*exam{m.before, m.after} {
		if err := e.doubt(m.errands); err != nil {
			return err
		}
	}
	m.takeReports()
	return nil
}

// takeReports takes over what both sides have not judged, and what they doubt.
func (m *migration) takeReports() {
	for _, e := range []*exam{m.before, m.after} {
		for _, u := range e.report.Unjudged {
			if !slices.ContainsFunc(m.out.Unjudged, func(o Unjudged) bool { return o.Why == u.Why }) {
				m.out.Unjudged = append(m.out.Unjudged, u)
			}
		}
		for i := range e.report.Doubts {
			d := &e.report.Doubts[i]
			if !slices.ContainsFunc(m.out.Doubts, func(o Doubt) bool { return o.Doubt == d.Doubt }) {
				m.out.Doubts = append(m.out.Doubts, *d)
			}
		}
	}
}

// allPackets judges all packets of the nodes that change, after the change and after the way back.
func (m *migration) allPackets(ctx context.Context) error {
	promised := sync.OnceValues(func() (map[string]*packetsim.Host, error) { return m.hostsAfter(m.before, m.configsBefore(), true) })
	last := &m.out.Moments[len(m.out.Moments)-1]
	var ranges []netip.Prefix
	for _, r := range manifest.Of[*networkingv1.ServiceCIDR](m.cluster.Objects) {
		ranges = append(ranges, oracle.Ranges(r.Spec.CIDRs)...)
	}
	for i := range m.out.Nodes {
		node := &m.out.Nodes[i]
		if node.Why != "" {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		n := explained.Node{
			Name: node.Name, Modes: [2]oracle.Mode{oracle.Mode(node.From), oracle.Mode(node.To)}, Ranges: ranges, Objects: m.cluster.Objects,
			Bare: func() (*packetsim.Host, error) { return m.bare[node.Name], nil }, Back: m.back[node.Name],
			Promised: func() (*packetsim.Host, error) {
				hosts, err := promised()
				return hosts[node.Name], err
			},
		}
		if devices := len(m.after.nodes[node.Name].Devices); m.target.MostDevices > 0 && devices > m.target.MostDevices {
			why := fmt.Sprintf("it has %d devices, and of more than %d this takes minutes (--all-packets compares them)", devices,
				m.target.MostDevices)
			m.out.AllPackets = append(m.out.AllPackets, *explained.NotCompared(node.Name, why))
			last.AllPackets = append(last.AllPackets, *explained.NotCompared(node.Name, why))
			continue
		}
		book := names.New(m.cluster.Objects)
		for side, e := range []*exam{m.before, m.after} {
			n.Sides[side] = allpackets.Side{Name: node.Name, Host: e.lab.Network.Host(node.Name).Host, Names: book}
		}
		config := m.configs[node.Name]
		if node.From == provenance.ModeNFTables {
			config = m.configsBefore()[node.Name]
		}
		n.FirstOnly = config == nil || len(config.NodePortAddresses) == 0
		n.Alone = func() (*packetsim.Host, error) { return m.alone(node.Name, config) }
		answer, back, err := explained.Judge(&n)
		if err != nil {
			return fmt.Errorf("all packets of %s: %w", node.Name, err)
		}
		m.out.AllPackets = append(m.out.AllPackets, *answer)
		last.AllPackets = append(last.AllPackets, *back)
	}
	return nil
}

// configsBefore are the configurations of the nodes that change, before that.
func (m *migration) configsBefore() map[string]*kubeproxyconfig.KubeProxyConfiguration {
	out := map[string]*kubeproxyconfig.KubeProxyConfiguration{}
	for name := range m.configs {
		out[name] = m.before.topology.Configs[name]
	}
	return out
}

// alone is a node that has no rules but those that kube-proxy writes by a configuration.
func (m *migration) alone(name string, config *kubeproxyconfig.KubeProxyConfiguration) (*packetsim.Host, error) {
	attached, taken := *m.after.nodes[name], *m.after.nodes[name].NodeSnapshot
	taken.IPTables, taken.NFTables, taken.IPSets = nil, nil, ""
	attached.NodeSnapshot = &taken
	host, err := newHost(&attached, m.cluster.hostOptions)
	if err != nil {
		return nil, err
	}
	for _, object := range m.cluster.nodes() {
		if object.Name == name && config != nil {
			return host, m.start(host, object, config, true)
		}
	}
	return host, nil
}
