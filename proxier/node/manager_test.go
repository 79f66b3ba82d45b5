package node_test

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/chainwalk/chainwalk/proxier/config"
	"github.com/chainwalk/chainwalk/proxier/config/clientset"
	"github.com/chainwalk/chainwalk/proxier/node"
)

// fixture is a Manager of node "here" on a fake API. It lives in a bubble of
// testing/synctest, where step waits until nothing moves any more.
type fixture struct {
	client    *fake.Clientset
	informers *config.Informers
	clock     *clocktesting.FakeClock
	exits     []int
	logged    []string

	manager *node.Manager
	err     error
	started bool
}

// inBubble runs a test on a fixture. Events are delivered and goroutines run
// by the time that a function of the fixture returns.
func inBubble(t *testing.T, test func(t *testing.T, f *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := &fixture{client: fake.NewClientset(), clock: clocktesting.NewFakeClock(time.Unix(1_000_000, 0))}
		ctx, stop := context.WithCancel(context.Background())
		var err error
		f.informers, err = config.Watch(ctx, clientset.API(f.client), config.Options{})
		require.NoError(t, err)
		test(t, f)
		stop()
		synctest.Wait()
	})
}

// start starts the Manager in the background.
func (f *fixture) start(ctx context.Context, watchPodCIDRs bool) {
	logger := funcr.New(func(_, args string) { f.logged = append(f.logged, args) }, funcr.Options{})
	go func() {
		f.manager, f.err = node.Start(ctx, f.informers, node.Options{
			Name: "here", WatchPodCIDRs: watchPodCIDRs, Clock: f.clock, Logger: logger,
			Exit: func(code int) { f.exits = append(f.exits, code) },
		})
		f.started = true
	}()
	synctest.Wait()
}

func (f *fixture) step(duration time.Duration) {
	f.clock.Step(duration)
	synctest.Wait()
}

// put creates the node or changes it.
func (f *fixture) put(t *testing.T, n *v1.Node) {
	t.Helper()
	nodes := f.client.CoreV1().Nodes()
	_, err := nodes.Update(context.Background(), n, metav1.UpdateOptions{})
	if err != nil {
		_, err = nodes.Create(context.Background(), n, metav1.CreateOptions{})
	}
	require.NoError(t, err)
	synctest.Wait()
}

func (f *fixture) remove(t *testing.T, name string) {
	t.Helper()
	require.NoError(t, f.client.CoreV1().Nodes().Delete(context.Background(), name, metav1.DeleteOptions{}))
	synctest.Wait()
}

// nodeWith returns node "here" with internal addresses and pod ranges, both
// separated by spaces.
func nodeWith(addresses, podCIDRs string) *v1.Node {
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "here"}}
	for _, address := range strings.Fields(addresses) {
		n.Status.Addresses = append(n.Status.Addresses, v1.NodeAddress{Type: v1.NodeInternalIP, Address: address})
	}
	n.Spec.PodCIDRs = strings.Fields(podCIDRs)
	return n
}

func named(n *v1.Node, name string) *v1.Node {
	n.Name = name
	return n
}

func inZone(n *v1.Node, zone string) *v1.Node {
	n.Labels = map[string]string{v1.LabelHostname: n.Name, v1.LabelTopologyZone: zone}
	return n
}

func addresses(text string) []netip.Addr {
	var list []netip.Addr
	for _, field := range strings.Fields(text) {
		list = append(list, netip.MustParseAddr(field))
	}
	return list
}

func TestStartWaits(t *testing.T) {
	const (
		patience  = 30 * time.Second
		podCIDRs  = 5 * time.Minute
		notFound  = `node "here" not found within 5m30s: check that it is registered under this name, or give the name with --hostname-override`
		notRanged = `node "here" does not have any PodCIDR allocated within 5m0s: check that the cluster allocates ranges to nodes, or use ` +
			`another detectLocalMode than NodeCIDR`
	)
	tests := []struct {
		name  string
		watch bool
		// nodes are the states of the node, nil for none, one second apart.
		nodes []*v1.Node
		// after is how long Start takes after the last of them.
		after    time.Duration
		err      string
		nodeIPs  string
		podCIDRs string
		logged   string
	}{
		{"the node is there", false, []*v1.Node{nodeWith("192.168.0.2", "")}, 0, "", "192.168.0.2", "", ""},
		{"both families", false, []*v1.Node{nodeWith("2001:db8::1 192.168.0.2", "10.0.0.0/24")}, 0, "", "2001:db8::1 192.168.0.2",
			"10.0.0.0/24", ""},
		{"the node does not exist", false, []*v1.Node{nil}, patience, "", "", "", "it was not found in time"},
		{"the node does not exist, with pod ranges", true, []*v1.Node{nil}, patience + podCIDRs, notFound, "", "", ""},
		{"the node has no address", false, []*v1.Node{nil, nodeWith("", "")}, patience - time.Second, "", "", "", "it had none in time"},
		{"the node gets an address", false, []*v1.Node{nil, nodeWith("", ""), nodeWith("192.168.1.10", "")}, 0, "", "192.168.1.10", "", ""},
		{"other nodes do not count", false, []*v1.Node{nil, named(nodeWith("192.168.9.9", ""), "there")}, patience - time.Second, "", "", "",
			"it was not found in time"},
		{"an address, no pod range", true, []*v1.Node{nil, nodeWith("", ""), nodeWith("192.168.1.10", "")}, podCIDRs, notRanged, "", "", ""},
		{"pod ranges come last", true, []*v1.Node{nil, nodeWith("", ""), nodeWith("192.168.1.10", ""), nodeWith("192.168.1.1",
			"10.0.0.0/24 fd00::/64")}, 0, "",
			"192.168.1.1", "10.0.0.0/24 fd00::/64", ""},
		{"pod ranges, no address", true, []*v1.Node{nil, nodeWith("", ""), nodeWith("", "10.0.0.0/24")}, patience - 2*time.Second, "",
			"", "10.0.0.0/24", "it had none in time"},
		{"the node goes again", true, []*v1.Node{nodeWith("192.168.0.2", ""), nil}, podCIDRs - time.Second, notFound, "", "", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, f *fixture) {
				for i, state := range test.nodes {
					if i > 0 {
						assert.False(t, f.started)
						f.step(time.Second)
					}
					if state != nil {
						f.put(t, state)
					} else if i > 0 {
						f.remove(t, "here")
					}
					if i == 0 {
						f.start(t.Context(), test.watch)
					}
				}
				if test.after > 0 {
					stepTo(t, f, test.after, test.watch)
				}
				require.True(t, f.started)
				if test.err != "" {
					require.EqualError(t, f.err, test.err)
					assert.Nil(t, f.manager)
				} else {
					require.NoError(t, f.err)
					assert.Equal(t, addresses(test.nodeIPs), f.manager.NodeIPs())
					assert.Equal(t, test.podCIDRs, strings.Join(f.manager.PodCIDRs(), " "))
				}
				if test.logged == "" {
					assert.Empty(t, f.logged)
				} else {
					assert.Contains(t, fmt.Sprint(f.logged), test.logged)
				}
				assert.Empty(t, f.exits)
			})
		})
	}
}

// stepTo lets the time pass until Start must have returned, and looks that it
// has not done so just before. The second wait begins when the first has ended.
func stepTo(t *testing.T, f *fixture, after time.Duration, watch bool) {
	t.Helper()
	if watch && after > 5*time.Minute {
		f.step(after - 5*time.Minute)
		after = 5 * time.Minute
	}
	f.step(after - time.Millisecond)
	assert.False(t, f.started)
	f.step(time.Millisecond)
}

func TestStartStopsWithItsContext(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fixture) {
		ctx, cancel := context.WithCancel(t.Context())
		f.start(ctx, false)
		assert.False(t, f.started)
		cancel()
		synctest.Wait()
		require.ErrorIs(t, f.err, context.Canceled)
		require.ErrorContains(t, f.err, `waiting for node "here"`)
	})
}

func TestManagerReactsToChanges(t *testing.T) {
	const changed = "the node's addresses have changed"
	first := nodeWith("192.168.1.1 fd00::1", "10.0.0.0/24 fd01::/64")
	tests := []struct {
		name   string
		watch  bool
		node   *v1.Node // nil: it is deleted
		exits  []int
		logged string
	}{
		{"same addresses", false, nodeWith("192.168.1.1 fd00::1", ""), nil, ""},
		{"the second address of a family", false, nodeWith("192.168.1.1 192.168.1.2 fd00::1", ""), nil, ""},
		{"other addresses", false, nodeWith("10.0.1.1 fd00::2", ""), []int{1}, changed},
		{"another address of the second family", false, nodeWith("192.168.1.1 fd00::2", ""), []int{1}, changed},
		{"one family less", false, nodeWith("192.168.1.1", ""), []int{1}, changed},
		{"the other family first", false, nodeWith("fd00::1 192.168.1.1", ""), []int{1}, changed},
		{"no addresses", false, nodeWith("", ""), nil, ""},
		{"other addresses, with pod ranges", true, nodeWith("10.0.1.1", "10.0.0.0/24 fd01::/64"), []int{1}, changed},
		{"other pod ranges that nobody watches", false, nodeWith("192.168.1.1 fd00::1", "172.16.0.0/24"), nil, ""},
		{"same pod ranges", true, nodeWith("192.168.1.1 fd00::1", "10.0.0.0/24 fd01::/64"), nil, ""},
		{"other pod ranges", true, nodeWith("192.168.1.1 fd00::1", "172.16.0.0/24 fd02::/64"), []int{1}, "pod ranges have changed"},
		{"no pod ranges", true, nodeWith("192.168.1.1 fd00::1", ""), []int{1}, "pod ranges have changed"},
		{"another node", true, named(nodeWith("10.0.1.1", ""), "there"), nil, ""},
		{"deleted", false, nil, []int{1}, "the node was deleted"},
		{"deleted, with pod ranges", true, nil, []int{1}, "the node was deleted"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, f *fixture) {
				f.put(t, first)
				f.start(t.Context(), test.watch)
				require.NoError(t, f.err)
				if test.node != nil {
					f.put(t, test.node)
				} else {
					f.remove(t, "here")
				}
				assert.Equal(t, test.exits, f.exits)
				if test.logged == "" {
					assert.Empty(t, f.logged)
				} else {
					require.Len(t, f.logged, 1)
					assert.Contains(t, f.logged[0], test.logged)
				}
				assert.Equal(t, addresses("192.168.1.1 fd00::1"), f.manager.NodeIPs(), "what was found at the start stays")
				assert.Equal(t, first.Spec.PodCIDRs, f.manager.PodCIDRs())
			})
		})
	}
}

func TestManagerExitsWhenAddressesComeAfterAStartWithoutAny(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fixture) {
		f.put(t, nodeWith("", ""))
		f.start(t.Context(), false)
		f.step(30 * time.Second)
		require.True(t, f.started)
		f.put(t, inZone(nodeWith("", ""), "a"))
		assert.Empty(t, f.exits)
		f.put(t, nodeWith("192.168.1.2", ""))
		assert.Equal(t, []int{1}, f.exits)
	})
}

func TestManagerHasTheNodeAsLastSeen(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fixture) {
		f.start(t.Context(), false)
		f.step(30 * time.Second)
		require.True(t, f.started)
		assert.Nil(t, f.manager.Node(), "it does not exist")
		f.put(t, named(nodeWith("192.168.9.9", ""), "there"))
		f.remove(t, "there")
		assert.Nil(t, f.manager.Node())
		assert.Empty(t, f.exits)
		f.put(t, nodeWith("192.168.1.1", ""))
		assert.Equal(t, "192.168.1.1", f.manager.Node().Status.Addresses[0].Address)
		f.put(t, nodeWith("192.168.1.2", ""))
		assert.Equal(t, "192.168.1.2", f.manager.Node().Status.Addresses[0].Address)
		f.remove(t, "here")
		assert.Nil(t, f.manager.Node())
		f.put(t, nodeWith("192.168.1.3", ""))
		assert.Equal(t, "192.168.1.3", f.manager.Node().Status.Addresses[0].Address)
		assert.Empty(t, f.manager.NodeIPs())
	})
}

func TestStartOnStoppedInformers(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	informers, err := config.Watch(ctx, clientset.API(fake.NewClientset()), config.Options{})
	require.NoError(t, err)
	stop()
	_, err = node.Start(t.Context(), informers, node.Options{Name: "here", Clock: clocktesting.NewFakeClock(time.Time{})})
	require.ErrorContains(t, err, `node "here": `)
}
