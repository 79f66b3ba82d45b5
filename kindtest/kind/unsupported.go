package kind

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/manifest"
)

// Unsupported says why a scenario cannot run on a cluster; empty if it can.
func Unsupported(s *scenarios.Scenario, facts *Facts) string {
	c, err := scenarios.Resolve(s)
	if err != nil {
		return err.Error()
	}
	m, err := Map(facts, c)
	if err != nil {
		return err.Error()
	}
	v := visit{mapping: m, cluster: c, facts: facts, synced: true, halfOpen: map[string]bool{}}
	if len(s.During) > 0 {
		return "during: nobody can look into a sync of a real proxy"
	}
	for _, check := range []func() string{v.configs, func() string { return v.foreign(s) }, v.preloads, func() string { return v.objects(c.Objects[len(c.Nodes):]) }} {
		if why := check(); why != "" {
			return why
		}
	}
	for i := range s.Steps {
		if why := v.step(&s.Steps[i]); why != "" {
			return why
		}
	}
	return ""
}

// visit walks through the steps of a scenario.
type visit struct {
	mapping *Mapping
	cluster *scenarios.Cluster
	facts   *Facts
	// synced says that no change waits for a sync that the scenario holds back.
	synced bool
	// advanced says that a step has moved the clock.
	advanced bool
	// halfOpen are the TCP connections that are kept though their client may not hear of the server.
	halfOpen map[string]bool
}

func (v *visit) configs() string {
	for _, name := range slices.Sorted(maps.Keys(v.cluster.Configs)) {
		if why := v.config(name, v.cluster.Configs[name]); why != "" {
			return why
		}
	}
	return ""
}

func (v *visit) config(node string, c *kubeproxyconfig.KubeProxyConfiguration) string {
	_, err := v.mapping.Config(node, c, "")
	return errText(err)
}

// beyondFilter finds a table in which it matters whose rules packets meet first.
var beyondFilter = regexp.MustCompile(`(?m)^\*(raw|mangle|nat)$`)

// cutsOff finds policies that would cut a node off from the API server. INPUT may be closed, since a guard lets in what the cluster needs.
var cutsOff = regexp.MustCompile(`(?m)^:(OUTPUT) DROP`)

func (v *visit) preloads() string {
	if why := noRules(v.facts.Mode); why != "" && len(v.cluster.Preload) > 0 {
		return "preload: what is there before is rules of iptables, and " + why
	}
	for i := range v.cluster.Preload {
		save, tool := v.cluster.Preload[i].Save, v.cluster.Preload[i].Tool
		if tool.In(v.facts.Tool) != v.facts.Tool && beyondFilter.MatchString(save) {
			return "preload: packets meet the chains first that were made last, and those of a real node's kube-proxy are there already"
		}
		if found := cutsOff.FindStringSubmatch(save); found != nil {
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
		if text := misspelled(o); text != "" {
			return fmt.Sprintf("%s: an API server does not take %q, with leading zeros", o.Ref(), text)
		}
		if why := refusedByAPI(o); why != "" {
			return fmt.Sprintf("%s: %s", o.Ref(), why)
		}
		if _, err := v.mapping.Object(o); err != nil {
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
	switch {
	case len(s.During) > 0:
		return "during: nobody can look into a sync of a real proxy"
	case s.Hold != nil || s.Deliver != nil:
		return "hold: a real API server tells of every change at once"
	case s.SyncError != "":
		return "syncError: a real proxy does not say how a sync has ended"
	case s.Writes != nil:
		return "writes: what a real proxy gives to iptables-restore is not seen"
	case s.Advance != nil:
		v.advanced = true
	case v.advanced && s.Sync != nil && s.Sync.All && onlySync(s):
		return "advance: the clock of a real proxy, which syncs after a time, cannot be moved"
	case s.Node != nil && s.Node.Addresses != nil:
		return "node: the addresses of a real node are the kubelet's matter"
	case len(s.Start)+len(s.Stop) > 0:
		return v.pods(s.Start, s.Stop)
	case s.Fault != nil:
		return v.fault(s.Fault)
	case s.Connect != nil && s.Connect.As != "" && s.Connect.To.Proto == "tcp":
		v.halfOpen[s.Connect.As] = s.Connect.Expect.OneWay
	case s.Flow != nil && v.halfOpen[s.Flow.Of] && s.Flow.From == scenarios.SideServer && s.Flow.Expect.Stray:
		return "flow: a real server has nothing to send by before its client has heard of it"
	case s.Rules != nil && len(s.Rules.Counters) > 0:
		return "counters: rules of a real node count other packets as well"
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
	return v.timely(s)
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
	v.mapping.StopPods(ended)
	if err := errors.Join(v.cluster.StopPods(ended), v.cluster.StartPods(begun)); err != nil {
		return err.Error()
	}
	return errText(v.mapping.StartPods(v.cluster.Pods[len(v.cluster.Pods)-len(begun):]))
}

// pod says why a Pod object cannot be a real pod.
func (v *visit) pod(o manifest.Object, pod *corev1.Pod) string {
	switch {
	case len(pod.Status.PodIPs) > 0 && v.cluster.Node(v.mapping.Owner(parse(pod.Status.PodIPs[0].IP))) != nil:
		return fmt.Sprintf("%s: a pod in the network of its node would listen beside those that the cluster needs", o.Ref())
	case pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded:
		return fmt.Sprintf("%s: the phase of a real pod is the kubelet's matter", o.Ref())
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
	for name, config := range v.cluster.Configs {
		s.Configure.Over(config)
		if why := v.config(name, config); why != "" {
			return why
		}
	}
	return ""
}

// timely says why a look cannot be had: a real proxy syncs by itself, soon after a change.
func (v *visit) timely(s *scenarios.Step) string {
	switch {
	case s.Connect != nil || s.Cases != nil || s.Flow != nil || s.Send != nil || s.Rules != nil || s.Health != nil || s.Healthz != nil || s.Conntrack != nil:
		if !v.synced {
			return "sync: a real proxy does not wait with a change until it is told to sync"
		}
		return v.clients(s)
	case s.Sync != nil && !s.Sync.All && (s.Apply != nil || s.Delete != nil || s.Node != nil):
		v.synced = false
	case s.Restart != nil && (s.Sync == nil || s.Sync.All), s.Apply != nil, s.Delete != nil, s.Node != nil, s.Sync != nil && s.Sync.All:
		v.synced = true
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
var iptablesTool = regexp.MustCompile(`^ip6?tables(-|$)`)

// flushable says that a chain is the proxy's, or one that the scenario itself has made; FORWARD of a node has no rules of the machine's.
func (v *visit) flushable(chain string) bool {
	return strings.HasPrefix(chain, "KUBE-") || chain == "FORWARD" || slices.ContainsFunc(v.cluster.Preload, func(p scenarios.Preload) bool {
		return strings.Contains("\n"+p.Save, "\n:"+chain+" - ")
	})
}

func (v *visit) fault(f *scenarios.Fault) string {
	switch {
	case len(f.Flush) > 0:
		return "flush: Docker's own rules are in the tables of the nodes, and a real proxy repairs its own when it likes"
	case f.RestoreFails > 0 || f.SaveFails > 0 || f.LockHeld > 0 || f.RestoreTakes != nil || f.ConntrackFails > 0 || f.Heal:
		return "fault: the tools of a real node cannot be made to fail"
	}
	for _, command := range f.Run {
		words := strings.Fields(command)
		if why := noRules(v.facts.Mode); why != "" && len(words) > 0 && iptablesTool.MatchString(words[0]) {
			return fmt.Sprintf("run: %q changes rules of iptables, and %s", command, why)
		}
		if slices.Contains(words, "-F") && !slices.ContainsFunc(words, v.flushable) {
			return fmt.Sprintf("run: %q would flush rules that are not the proxy's", command)
		}
		if _, err := v.mapping.toText(command); err != nil {
			return "run: " + err.Error()
		}
	}
	return ""
}
