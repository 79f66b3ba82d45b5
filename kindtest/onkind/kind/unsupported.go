package kind

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"

	"github.com/chainwalk/chainwalk/internal/lazyregexp"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
	"github.com/chainwalk/chainwalk/scenarios/format/mistake"
	"github.com/chainwalk/chainwalk/scenarios/world/controller"
)

// unsupported says why a scenario cannot run on a cluster; empty if it can.
func unsupported(s *scenarios.Scenario, facts *Facts) string {
	c, err := scenarios.ResolveWith(s, controller.New)
	if err != nil {
		return err.Error()
	}
	m, err := Map(facts, c)
	if err != nil {
		return err.Error()
	}
	v := visit{mapping: m, cluster: c, facts: facts, halfOpen: map[string]bool{}}
	if slices.Contains(s.Mistakes, string(mistake.NodePortTaken)) {
		return "an API server gives a node port to one service at a time"
	}
	for _, check := range []func() string{func() string { return v.within(s.During) }, v.configs, func() string { return v.foreign(s) },
		v.preloads, func() string { return v.objects(c.Objects[len(c.Nodes):]) }} {
		if why := check(); why != "" {
			return why
		}
	}
	looks, blind := 0, ""
	for i := range s.Steps {
		if why := v.step(&s.Steps[i]); why != "" {
			return why
		}
		if why := overlooked(&s.Steps[i], facts.Mode); why != "" {
			blind = why
		} else if s.Steps[i].Looks() {
			looks++
		}
	}
	if looks == 0 {
		return blind
	}
	return ""
}

// within says why points within syncs cannot be looked at. Those that syncs of the proxies' mode do not come to are passed over.
func (v *visit) within(points []scenarios.During) string {
	for i := range points {
		if of := points[i].Command().Mode(); of == "" || of == scenarios.Mode(v.facts.Mode) {
			return "during: the test cannot look into a sync of a real proxy"
		}
	}
	return ""
}

// visit walks through the steps of a scenario.
type visit struct {
	mapping *Mapping
	cluster *scenarios.Cluster
	facts   *Facts
	// advanced says that a step has moved the clock, by less than the time after which a sync is another one.
	advanced bool
	// late says that a change waits for a sync that the scenario holds back.
	late bool
	// fails says that a fault has made syncs fail.
	fails bool
	// halfOpen are the TCP connections that are kept though their client may not hear of the server.
	halfOpen map[string]bool
}

func (v *visit) configs() string {
	if v.cluster.Mode() == "" {
		return "kubeProxy: the proxies of a cluster have one mode"
	}
	for _, name := range slices.Sorted(maps.Keys(v.cluster.Configs)) {
		if why := v.config(name, v.cluster.Configs[name]); why != "" {
			return why
		}
	}
	return ""
}

func (v *visit) config(node string, c *kubeproxyconfig.KubeProxyConfiguration) string {
	_, err := v.mapping.config(node, c, "")
	return errText(err)
}

// beyondFilter finds a table in which it matters whose rules packets meet first.
var beyondFilter = lazyregexp.New(`(?m)^\*(raw|mangle|nat)$`)

// cutsOff finds policies that would cut a node off from the API server. INPUT may be closed, since a guard lets in what the cluster needs.
var cutsOff = lazyregexp.New(`(?m)^:(OUTPUT) DROP`)

func (v *visit) preloads() string {
	for i := range v.cluster.Preload {
		save, tool := v.cluster.Preload[i].Save, v.cluster.Preload[i].Dialect
		if v.cluster.Preload[i].NFT != "" {
			return "preload: rules for nft are not put on real nodes"
		}
		if why := noRules(v.facts.Mode); why != "" && v.cluster.Mode() != scenarios.ModeNFTables {
			return "preload: what is there before is rules of iptables, and " + why
		}
		if tool.In(v.facts.Dialect) != v.facts.Dialect && beyondFilter().MatchString(save) {
			return "preload: packets meet the chains first that were made last, and those of a real node's kube-proxy are there already"
		}
		if found := cutsOff().FindStringSubmatch(save); found != nil {
			return fmt.Sprintf("preload: an %s policy of DROP cuts a real node off from the API server", found[1])
		}
		if _, err := v.mapping.toText(save); err != nil {
			return "preload: " + err.Error()
		}
	}
	return ""
}

func (v *visit) objects(objects []manifest.Object) string {
	for _, o := range objects {
		switch object := o.Object.(type) {
		case *corev1.Node:
			continue
		case *corev1.Pod:
			if why := v.pod(o, object); why != "" {
				return why
			}
			continue
		}
		if text := misspelled(o); text != "" && !v.facts.OldSpellings {
			return fmt.Sprintf("%s: an API server does not take %q, with leading zeros", o.Ref(), text)
		}
		if why := refusedByAPI(o, v.facts.OldSpellings); why != "" {
			return fmt.Sprintf("%s: %s", o.Ref(), why)
		}
		if _, err := v.mapping.object(o); err != nil {
			return err.Error()
		}
		if name := o.Meta().GetNamespace() + "/" + o.Meta().GetName(); slices.Contains(v.facts.TakenServices, name) {
			return fmt.Sprintf("%s is one of the cluster's own", o.Ref())
		}
	}
	return ""
}

// step says why a step cannot be made.
func (v *visit) step(s *scenarios.Step) string {
	defer func() {
		if s.Sync != nil {
			v.late = !s.Sync.All
		}
	}()
	switch {
	case v.within(s.During) != "":
		return v.within(s.During)
	case s.Needs() == scenarios.NeedOrder:
		return "deliver: a real API server tells of every change, in order"
	case v.fails && s.Advance != nil:
		return "advance: the clock of a real proxy, which says after a time that its syncs fail, cannot be moved"
	case s.SyncError != "" && !v.fails:
		return "syncError: a real proxy does not say how a sync has ended"
	case s.Advance != nil:
		v.advanced = v.advanced || s.Advance.Duration < fullSyncPeriod
	case v.advanced && !v.late && s.Sync != nil && s.Sync.All && onlySync(s):
		return "advance: the clock of a real proxy, which syncs after a time, cannot be moved"
	case s.Node != nil && s.Node.Addresses != nil:
		return "node: the kubelet sets the addresses of a real node"
	case len(s.Start)+len(s.Stop) > 0:
		return v.pods(s.Start, s.Stop)
	case s.Fault != nil:
		return v.fault(s.Fault)
	case s.Connect != nil && s.Connect.As != "" && s.Connect.To.Proto == "tcp":
		v.halfOpen[s.Connect.As] = s.Connect.Expect.OneWay
	case s.Flow != nil && v.halfOpen[s.Flow.Of] && s.Flow.From == scenarios.SideServer && s.Flow.Expect.Stray:
		return "flow: a real server has nothing to send by before its client has heard of it"
	case s.Flow != nil && v.strayData(s.Flow):
		return "flow: a real client resets a connection that it does not know"
	case (s.Health != nil || s.Healthz != nil) && v.late:
		return "healthz: a proxy that is stopped until a sync says nothing"
	case s.Apply != nil:
		if why := cmp.Or(v.objects(s.Apply), v.pods(v.cluster.Begun(s), nil)); why != "" {
			return why
		}
	case s.Delete != nil:
		if why := v.pods(nil, v.cluster.Ended(s)); why != "" {
			return why
		}
	case s.Configure != nil:
		if why := v.reconfigured(s); why != "" {
			return why
		}
	}
	return v.clients(s)
}

// strayData reports whether data of a TCP connection's server comes to a client that does not know it as that of the connection.
func (v *visit) strayData(p *scenarios.FlowPacket) bool {
	_, ofTCP := v.halfOpen[p.Of]
	data := p.Send == "" || p.Send == scenarios.PacketData
	return ofTCP && data && p.From == scenarios.SideServer && p.Expect.Stray
}

// onlySync reports whether a step does nothing but to sync.
func onlySync(s *scenarios.Step) bool {
	bare := scenarios.Step{Located: s.Located, Name: s.Name, Sync: s.Sync}
	return reflect.DeepEqual(*s, bare)
}

// pods starts and stops pods in the mapping.
func (v *visit) pods(begun []scenarios.Pod, ended []string) string {
	for _, name := range ended {
		if v.mapping.Shared(name) {
			return fmt.Sprintf("stop %s: the pool has too few pods on its node for one of its own", name)
		}
	}
	v.mapping.stopPods(ended)
	if err := errors.Join(v.cluster.StopPods(ended), v.cluster.StartPods(begun)); err != nil {
		return err.Error()
	}
	return errText(v.mapping.startPods(v.cluster.Pods[len(v.cluster.Pods)-len(begun):]))
}

// pod says why a Pod object cannot be a real pod.
func (v *visit) pod(o manifest.Object, pod *corev1.Pod) string {
	switch {
	case len(pod.Status.PodIPs) > 0 && v.cluster.Node(v.mapping.Owner(parse(pod.Status.PodIPs[0].IP))) != nil:
		return fmt.Sprintf("%s: a pod in the network of its node would listen beside the programs that the cluster needs", o.Ref())
	case pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded:
		return fmt.Sprintf("%s: the kubelet sets the phase of a real pod", o.Ref())
	case len(agentOf(o.Ref())) > maxAgent:
		return fmt.Sprintf("%s: its namespace and name are longer than the name of an agent can be (%d)", o.Ref(), maxAgent)
	}
	return ""
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// reconfigured tries the configurations that nodes have after a restart.
func (v *visit) reconfigured(s *scenarios.Step) string {
	var given kubeproxyconfig.KubeProxyConfiguration
	if s.Configure.Over(&given); given.Mode != "" && string(given.Mode) != v.facts.Mode {
		return fmt.Sprintf("kubeProxy: the proxies of the cluster stay in mode %s", v.facts.Mode)
	}
	for name, config := range v.cluster.Configs {
		s.Configure.Over(config)
		if why := v.config(name, config); why != "" {
			return why
		}
	}
	return ""
}

// clients says which client would reach a pod without its node, since both are one pod of the pool.
func (v *visit) clients(s *scenarios.Step) string {
	all := slices.Clone(s.Cases)
	if s.Connect != nil {
		all = append(all, *s.Connect)
	}
	for i := range all {
		name := all[i].From
		if v.mapping.Shared(name) || v.mapping.Shared(v.mapping.Owner(parse(name))) {
			return fmt.Sprintf("%s: the pool has too few pods on a node for a client of its own", name)
		}
	}
	return ""
}

// iptablesTool is one of iptables, of whichever family and variant.
var iptablesTool = lazyregexp.New(`^ip6?tables(-|$)`)

func (v *visit) fault(f *scenarios.Fault) string {
	switch why := noRules(v.facts.Mode); {
	case f.ConntrackFails > 0:
		return "fault: proxies ask the kernel for conntrack entries without a tool that could fail"
	case f.SaveFails > 0 || f.LockHeld > 0 || f.RestoreTakes != nil:
		return "fault: of the tools of a real node only iptables-restore can be made to fail"
	case f.RestoreFails > 0 && v.cluster.IPFamily == scenarios.FamilyDual && f.Family == "":
		return "restoreFails: the proxiers of both families sync apart, and the failures of each are not counted"
	case why != "" && (len(f.Flush) > 0 || f.RestoreFails > 0):
		return "fault: it is about rules of iptables, and " + why
	}
	v.fails = v.fails || f.RestoreFails > 0
	for _, command := range f.Run {
		if why := noRules(v.facts.Mode); why != "" && runsIPTables(command) {
			return fmt.Sprintf("run: %q changes rules of iptables, and %s", command, why)
		}
		if _, err := v.mapping.toText(command); err != nil {
			return "run: " + err.Error()
		}
	}
	return ""
}
