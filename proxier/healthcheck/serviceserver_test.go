package healthcheck_test

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/chainwalk/chainwalk/proxier/healthcheck"
)

// proxy is healthy or not.
type proxy bool

func (p *proxy) Healthy() bool { return bool(*p) }

func wellProxy() *proxy {
	well := proxy(true)
	return &well
}

// recorder keeps events as text.
type recorder struct{ events []string }

func (r *recorder) Eventf(regarding, _ kruntime.Object, kind, reason, action, note string, args ...any) {
	service, ok := regarding.(*v1.ObjectReference)
	if !ok {
		panic(fmt.Sprintf("event of a %T", regarding))
	}
	r.events = append(r.events, fmt.Sprintf("%s %s/%s: %s %s %s: %s", service.Kind, service.Namespace, service.Name,
		kind, reason, action, fmt.Sprintf(note, args...)))
}

func at(texts ...string) func() ([]netip.Addr, error) {
	var addresses []netip.Addr
	for _, text := range texts {
		addresses = append(addresses, netip.MustParseAddr(text))
	}
	return func() ([]netip.Addr, error) { return addresses, nil }
}

func newServer(t *testing.T, options healthcheck.ServiceOptions) *healthcheck.ServiceServer {
	t.Helper()
	if options.Family == "" {
		options.Family = v1.IPv4Protocol
	}
	if options.Proxy == nil {
		options.Proxy = wellProxy()
	}
	options.NodeName = "here"
	server := healthcheck.NewServiceServer(options)
	t.Cleanup(server.Close)
	return server
}

func url(host string, port uint16) string {
	return "http://" + net.JoinHostPort(host, fmt.Sprint(port))
}

var (
	web  = types.NamespacedName{Namespace: "shop", Name: "web"}
	mail = types.NamespacedName{Namespace: "shop", Name: "mail"}
)

type (
	ports  = map[types.NamespacedName]uint16
	counts = map[types.NamespacedName]int
)

func TestServiceAnswers(t *testing.T) {
	tests := []struct {
		name      string
		endpoints counts
		proxy     proxy
		status    int
		weight    string
		body      string
	}{
		{"endpoints on this node", counts{web: 2}, true, 200, "2", body("shop", "web", 2, true)},
		{"none on this node", counts{web: 0}, true, 503, "0", body("shop", "web", 0, true)},
		{"the Service has left the map", counts{}, true, 503, "0", body("shop", "web", 0, true)},
		{"endpoints of others are dropped", counts{mail: 7}, true, 503, "0", body("shop", "web", 0, true)},
		{"the proxier is unhealthy", counts{web: 2}, false, 503, "2", body("shop", "web", 2, false)},
		{"the proxier is unhealthy, no endpoints", nil, false, 503, "0", body("shop", "web", 0, false)},
	}
	well := wellProxy()
	port := freePort(t)
	server := newServer(t, healthcheck.ServiceOptions{Proxy: well, Addresses: at("127.0.0.1")})
	require.NoError(t, server.SyncServices(ports{web: port}))
	assert.Equal(t, 503, ask(t, url("127.0.0.1", port)).status, "before the first endpoints")
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			*well = test.proxy
			server.SyncEndpoints(counts{web: 9})
			server.SyncEndpoints(test.endpoints)
			got := ask(t, url("127.0.0.1", port)+"/any/path")
			assert.Equal(t, test.status, got.status)
			assert.Equal(t, test.weight, got.header.Get("X-Load-Balancing-Endpoint-Weight"))
			assert.Equal(t, "application/json", got.header.Get("Content-Type"))
			assert.Equal(t, "nosniff", got.header.Get("X-Content-Type-Options"))
			assert.Equal(t, test.body, got.body)
		})
	}
}

func body(namespace, name string, endpoints int, healthy bool) string {
	return fmt.Sprintf("{\n\t\"service\": {\n\t\t\"namespace\": %q,\n\t\t\"name\": %q\n\t},\n\t\"localEndpoints\": %d,\n"+
		"\t\"serviceProxyHealthy\": %v\n}",
		namespace, name, endpoints, healthy)
}

func TestServicesComeAndGo(t *testing.T) {
	first, second := freePort(t), freePort(t)
	tests := []struct {
		name  string
		ports ports
		// names are those of the Service that answers at each port, "" if
		// none does.
		first, second string
	}{
		{"nothing", nil, "", ""},
		{"one", ports{web: first}, "web", ""},
		{"the same again", ports{web: first}, "web", ""},
		{"another", ports{web: first, mail: second}, "web", "mail"},
		{"they change places", ports{web: second, mail: first}, "mail", "web"},
		{"one goes", ports{mail: first}, "mail", ""},
		{"its port passes to the other", ports{web: first}, "web", ""},
		{"the port changes", ports{web: second}, "", "web"},
		{"all go", ports{}, "", ""},
	}
	server := newServer(t, healthcheck.ServiceOptions{Addresses: at("127.0.0.1")})
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			require.NoError(t, server.SyncServices(test.ports))
			for port, name := range map[uint16]string{first: test.first, second: test.second} {
				got := ask(t, url("127.0.0.1", port))
				if name == "" {
					assert.Zero(t, got.status)
				} else {
					assert.Contains(t, got.body, fmt.Sprintf("%q", name))
				}
			}
		})
	}
}

func TestEndpointsStayWhenThePortChanges(t *testing.T) {
	first, second := freePort(t), freePort(t)
	server := newServer(t, healthcheck.ServiceOptions{Addresses: at("127.0.0.1")})
	require.NoError(t, server.SyncServices(ports{web: first}))
	server.SyncEndpoints(counts{web: 1})
	require.NoError(t, server.SyncServices(ports{web: second}))
	assert.Equal(t, 200, ask(t, url("127.0.0.1", second)).status)
}

func TestServiceThatComesBackBeginsWithoutEndpoints(t *testing.T) {
	port := freePort(t)
	server := newServer(t, healthcheck.ServiceOptions{Addresses: at("127.0.0.1")})
	require.NoError(t, server.SyncServices(ports{web: port}))
	server.SyncEndpoints(counts{web: 1})
	require.NoError(t, server.SyncServices(nil))
	require.NoError(t, server.SyncServices(ports{web: port}))
	assert.Equal(t, 503, ask(t, url("127.0.0.1", port)).status)
}

func TestServicesListenAtTheGivenAddresses(t *testing.T) {
	errUnknown := func() ([]netip.Addr, error) { return nil, errors.New("no netlink") }
	tests := []struct {
		name      string
		addresses func() ([]netip.Addr, error)
		// listens is for 127.0.0.1, 127.0.0.2 and ::1, in this order.
		listens string
	}{
		{"all of the family", nil, "yes yes no"},
		{"one", at("127.0.0.2"), "no yes no"},
		{"several, one of them twice", at("127.0.0.2", "127.0.0.1", "127.0.0.2"), "yes yes no"},
		{"those of the other family are ignored", at("127.0.0.1", "::1"), "yes no no"},
		{"IPv4 written as IPv6", at("::ffff:127.0.0.1"), "yes no no"},
		{"none", at(), "no no no"},
		{"not known", errUnknown, "yes yes no"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			port := freePort(t)
			server := newServer(t, healthcheck.ServiceOptions{Addresses: test.addresses})
			require.NoError(t, server.SyncServices(ports{web: port}))
			var got []string
			for _, host := range []string{"127.0.0.1", "127.0.0.2", "::1"} {
				if ask(t, url(host, port)).status == 0 {
					got = append(got, "no")
				} else {
					got = append(got, "yes")
				}
			}
			assert.Equal(t, test.listens, strings.Join(got, " "))
		})
	}
}

func TestBothFamiliesListenAtOnePort(t *testing.T) {
	if listener, err := net.Listen("tcp6", "[::1]:0"); err != nil {
		t.Skipf("this machine has no IPv6 at loopback: %v", err)
	} else {
		require.NoError(t, listener.Close())
	}
	port := freePort(t)
	ipv4 := newServer(t, healthcheck.ServiceOptions{})
	ipv6 := newServer(t, healthcheck.ServiceOptions{Family: v1.IPv6Protocol})
	require.NoError(t, ipv4.SyncServices(ports{web: port}))
	require.NoError(t, ipv6.SyncServices(ports{web: port}))
	ipv6.SyncEndpoints(counts{web: 1})
	assert.Equal(t, 503, ask(t, url("127.0.0.1", port)).status)
	assert.Equal(t, 200, ask(t, url("::1", port)).status)
}

func TestServicesFollowTheNodesAddresses(t *testing.T) {
	port := freePort(t)
	addresses, err := at("127.0.0.1")()
	server := newServer(t, healthcheck.ServiceOptions{Addresses: func() ([]netip.Addr, error) { return addresses, err }})
	listens := func(host string) bool {
		require.NoError(t, server.SyncServices(ports{web: port}))
		return ask(t, url(host, port)).status != 0
	}
	assert.True(t, listens("127.0.0.1"))
	addresses, _ = at("127.0.0.2", "127.0.0.3")()
	assert.True(t, listens("127.0.0.2"), "an address comes")
	assert.False(t, listens("127.0.0.1"), "an address goes")
	addresses, err = nil, errors.New("no netlink")
	assert.True(t, listens("127.0.0.3"), "the addresses are not known")
}

func TestPortOfAnotherIsTriedAgain(t *testing.T) {
	taken, free := freePort(t), freePort(t)
	leave := occupy(t, fmt.Sprintf("127.0.0.1:%d", taken))
	events := &recorder{}
	server := newServer(t, healthcheck.ServiceOptions{Addresses: at("127.0.0.1", "127.0.0.2"), Recorder: events})
	both := ports{web: taken, mail: free}

	err := server.SyncServices(both)
	refused := fmt.Sprintf("listen tcp4 127.0.0.1:%d: bind: address already in use", taken)
	require.EqualError(t, err, "health check of Service shop/web, which will be tried again: "+refused)
	want := []string{"Service shop/web: Warning FailedToStartServiceHealthcheck Listen: Node here cannot serve the health check: " + refused}
	assert.Equal(t, want, events.events)
	assert.Equal(t, 503, ask(t, url("127.0.0.2", taken)).status, "the other address is served")
	assert.Equal(t, 503, ask(t, url("127.0.0.1", free)).status, "the other Service is served")

	require.Error(t, server.SyncServices(both))
	assert.Len(t, events.events, 1, "one event for one cause")

	leave()
	require.NoError(t, server.SyncServices(both))
	assert.Equal(t, 503, ask(t, url("127.0.0.1", taken)).status)
	assert.Len(t, events.events, 1)

	require.NoError(t, server.SyncServices(nil))
	occupy(t, fmt.Sprintf("127.0.0.1:%d", taken))
	require.Error(t, server.SyncServices(both))
	assert.Len(t, events.events, 2, "it is news again")
	require.NoError(t, server.SyncServices(ports{web: free}))
	require.Error(t, server.SyncServices(ports{web: taken}))
	assert.Len(t, events.events, 3, "and when the port has changed in between")
}

func TestRetryServesWhatTheLastSyncCouldNot(t *testing.T) {
	taken := freePort(t)
	leave := occupy(t, fmt.Sprintf("127.0.0.1:%d", taken))
	events := &recorder{}
	var logged []string
	logger := funcr.New(func(_, args string) { logged = append(logged, args) }, funcr.Options{})
	server := newServer(t, healthcheck.ServiceOptions{Addresses: at("127.0.0.1"), Recorder: events, Logger: logger})
	server.Retry()
	require.Error(t, server.SyncServices(ports{web: taken}))
	server.SyncEndpoints(counts{web: 3})
	server.Retry()
	assert.Zero(t, ask(t, url("127.0.0.2", taken)).status)
	assert.Len(t, events.events, 1, "the cause is the same")
	assert.Empty(t, logged)

	leave()
	server.Retry()
	assert.Equal(t, "3", ask(t, url("127.0.0.1", taken)).header.Get("X-Load-Balancing-Endpoint-Weight"))
	server.Retry()
	assert.Len(t, logged, 1, "it is done")
}

func TestRetryKnowsTheLastSyncOnly(t *testing.T) {
	taken, other := freePort(t), freePort(t)
	leave := occupy(t, fmt.Sprintf("127.0.0.1:%d", taken))
	server := newServer(t, healthcheck.ServiceOptions{Addresses: at("127.0.0.1")})
	wanted := ports{web: taken}
	require.Error(t, server.SyncServices(wanted))
	wanted[mail] = other
	require.NoError(t, server.SyncServices(nil))
	leave()
	server.Retry()
	assert.Zero(t, ask(t, url("127.0.0.1", taken)).status, "the Service is gone")
	assert.Zero(t, ask(t, url("127.0.0.1", other)).status, "the map was the caller's")

	occupy(t, fmt.Sprintf("127.0.0.1:%d", taken))
	require.Error(t, server.SyncServices(ports{web: taken}))
	server.Close()
	server.Retry()
	assert.Zero(t, ask(t, url("127.0.0.2", taken)).status)
}

func TestFailuresAreToldInOrder(t *testing.T) {
	first, second := freePort(t), freePort(t)
	var want []string
	for _, place := range []struct {
		name    string
		address string
		port    uint16
	}{{"mail", "127.0.0.1", first}, {"mail", "127.0.0.2", first}, {"web", "127.0.0.1", second}, {"web", "127.0.0.2", second}} {
		text := fmt.Sprintf("%s:%d", place.address, place.port)
		occupy(t, text)
		want = append(want, fmt.Sprintf("health check of Service shop/%s, which will be tried again: listen tcp4 %s: bind: address already "+
			"in use", place.name, text))
	}
	events := &recorder{}
	server := newServer(t, healthcheck.ServiceOptions{Addresses: at("127.0.0.2", "127.0.0.1", "127.0.0.2"), Recorder: events})
	require.EqualError(t, server.SyncServices(ports{web: second, mail: first}), strings.Join(want, "\n"))
	require.Len(t, events.events, 4)
	for i, event := range events.events {
		_, cause, _ := strings.Cut(event, "cannot serve the health check: ")
		assert.True(t, cause != "" && strings.HasSuffix(want[i], cause), event)
	}
}

func TestServiceWithoutPort(t *testing.T) {
	server := newServer(t, healthcheck.ServiceOptions{Addresses: at("127.0.0.1")})
	require.EqualError(t, server.SyncServices(ports{web: 0}), "health check of Service shop/web: port is 0: must be 1 to 65535")
}

func TestCloseLeavesNothing(t *testing.T) {
	port := freePort(t)
	server := newServer(t, healthcheck.ServiceOptions{})
	require.NoError(t, server.SyncServices(ports{web: port, mail: freePort(t)}))
	// A client that keeps its connection.
	client := http.Client{Transport: &http.Transport{}}
	response, err := client.Get(url("127.0.0.1", port))
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	assert.Positive(t, serving())

	server.Close()
	occupy(t, fmt.Sprintf(":%d", port))
	client.CloseIdleConnections()
	assert.Eventually(t, func() bool { return serving() == 0 }, 10*time.Second, time.Millisecond)
	require.ErrorIs(t, server.SyncServices(ports{web: port}), healthcheck.ErrClosed)
	server.SyncEndpoints(counts{web: 1})
	server.Close()
}

// serving counts the goroutines of HTTP servers.
func serving() int {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	return strings.Count(string(stacks), "net/http.(*conn).serve(") + strings.Count(string(stacks), "net/http.(*Server).Serve(")
}
