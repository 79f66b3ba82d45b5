package kind

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// Session is a scenario on the cluster.
type Session struct {
	backend *Backend
	cluster *scenarios.Cluster
	mapping *Mapping
	writer  *writer
	links   *links
	sockets *sockets
	saves   *saves
	knows   *knowledge
	kernels *kernels
	pods    *pods
	memory  *memory
	still   *still
	failing *failing
	flows   map[string]*flow
	counted map[string]map[string]int // what the accounting objects had at the start, by node
	undo    []func(context.Context) error
	watches atomic.Int64 // so far
	sent    uint32       // raw packets so far
	// local are, by node, the devices that stand for those that detectLocal names.
	local map[string]string
	// Whether anything comes back, as far as that is foretold.
	outlooks      map[scenarios.Attempt]Outlook
	followOutlook Outlook
	// anHour says that so much time has passed since the last sync that proxies write everything at the next one.
	anHour bool
	// vanished are the addresses of pods that have gone.
	vanished map[netip.Addr]place
}

var (
	_ scenarios.TableSession  = (*Session)(nil)
	_ scenarios.BlindSession  = (*Session)(nil)
	_ scenarios.PromptSession = (*Session)(nil)
)

func newSession(b *Backend, c *scenarios.Cluster, m *Mapping) *Session {
	return &Session{
		backend: b, cluster: c, mapping: m, writer: &writer{client: b.client, labels: b.labels}, links: newLinks(b), sockets: newSockets(b, c, m), saves: newSaves(m),
		knows: newKnowledge(), kernels: newKernels(b, c, m), pods: newPods(b, m), memory: newMemory(b), still: newStill(b), failing: newFailing(b, c),
		flows: map[string]*flow{}, counted: map[string]map[string]int{}, vanished: map[netip.Addr]place{}, outlooks: map[scenarios.Attempt]Outlook{},
	}
}

// Mapping says what of the cluster stands for what of the scenario.
func (s *Session) Mapping() *Mapping { return s.mapping }

// Cluster is the scenario's cluster as it is now.
func (s *Session) Cluster() *scenarios.Cluster { return s.cluster }

// Objects are those of the scenario that the API server has now, as the scenario has them.
func (s *Session) Objects() []manifest.Object { return s.knows.all() }

func (s *Session) relay(machine string) relay { return s.backend.relays[machine] }

// onUndo remembers what is to be put back at the end; what was done last is put back first.
func (s *Session) onUndo(f func(context.Context) error) { s.undo = append(s.undo, f) }

func (s *Session) start(ctx context.Context) error {
	s.onUndo(s.pods.removeAll)
	s.onUndo(s.links.take)
	s.onUndo(s.forgetAll)
	s.onUndo(s.sockets.close)
	s.onUndo(s.awaitForgotten)
	s.onUndo(func(ctx context.Context) error {
		return inParallel(func() error { return s.kernels.putBack(ctx) }, func() error { return s.writer.removeAll(ctx) })
	})
	s.onUndo(s.failing.end)
	s.onUndo(s.still.end)
	err := s.pods.start(ctx, s.cluster.Pods)
	if err != nil {
		return err
	}
	if s.local, err = s.localDevices(ctx); err != nil {
		return err
	}
	if err := inParallel(
		func() error {
			if err := s.links.lay(ctx, s.mapping, s.cluster); err != nil {
				return err
			}
			if err := s.layShared(ctx); err != nil {
				return err
			}
			return s.sockets.open(ctx)
		},
		func() error { return s.prepareProxies(ctx) },
	); err != nil {
		return err
	}
	return inParallel(
		func() error { return s.Apply(ctx, s.cluster.Objects) },
		func() error { return s.countBefore(ctx) },
	)
}

// prepareProxies gives the nodes their settings and their rules from before, and the proxies their configurations.
func (s *Session) prepareProxies(ctx context.Context) error {
	if err := s.backend.use(ctx, s.used()); err != nil {
		return err
	}
	changed, err := s.kernels.prepare(ctx)
	if err != nil {
		return err
	}
	configs, err := s.configs(s.names())
	if err != nil {
		return err
	}
	first := s.backend.firsts(configs)
	begun := append(s.backend.others(configs), first...)
	if err := s.kernels.unroute(ctx, begun); err != nil {
		return err
	}
	if err := s.configure(ctx, configs, slices.Compact(slices.Sorted(slices.Values(append(changed, first...))))); err != nil {
		return err
	}
	return s.kernels.unguard(ctx, begun)
}

// names are the scenario's names of its nodes.
func (s *Session) names() []string {
	var out []string
	for i := range s.cluster.Nodes {
		out = append(out, s.cluster.Nodes[i].Name)
	}
	return out
}

// used are the nodes that the scenario has, by their names in the cluster.
func (s *Session) used() []string { return s.realNodes(s.names()) }

// localDevices are, by node, the device that stands for the one that detectLocal names, where that is a pod's.
func (s *Session) localDevices(ctx context.Context) (map[string]string, error) {
	out := map[string]string{}
	for name, config := range s.cluster.Configs {
		for i := range s.cluster.Pods {
			pod := &s.cluster.Pods[i]
			if config.DetectLocal.BridgeInterface != fmt.Sprintf("veth%d", pod.Place) {
				continue
			}
			to, ok := s.mapping.Host(pod.Name)
			if !ok {
				continue
			}
			found, err := s.deviceTo(ctx, to.Machine, to.Addresses[0])
			if err != nil {
				return nil, err
			}
			out[name] = found
		}
	}
	return out, nil
}

// deviceTo is a node's device to a pod.
func (s *Session) deviceTo(ctx context.Context, node string, pod netip.Addr) (string, error) {
	text, err := run(ctx, s.relay(node), "", "ip", "-o", "route", "get", pod.String())
	if err != nil {
		return "", err
	}
	words := strings.Fields(text)
	if i := slices.Index(words, "dev"); i >= 0 && i+1 < len(words) {
		return words[i+1], nil
	}
	return "", fmt.Errorf("%s: no device to %s in %q", node, pod, text)
}

// configs are the configurations of nodes, by their names in the cluster.
func (s *Session) configs(nodes []string) (map[string]*kubeproxyconfig.KubeProxyConfiguration, error) {
	byNode := map[string]*kubeproxyconfig.KubeProxyConfiguration{}
	for _, name := range nodes {
		config, err := s.mapping.Config(name, s.cluster.Configs[name], s.local[name])
		if err != nil {
			return nil, err
		}
		byNode[s.mapping.Node(name)] = config
	}
	return byNode, nil
}

// configure gives proxies their configurations. Those that have them already are left alone, but for the nodes of the cluster whose proxies are to
// begin anew in any case.
func (s *Session) configure(ctx context.Context, byNode map[string]*kubeproxyconfig.KubeProxyConfiguration, anew []string) error {
	begun := s.backend.others(byNode)
	if err := s.backend.configure(ctx, byNode); err != nil {
		return err
	}
	anew = slices.DeleteFunc(slices.Clone(anew), func(name string) bool { return slices.Contains(begun, name) })
	if len(anew) == 0 {
		return nil
	}
	return s.backend.hands.RestartProxy(ctx, anew)
}

// layShared gives the pods of the pool that stand for several their further addresses, and their nodes the routes to them.
func (s *Session) layShared(ctx context.Context) error {
	for i := range s.cluster.Pods {
		pod := &s.cluster.Pods[i]
		to, ok := s.mapping.Host(pod.Name)
		if !ok || !s.mapping.added(pod.Name) {
			continue
		}
		if err := s.addToPod(ctx, to); err != nil {
			return err
		}
	}
	return nil
}

// Apply writes objects. Labels of Node objects are given to the nodes that they stand for.
func (s *Session) Apply(ctx context.Context, objects []manifest.Object) error {
	for _, o := range objects {
		if node, ok := o.Object.(*corev1.Node); ok {
			if err := s.label(ctx, node); err != nil {
				return err
			}
			continue
		}
		s.note(o)
	}
	write, err := s.written(objects)
	if err != nil {
		return err
	}
	if err := s.sockets.serve(ctx); err != nil {
		return err
	}
	if err := s.leadNowhere(ctx, s.knows.addresses(), ""); err != nil {
		return err
	}
	if err := s.pods.follow(ctx, objects); err != nil {
		return err
	}
	return s.writer.write(ctx, write)
}

// written are the objects that are written to the API server as they are: not those that its own controllers make. A service whose slices the
// scenario writes selects nothing there.
func (s *Session) written(objects []manifest.Object) ([]runtime.Object, error) {
	var out []runtime.Object
	for _, o := range objects {
		switch o.Object.(type) {
		case *corev1.Node, *corev1.Pod:
			continue
		}
		if o.Derived {
			continue
		}
		mapped, err := s.mapping.Object(o)
		if err != nil {
			return nil, err
		}
		if service, ok := mapped.(*corev1.Service); ok && len(s.knows.made(service)) == 0 {
			service.Spec.Selector = nil
		}
		out = append(out, mapped)
	}
	return out, nil
}

// note remembers what an object says.
func (s *Session) note(o manifest.Object) {
	s.knows.add(o)
	switch object := o.Object.(type) {
	case *corev1.Service:
		s.saves.noteService(object)
	case *discoveryv1.EndpointSlice:
		s.saves.noteSlice(object)
		s.sockets.noteSlice(object)
	}
}

// leadNowhere makes the addresses of the scenario that nobody has end outside of the cluster, and come from there by a node; empty: the first.
func (s *Session) leadNowhere(ctx context.Context, addresses []netip.Addr, via string) error {
	if via == "" {
		via = s.cluster.Nodes[0].Name
	}
	var nobody []netip.Addr
	for _, a := range addresses {
		if a.IsGlobalUnicast() && s.mapping.Owner(a) == "" {
			nobody = append(nobody, s.mapping.To(a))
		}
	}
	return s.links.leadNowhere(ctx, nobody, s.mapping.Node(via))
}

// label gives a node the labels of its Node object.
func (s *Session) label(ctx context.Context, node *corev1.Node) error {
	name := s.mapping.Node(node.Name)
	want := map[string]*string{corev1.LabelTopologyZone: nil}
	for key := range s.writer.labels[name] {
		want[key] = nil
	}
	for key, value := range node.Labels {
		if key != corev1.LabelHostname {
			want[key] = &value
		}
	}
	before, changed, err := s.writer.label(ctx, name, want)
	if err != nil || !changed {
		return err
	}
	zone := want[corev1.LabelTopologyZone]
	if zone != nil && before == *zone || zone == nil && before == "" {
		return nil
	}
	return s.still.zone(ctx, name, before, zone)
}

// Delete deletes objects.
func (s *Session) Delete(ctx context.Context, refs []manifest.Ref) error {
	var written, pods []manifest.Ref
	for _, ref := range refs {
		switch {
		case ref.Kind == "Pod":
			pods = append(pods, ref)
		case !s.knows.objects[ref].Derived:
			written = append(written, ref)
		}
		s.knows.remove(ref)
	}
	if err := s.pods.remove(ctx, pods); err != nil {
		return err
	}
	return s.writer.remove(ctx, written)
}

// Restart ends the proxies of nodes, and gives those another configuration that the scenario's cluster now has one for.
func (s *Session) Restart(ctx context.Context, nodes []string) error {
	var err error
	if s.local, err = s.localDevices(ctx); err != nil {
		return err
	}
	anew := s.realNodes(nodes)
	configs, err := s.configs(nodes)
	if err != nil {
		return err
	}
	if err := s.still.goOn(ctx, anew); err != nil {
		return err
	}
	s.onUndo(func(context.Context) error { // what another configuration has left behind is the next scenario's to clear away
		for node := range configs {
			delete(s.backend.configured, node)
		}
		return nil
	})
	return s.configure(ctx, configs, anew)
}

// SetAddresses is refused: the addresses of a node are the kubelet's matter.
func (*Session) SetAddresses(context.Context, string, []netip.Addr) error {
	return errors.New("the addresses of a real node cannot be changed")
}

// Deliver is refused.
func (*Session) Deliver(context.Context, scenarios.Delivery) error {
	return errors.New("a real API server tells of every change at once")
}

// Writes is refused.
func (*Session) Writes(context.Context, string) (scenarios.Written, error) {
	return scenarios.Written{}, errors.New("what a real proxy gives to iptables-restore is not seen")
}

// During is refused, but for its end.
func (*Session) During(_ context.Context, watch func(context.Context, scenarios.Point)) error {
	if watch == nil {
		return nil
	}
	return errors.New("nobody can look into a sync of a real proxy")
}

// Close takes away all that the scenario has made, also after a context has ended. What fails keeps nothing else from being put back.
func (s *Session) Close() error {
	var errs []error
	for _, f := range slices.Backward(s.undo) {
		ctx, cancel := context.WithTimeout(context.Background(), closing)
		errs = append(errs, f(ctx))
		cancel()
	}
	s.undo = nil
	return errors.Join(errs...)
}

// Send gives one packet to a node, and forgets it again.
func (s *Session) Send(ctx context.Context, node string, in packetsim.Input) (*scenarios.Observed, error) {
	return s.send(ctx, node, in)
}

// Advance makes what kernels remember of the scenario older. The clock of the proxies stands still; what they do once in
// an hour the next sync has them do.
func (s *Session) Advance(ctx context.Context, d time.Duration) error {
	s.anHour = s.anHour || d >= fullSyncPeriod
	return errors.Join(s.memory.advance(ctx, d), s.forgetOldFlows(ctx, d))
}

// sorted are the keys of a map in order.
func sorted[K ~string, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
