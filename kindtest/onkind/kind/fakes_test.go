package kind

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"

	"github.com/chainwalk/chainwalk/kindtest/onkind/apiclient"
	"github.com/chainwalk/chainwalk/kindtest/onkind/apiclient/clientset"
	"github.com/chainwalk/chainwalk/kindtest/onkind/cluster"
	"github.com/chainwalk/chainwalk/kindtest/probe"
	"github.com/chainwalk/chainwalk/scenarios"
)

// script is a cluster that answers as a test says, and writes down what it is asked, in order.
type script struct {
	mu  sync.Mutex
	log []string
	api *fake.Clientset

	// What agents and machines answer. One that a test does not give has nothing to say.
	dial      func(machine, agent string, d probe.Dial) probe.Result
	speak     func(machine, agent string, s probe.Speech) probe.Result
	exec      func(machine string, c probe.Command) (stdout string)
	status    func(machine string, c probe.Command) int
	refuse    func(asked string) error         // an error for what is asked, as it is written down
	validate  func(clienttesting.Action) error // what the API server says against a request
	sightings []probe.Sighting
	later     [][]probe.Sighting // what is seen one look after the other, before sightings
}

func (s *script) note(format string, values ...any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	line := fmt.Sprintf(format, values...)
	s.log = append(s.log, line)
	if s.refuse != nil {
		return s.refuse(line)
	}
	return nil
}

// asked is what was asked that begins so, in order.
func (s *script) asked(prefixes ...string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.log), func(line string) bool {
		return !slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(line, p) })
	})
}

// forgetLog begins anew.
func (s *script) forgetLog() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = nil
}

// scriptedRelay is a machine's.
type scriptedRelay struct {
	*script
	machine string
}

var _ relay = scriptedRelay{}

func (r scriptedRelay) Serve(_ context.Context, agent string, listeners []probe.Listener) error {
	return r.note("serve %s %d", agent, len(listeners))
}

func (r scriptedRelay) Dial(_ context.Context, agent string, d probe.Dial) ([]probe.Result, error) {
	var out []probe.Result
	for range max(d.Times, 1) {
		if err := r.note("dial %s %s %s keep=%s", agent, d.Proto, d.To, d.Keep); err != nil {
			return nil, err
		}
		if r.dial == nil {
			return nil, nil
		}
		out = append(out, r.dial(r.machine, agent, d))
	}
	return out, nil
}

func (r scriptedRelay) Speak(_ context.Context, agent string, s probe.Speech) (probe.Result, error) {
	err := r.note("speak %s %s of %s for the %s", agent, s.Kind, s.Conn, s.Side)
	if err != nil || r.speak == nil {
		return probe.Result{End: probe.Silent}, err
	}
	return r.speak(r.machine, agent, s), nil
}

func (r scriptedRelay) Drop(_ context.Context, agent, conn string, side scenarios.Side) error {
	return r.note("drop %s %s %s", agent, conn, side)
}

func (r scriptedRelay) Arrivals(_ context.Context, agent string, _ probe.Arrived) ([]probe.Arrival, error) {
	return nil, r.note("arrivals %s", agent)
}

func (r scriptedRelay) Change(_ context.Context, agent string, changes []probe.Change) error {
	return r.note("change %s %v", agent, changes)
}

func (r scriptedRelay) Devices(_ context.Context, agent string) ([]probe.Device, error) {
	return nil, r.note("devices %s", agent)
}

func (r scriptedRelay) Inject(_ context.Context, agent string, i probe.Injection) (string, error) {
	return "print", r.note("inject %s %s", agent, i.Packet)
}

func (r scriptedRelay) Capture(_ context.Context, agent, _ string) error {
	return r.note("capture %s", agent)
}

func (r scriptedRelay) Captured(_ context.Context, agent string, _ probe.Captured) ([]probe.Sighting, error) {
	err := r.note("captured %s", agent)
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.later) > 0 {
		now := r.later[0]
		r.later = r.later[1:]
		return now, err
	}
	return r.sightings, err
}

func (r scriptedRelay) Release(_ context.Context, agent, _ string) error {
	return r.note("release %s", agent)
}

func (r scriptedRelay) Reset(_ context.Context, agent string) error { return r.note("reset %s", agent) }

func (r scriptedRelay) Exec(_ context.Context, c probe.Command) (probe.Exited, error) {
	err := r.note("exec %s: %s: %s", r.machine, strings.Join(c.Argv, " "), strings.ReplaceAll(strings.TrimSpace(c.Stdin), "\n", "; "))
	var done probe.Exited
	if err == nil && r.exec != nil {
		done.Stdout = r.exec(r.machine, c)
	}
	if err == nil && r.status != nil {
		done.Status = r.status(r.machine, c)
	}
	return done, err
}

func (r scriptedRelay) Fetch(_ context.Context, url string) (probe.Fetched, error) {
	return probe.Fetched{Refused: true}, r.note("fetch %s: %s", r.machine, url)
}

func (r scriptedRelay) Forget(_ context.Context, addresses []netip.Addr) error {
	return r.note("forget %s: %d addresses", r.machine, len(addresses))
}

// scriptedHands stand for the hands of the cluster's proxies.
type scriptedHands struct {
	*script
	facts *Facts
}

var _ Hands = scriptedHands{}

func (h scriptedHands) Nodes() []cluster.Node                            { return h.facts.Nodes }
func (h scriptedHands) Pods() []cluster.Pod                              { return h.facts.Pods }
func (h scriptedHands) Outside() cluster.Outside                         { return h.facts.Outside }
func (h scriptedHands) Client() apiclient.Client                         { return clientset.Client{Interface: h.api} }
func (h scriptedHands) Mode() string                                     { return h.facts.Mode }
func (h scriptedHands) Foreign() *kubeproxyconfig.KubeProxyConfiguration { return h.facts.Foreign }

func (h scriptedHands) Relay(context.Context, string) (io.ReadWriteCloser, error) {
	return nil, errors.New("the relays are there already")
}

func (h scriptedHands) AgentPod(agent, node string) *corev1.Pod {
	return &corev1.Pod{Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "agent", Args: []string{agent}}}}}
}

func (h scriptedHands) Configure(_ context.Context, byNode map[string]*kubeproxyconfig.KubeProxyConfiguration) error {
	return h.note("configure %v", sorted(byNode))
}

func (h scriptedHands) RestartProxy(_ context.Context, nodes []string) error {
	return h.note("restart %v", nodes)
}

func (h scriptedHands) Metrics(context.Context, string) ([]byte, error) { return nil, nil }

// scripted is a backend on a cluster of three nodes. The API server gives services cluster IPs, as a real one does, and has their status
// apart.
func scripted(t *testing.T) (*Backend, *script) {
	t.Helper()
	facts := threeNodes()
	var nodes []runtime.Object
	for i := range facts.Nodes {
		nodes = append(nodes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: facts.Nodes[i].Name, Labels: map[string]string{"own": "1"}}})
	}
	s := &script{api: fake.NewClientset(nodes...)}
	s.api.PrependReactor("*", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
		name := ""
		if named, ok := a.(interface{ GetName() string }); ok {
			name = named.GetName()
		}
		if o, ok := a.(interface{ GetObject() runtime.Object }); ok {
			if meta, ok := o.GetObject().(interface{ GetName() string }); ok {
				name = meta.GetName()
			}
		}
		what := a.GetResource().Resource
		if sub := a.GetSubresource(); sub != "" {
			what += "/" + sub
		}
		err := s.note("api %s %s %s", a.GetVerb(), what, name)
		if err == nil && s.validate != nil {
			err = s.validate(a)
		}
		return err != nil, nil, err
	})
	s.api.PrependReactor("create", "services", func(a clienttesting.Action) (bool, runtime.Object, error) {
		service := a.(clienttesting.CreateAction).GetObject().(*corev1.Service)
		service.Status = corev1.ServiceStatus{}
		if service.Spec.ClusterIP == "" {
			service.Spec.ClusterIPs = []string{"10.96.0.77", "fd00:10:96::77"}
		}
		return false, nil, nil
	})
	b := &Backend{
		hands: scriptedHands{s, facts}, client: clientset.Client{Interface: s.api}, facts: *facts, relays: map[string]relay{}, labels: labels{},
		options:    Options{Samples: 10},
		idle:       map[string]int{},
		configured: map[string]*kubeproxyconfig.KubeProxyConfiguration{},
	}
	for _, machine := range b.machines() {
		b.relays[machine] = scriptedRelay{s, machine}
	}
	b.sentinel = &sentinel{backend: b}
	require.NoError(t, b.sentinel.start(t.Context()))
	return b, s
}
