package scenarios

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios/explain/provenance"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// Mode is a mode of kube-proxy, as its configuration names it.
type Mode string

// The modes that scenarios run in.
const (
	ModeIPTables = Mode(manifest.ModeIPTables)
	ModeNFTables = Mode(manifest.ModeNFTables)
)

// ParseModes reads the modes to run scenarios in: iptables, nftables or both. The empty word is nil: what each file names, or else
// iptables.
func ParseModes(word string) ([]Mode, error) {
	switch word {
	case "":
		return nil, nil
	case string(ModeIPTables), string(ModeNFTables):
		return []Mode{Mode(word)}, nil
	case "both":
		return []Mode{ModeIPTables, ModeNFTables}, nil
	}
	return nil, fmt.Errorf("unknown word %q (want iptables, nftables or both)", word)
}

// ofOneMode begins why a scenario does not run in a mode.
const ofOneMode = "is of mode "

// play is one run of a scenario: in a mode, with a dialect of iptables.
type play struct {
	// mode is the one of every node, empty for a scenario whose nodes have several, or change theirs.
	mode Mode
	// dialect is the one of the tools of iptables on the nodes.
	dialect netfilter.Dialect
	// free says that the scenario names no mode: what of it is about the rules of another mode is passed over.
	free bool
	// lone says that no rule of iptables is on the nodes, so that their dialect is no matter.
	lone bool
}

// of is the cluster that a play begins with.
func (p play) of(c *Cluster) *Cluster {
	own := c.With(p.dialect)
	if p.free {
		return own.In(p.mode)
	}
	return own
}

// String is the play in a few words.
func (p play) String() string { return toolsIn(p.mode.other(), p.tools()) }

// other is the mode if it is another one than iptables, which reports need not name.
func (m Mode) other() Mode {
	if m == ModeIPTables {
		return ""
	}
	return m
}

// toolsIn names a mode and the tools of iptables on the nodes, as reports have them.
func toolsIn(mode Mode, dialect netfilter.Dialect) string {
	switch {
	case dialect == "":
		return string(mode)
	case mode == "":
		return "iptables-" + string(dialect)
	}
	return string(mode) + " beside iptables-" + string(dialect)
}

// other says that the scenario runs in another mode than the one that it was written for.
func (p play) other() bool { return p.free && p.mode == ModeNFTables }

// tools names what a play runs with, for checks.
func (p play) tools() netfilter.Dialect {
	if p.lone {
		return ""
	}
	return p.dialect
}

// named are the modes that a scenario's configurations name, each once, in order of their names; whole says that every node has the same
// one from the start to the end.
func (s *Scenario) namedModes(c *Cluster) (named []Mode, whole bool) {
	add := func(k *KubeProxy) {
		var config kubeproxyconfig.KubeProxyConfiguration
		if k.Over(&config); config.Mode != "" {
			named = append(named, Mode(config.Mode))
		}
	}
	add(&s.KubeProxy)
	for i := range s.Topology.Nodes {
		add(&s.Topology.Nodes[i].KubeProxy)
	}
	for i := range s.Steps {
		if s.Steps[i].Configure != nil {
			add(s.Steps[i].Configure)
		}
	}
	all := slices.Clone(named)
	for _, config := range c.Configs {
		all = append(all, Mode(config.Mode))
	}
	slices.Sort(all)
	slices.Sort(named)
	return slices.Compact(named), len(slices.Compact(all)) == 1
}

// plays are the runs of a scenario with some dialects, or why there are none. It runs in the wanted modes, nil: in the one that it names,
// or else in mode iptables.
func (s *Scenario) plays(c *Cluster, wanted []Mode, dialects []netfilter.Dialect) (plays []play, why string) {
	named, whole := s.namedModes(c)
	modes := wanted
	switch {
	case len(named) > 0 && !whole:
		modes = []Mode{""}
	case len(named) > 0 && wanted != nil && !slices.Contains(wanted, named[0]):
		return nil, namesOnly(named[0])
	case len(named) > 0:
		modes = named
	case wanted == nil:
		modes = []Mode{ModeIPTables}
	}
	for _, mode := range modes {
		p := play{mode: mode, free: len(named) == 0}
		if p.other() {
			if why := s.ofIPTables(); why != "" && len(modes) > 1 {
				continue
			} else if why != "" {
				return nil, why
			}
		}
		p.lone = mode == ModeNFTables && !s.writesIPTables()
		for _, dialect := range dialects {
			if p.dialect = dialect; p.lone && len(plays) > 0 && plays[len(plays)-1].lone {
				break
			}
			plays = append(plays, p)
		}
	}
	return plays, ""
}

// namesOnly says why a scenario does not run in other modes than the one that its configurations name.
func namesOnly(mode Mode) string { return ofOneMode + string(mode) + " alone, as its kubeProxy says" }

// NotFor says why a scenario does not run in a mode, wherever it is run: its configurations name another mode, or it is about rules of mode
// iptables alone. It is empty for one that runs in the mode, and for one whose nodes have several modes.
func (s *Scenario) NotFor(mode Mode, c *Cluster) string {
	named, whole := s.namedModes(c)
	switch {
	case len(named) == 0 && mode == ModeNFTables:
		return s.ofIPTables()
	case len(named) > 0 && whole && named[0] != mode:
		return namesOnly(named[0])
	}
	return ""
}

// writesIPTables says whether rules of iptables come to nodes that are not kube-proxy's.
func (s *Scenario) writesIPTables() bool {
	return len(s.IPTables.Preload) > 0 || slices.ContainsFunc(s.Steps, func(step Step) bool {
		return step.Fault != nil && len(step.Fault.Run)+len(step.Fault.Flush) > 0
	})
}

// ofIPTables says why a scenario that names no mode can run in mode iptables alone; empty if it can in others.
func (s *Scenario) ofIPTables() string {
	for i := range s.Steps {
		f := s.Steps[i].Fault
		if f == nil {
			continue
		}
		for _, line := range f.Run {
			if namesKubeChain(line) {
				return fmt.Sprintf(ofOneMode+"iptables alone: %s: %q is about kube-proxy's own chains", f.Pos, line)
			}
		}
		if len(f.Commits) > 0 {
			return fmt.Sprintf(ofOneMode+"iptables alone: %s: a restore that commits some of its tables", f.Pos)
		}
		if f.LockHeld > 0 {
			return fmt.Sprintf(ofOneMode+"iptables alone: %s: only the tools of iptables-legacy have a lock", f.Pos)
		}
	}
	return ""
}

// In is the cluster with kube-proxy in one mode on every node.
func (c *Cluster) In(mode Mode) *Cluster {
	out := *c
	out.mode = mode
	out.Configs = map[string]*kubeproxyconfig.KubeProxyConfiguration{}
	for name, config := range c.Configs {
		out.Configs[name] = manifest.InMode(config, kubeproxyconfig.ProxyMode(mode))
	}
	return &out
}

// Configure changes the configuration that a node's kube-proxy has when it starts the next time. In a cluster of one mode (In) it keeps
// that.
func (c *Cluster) Configure(node string, k *KubeProxy) {
	config := c.Configs[node]
	if c.mode == "" {
		k.Over(config)
		return
	}
	had := manifest.InMode(config, kubeproxyconfig.ProxyMode(ModeIPTables))
	had.NFTables = kubeproxyconfig.KubeProxyNFTablesConfiguration{}
	k.Over(had)
	c.Configs[node] = manifest.InMode(had, kubeproxyconfig.ProxyMode(c.mode))
}

// Mode is the mode of every node now, empty if they have several.
func (c *Cluster) Mode() Mode {
	var mode Mode
	for _, config := range c.Configs {
		own := Mode(cmp.Or(config.Mode, manifest.ModeIPTables))
		if mode != "" && own != mode {
			return ""
		}
		mode = own
	}
	return mode
}

// namesKubeChain says whether a command line names a chain of kube-proxy's or the kubelet's.
func namesKubeChain(line string) bool {
	return slices.ContainsFunc(strings.Fields(line), func(word string) bool { return provenance.WriterOf(word).IsKubernetes() })
}
