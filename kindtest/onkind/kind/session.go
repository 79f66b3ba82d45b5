package kind

import (
	"context"
	"errors"
	"maps"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// Session is a scenario on the cluster.
type Session struct {
	*stage
	*places
	*proxies
	*proxyStatus
	*traffic
	*keptFlows
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
	// anHour says that so much time has passed since the last sync that proxies write everything at the next one.
	anHour bool
}

var (
	_ scenarios.TableSession  = (*Session)(nil)
	_ scenarios.BlindSession  = (*Session)(nil)
	_ scenarios.PromptSession = (*Session)(nil)
)

func newSession(b *Backend, c *scenarios.Cluster, m *Mapping) *Session {
	at := &stage{backend: b, cluster: c, mapping: m}
	s := &Session{
		stage: at, keptFlows: &keptFlows{stage: at, flows: map[string]*flow{}},
		writer: &writer{client: b.client, labels: b.labels}, links: newLinks(b), sockets: newSockets(b, c, m), saves: newSaves(m),
		knows:   newKnowledge(),
		kernels: newKernels(b, c, m), pods: newPods(b, m), memory: newMemory(b), still: newStill(b), failing: newFailing(b, c),
	}
	s.places = &places{stage: at, links: s.links, sockets: s.sockets, vanished: map[netip.Addr]place{}}
	s.proxies = &proxies{stage: at, kernels: s.kernels, still: s.still, writer: s.writer}
	s.proxyStatus = &proxyStatus{stage: at, knows: s.knows, counted: map[string]map[string]int{}}
	s.traffic = &traffic{
		stage: at, keptFlows: s.keptFlows, outlooks: &outlooks{first: map[scenarios.Attempt]Outlook{}}, knows: s.knows, sockets: s.sockets,
		links:  s.links,
		memory: s.memory, still: s.still, failing: s.failing,
	}
	return s
}

// Mapping says what of the cluster stands for what of the scenario.
func (s *Session) Mapping() *Mapping { return s.mapping }

// Cluster is the scenario's cluster as it is now.
func (s *Session) Cluster() *scenarios.Cluster { return s.cluster }

// Objects are the scenario's objects that the API server has now, as the scenario writes them.
func (s *Session) Objects() []manifest.Object { return s.knows.all() }

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

// written are the objects that are written to the API server as they are: not those that its own controllers make. A service whose slices
// the scenario writes selects nothing there.
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
		mapped, err := s.mapping.object(o)
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

// leadNowhere makes the addresses of the scenario that nobody has end outside of the cluster, and come from there by a node; empty: the
// first.
func (t *traffic) leadNowhere(ctx context.Context, addresses []netip.Addr, via string) error {
	if via == "" {
		via = t.cluster.Nodes[0].Name
	}
	var nobody []netip.Addr
	for _, a := range addresses {
		if a.IsGlobalUnicast() && t.mapping.Owner(a) == "" {
			nobody = append(nobody, t.mapping.To(a))
		}
	}
	return t.links.leadNowhere(ctx, nobody, t.mapping.Node(via))
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

// SetAddresses is refused: the kubelet sets the addresses of a node.
func (*Session) SetAddresses(context.Context, string, []netip.Addr) error {
	return errors.New("the addresses of a real node cannot be changed")
}

// Deliver is refused.
func (*Session) Deliver(context.Context, scenarios.Delivery) error {
	return errors.New("a real API server tells of every change at once")
}

// Writes is refused.
func (*Session) Writes(context.Context, string) (scenarios.Written, error) {
	return scenarios.Written{}, errors.New("the test does not see what a real proxy gives to iptables-restore")
}

// During is refused, but for its end.
func (*Session) During(_ context.Context, watch func(context.Context, scenarios.Point)) error {
	if watch == nil {
		return nil
	}
	return errors.New("the test cannot look into a sync of a real proxy")
}

// Close takes away all that the scenario has made.
func (s *Session) Close() error { return s.putBack() }

// Advance makes what kernels remember of the scenario older. The clock of the proxies stands still; what they do once in
// an hour the next sync has them do.
func (s *Session) Advance(ctx context.Context, d time.Duration) error {
	s.anHour = s.anHour || d >= fullSyncPeriod
	if s.backend.facts.Mode == modeNFTables && d >= unusedChainsStay {
		select {
		case <-time.After(unusedChainsStay):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return errors.Join(s.memory.advance(ctx, d), s.forgetOldFlows(ctx, d))
}

// unusedChainsStay is for how long proxies in mode nftables leave chains there that they have no use for: a second, and a little.
const unusedChainsStay = 1100 * time.Millisecond

// sorted are the keys of a map in order.
func sorted[K ~string, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
