package kind

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"

	"github.com/chainwalk/chainwalk/kindtest/onkind/apiclient"
	"github.com/chainwalk/chainwalk/kindtest/probe"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
	"github.com/chainwalk/chainwalk/scenarios/world/controller"
)

// Options say how a Backend runs scenarios.
type Options struct {
	// Samples is how often a connection is made whose way depends on chance; 0 is 100.
	Samples int
	// Place tells clusters apart that are on one network and used at the same time: 0, or 1 for a second one. Each gives itself other
	// addresses of it.
	Place int
}

const defaultSamples = 100

// Backend runs scenarios on a cluster, one at a time.
type Backend struct {
	hands    Hands
	client   apiclient.Client
	facts    Facts
	relays   map[string]relay
	close    []func() error
	sentinel *sentinel
	labels   labels
	options  Options
	// idle are the nodes whose proxies are stopped, with the number of the stop; stops is how many there were.
	idle  map[string]int
	stops int
	// configured are the configurations that the nodes were given last.
	configured map[string]*kubeproxyconfig.KubeProxyConfiguration
}

var _ scenarios.Limited = (*Backend)(nil)

// New takes a cluster into its hands: it starts the relays, looks at what there is, and makes the sentinel.
func New(ctx context.Context, hands Hands, o Options) (*Backend, error) {
	if o.Samples == 0 {
		o.Samples = defaultSamples
	}
	b := &Backend{hands: hands, client: hands.Client(), relays: map[string]relay{}, labels: labels{}, options: o, idle: map[string]int{}}
	b.configured = map[string]*kubeproxyconfig.KubeProxyConfiguration{}
	if err := b.open(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("prepare the cluster for scenarios: %w", err), b.Close(context.WithoutCancel(ctx)))
	}
	return b, nil
}

func (b *Backend) open(ctx context.Context) error {
	b.facts.Nodes, b.facts.Pods, b.facts.Outside = workersFirst(b.hands.Nodes()), b.hands.Pods(), b.hands.Outside()
	b.facts.Place = b.options.Place
	b.facts.Mode, b.facts.Foreign = b.hands.Mode(), b.hands.Foreign()
	for _, machine := range b.machines() {
		stream, err := b.hands.Relay(ctx, machine)
		if err != nil {
			return fmt.Errorf("relay of %s: %w", machine, err)
		}
		client := probe.NewClient(stream)
		b.relays[machine], b.close = client, append(b.close, client.Close)
	}
	if err := b.sweep(ctx); err != nil {
		return err
	}
	if err := inParallel(
		func() error { return b.learnNetwork(ctx) },
		func() error { return b.learnServices(ctx) },
		func() error { return b.learnSpellings(ctx) },
		func() error { return together(b.machines(), func(m string) error { return b.quieten(ctx, m) }) },
		func() error { return b.wakeProxies(ctx) },
	); err != nil {
		return err
	}
	if err := b.prohibit(ctx); err != nil {
		return err
	}
	b.sentinel = &sentinel{backend: b}
	return b.sentinel.start(ctx)
}

// sweep deletes what an earlier run that was killed has left in the API server.
func (b *Backend) sweep(ctx context.Context) error {
	marked := metav1.ListOptions{LabelSelector: sessionLabel + "=true"}
	services, err := b.client.Services(metav1.NamespaceAll).List(ctx, marked)
	if err != nil {
		return err
	}
	endpointSlices, err := b.client.EndpointSlices(metav1.NamespaceAll).List(ctx, marked)
	if err != nil {
		return err
	}
	return inParallel(
		func() error { return b.deletePods(ctx) },
		func() error {
			return together(services.Items, func(s corev1.Service) error {
				return gone(b.client.Services(s.Namespace).Delete(ctx, s.Name, metav1.DeleteOptions{}))
			})
		},
		func() error {
			return together(endpointSlices.Items, func(s discoveryv1.EndpointSlice) error {
				return gone(b.client.EndpointSlices(s.Namespace).Delete(ctx, s.Name, metav1.DeleteOptions{}))
			})
		},
	)
}

// machines are the nodes and the container outside.
func (b *Backend) machines() []string { return append(b.nodeNames(), b.facts.Outside.Name) }

func (b *Backend) nodeNames() []string {
	var out []string
	for i := range b.facts.Nodes {
		out = append(out, b.facts.Nodes[i].Name)
	}
	return out
}

// outside is the relay of the container outside.
func (b *Backend) outside() relay { return b.relays[b.facts.Outside.Name] }

// learnNetwork finds the networks that the nodes share, and which tools they have.
func (b *Backend) learnNetwork(ctx context.Context) error {
	devices, err := b.outside().Devices(ctx, b.facts.Outside.Name)
	if err != nil {
		return err
	}
	for _, d := range devices {
		for _, p := range d.Addresses {
			if d.Name == device && !p.Addr().IsLinkLocalUnicast() && !p.IsSingleIP() {
				b.facts.Networks = append(b.facts.Networks, p.Masked())
			}
		}
	}
	version, err := run(ctx, b.relays[b.facts.Nodes[0].Name], "", "iptables", "--version")
	if err != nil {
		return err
	}
	b.facts.Dialect = netfilter.Legacy
	if strings.Contains(version, "nf_tables") {
		b.facts.Dialect = netfilter.NFT
	}
	return nil
}

// learnServices finds the ranges of cluster IPs, and the services that are there.
func (b *Backend) learnServices(ctx context.Context) error {
	ranges, err := b.client.ServiceCIDRs().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("ranges of cluster IPs: %w", err)
	}
	for i := range ranges.Items {
		for _, text := range ranges.Items[i].Spec.CIDRs {
			p, err := netip.ParsePrefix(text)
			if err != nil {
				return fmt.Errorf("ranges of cluster IPs: %w", err)
			}
			b.facts.Services = append(b.facts.Services, p)
		}
	}
	services, err := b.client.Services(metav1.NamespaceAll).List(ctx, metav1.ListOptions{LabelSelector: "!" + sessionLabel})
	if err != nil {
		return err
	}
	for i := range services.Items {
		s := &services.Items[i]
		b.facts.TakenServices = append(b.facts.TakenServices, s.Namespace+"/"+s.Name)
		for _, text := range s.Spec.ClusterIPs {
			if a := parse(text); a.IsValid() {
				b.facts.TakenIPs = append(b.facts.TakenIPs, a)
			}
		}
	}
	return nil
}

// learnSpellings asks the API server whether it would take a service with an old spelling.
func (b *Backend) learnSpellings(ctx context.Context) error {
	_, err := b.client.Services(metav1.NamespaceDefault).Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: sentinelName + "-spelling"},
		Spec:       corev1.ServiceSpec{ExternalIPs: []string{"192.168.099.022"}, Ports: []corev1.ServicePort{{Port: 80}}},
	}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	b.facts.OldSpellings = err == nil
	if apierrors.IsInvalid(err) {
		return nil
	}
	return err
}

// Name is "kind".
func (b *Backend) Name() string { return scenarios.BackendKind }

// SliceController foretells what the cluster's own controller makes.
func (*Backend) SliceController(ever []manifest.Object) manifest.SliceController {
	return controller.New(ever)
}

// Dialects are that of the nodes' tools.
func (b *Backend) Dialects() []netfilter.Dialect { return []netfilter.Dialect{b.facts.Dialect} }

// NoteMode looks again which mode the proxies have, after somebody has changed it on all nodes.
func (b *Backend) NoteMode() { b.facts.Mode = b.hands.Mode() }

// Facts are what is known of the cluster.
func (b *Backend) Facts() *Facts { return &b.facts }

// Unsupported says why a scenario cannot run on the cluster; empty if it can.
func (b *Backend) Unsupported(s *scenarios.Scenario) string { return unsupported(s, &b.facts) }

// Start maps a scenario on the cluster, and writes its objects. What it has changed is put back when the session is closed.
func (b *Backend) Start(ctx context.Context, c *scenarios.Cluster) (scenarios.Session, error) {
	m, err := Map(&b.facts, c)
	if err != nil {
		return nil, err
	}
	s := newSession(b, c, m)
	if err := s.start(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// others are the nodes that are to have another configuration than they were given last. Of the first one that a node is given it is not
// known whether it is another one.
func (b *Backend) others(byNode map[string]*kubeproxyconfig.KubeProxyConfiguration) []string {
	var out []string
	for _, node := range sorted(byNode) {
		if before := b.configured[node]; before != nil && !equality.Semantic.DeepEqual(before, byNode[node]) {
			out = append(out, node)
		}
	}
	return out
}

// firsts are the nodes of which it is not known what they were given last. Those of a kube-proxy of the cluster's own are given nothing.
func (b *Backend) firsts(byNode map[string]*kubeproxyconfig.KubeProxyConfiguration) []string {
	if b.facts.Foreign != nil {
		return nil
	}
	return slices.DeleteFunc(sorted(byNode), func(node string) bool { return b.configured[node] != nil })
}

// configure gives nodes their configurations. A kube-proxy of the cluster's own has what was asked for, or the scenario would not run.
func (b *Backend) configure(ctx context.Context, byNode map[string]*kubeproxyconfig.KubeProxyConfiguration) error {
	if b.facts.Foreign != nil {
		return nil
	}
	if err := b.hands.Configure(ctx, byNode); err != nil {
		return err
	}
	maps.Copy(b.configured, byNode)
	return nil
}

// closing is how long it may take to put back one thing that was changed.
const closing = time.Minute

// Close has all proxies be at work, gives the Node objects their labels back, takes the sentinel away and ends the relays. The cluster
// stays.
func (b *Backend) Close(ctx context.Context) error {
	errs := []error{b.Rest(ctx)}
	if b.sentinel != nil {
		errs = append(errs, b.sentinel.remove(ctx))
	}
	for _, end := range b.close {
		errs = append(errs, end())
	}
	return errors.Join(errs...)
}
