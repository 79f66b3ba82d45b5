package probe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"k8s.io/utils/clock"

	"github.com/chainwalk/chainwalk/kindtest/internal/socket"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// runAgents runs agents in this process, and a client of their relay.
func runAgents(t *testing.T, names ...string) *Client {
	t.Helper()
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	for _, name := range names {
		a, err := NewAgent(name, clock.RealClock{})
		require.NoError(t, err)
		control, err := net.Listen("unix", socketPath(dir, name))
		require.NoError(t, err)
		go func() { done <- a.Run(ctx, control) }()
	}
	near, far := net.Pipe()
	relayed := make(chan struct{})
	go func() {
		defer close(relayed)
		Relay(ctx, dir, clock.RealClock{}, far)
	}()
	c := NewClient(near)
	t.Cleanup(func() {
		require.NoError(t, c.Close())
		<-relayed
		cancel()
		for range names {
			require.NoError(t, <-done)
		}
	})
	return c
}

// loopback is an address of this host that nothing listens on.
func loopback(t *testing.T, kind int, address string) netip.AddrPort {
	t.Helper()
	fd, err := socket.Open(kind, 0, netip.AddrPortFrom(netip.MustParseAddr(address), 0), false)
	if os.Getenv("CHAINWALK_KERNEL") == "" && errors.Is(err, unix.EADDRNOTAVAIL) {
		t.Skipf("%s is not there: this machine has no IPv6", address)
	}
	require.NoError(t, err)
	defer func() { require.NoError(t, unix.Close(fd)) }()
	return localOf(fd)
}

func kindOf(proto inet.Proto) int {
	if proto == inet.UDP {
		return unix.SOCK_DGRAM
	}
	return unix.SOCK_STREAM
}

func listenerAt(proto inet.Proto, at netip.AddrPort) Listener {
	return Listener{Proto: proto, Addr: at.Addr(), Port: at.Port()}
}

func TestDialIsAnswered(t *testing.T) {
	for _, proto := range []inet.Proto{inet.TCP, inet.UDP} {
		for _, address := range []string{"127.0.0.1", "::1"} {
			for _, wildcard := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s %s wildcard %t", proto, address, wildcard), func(t *testing.T) {
					c := runAgents(t, "client", "server")
					at := loopback(t, kindOf(proto), address)
					l := listenerAt(proto, at)
					if wildcard {
						l.Addr = socket.Unspecified(at.Addr().Is6())
					}
					require.NoError(t, c.Serve(t.Context(), "server", []Listener{l}))
					results, err := c.Dial(t.Context(), "client", Dial{Proto: proto, To: at, Times: 3})
					require.NoError(t, err)
					require.Len(t, results, 3)
					for _, r := range results {
						assert.Equal(t, Answered, r.End)
						assert.Equal(t, "server", r.Server)
						assert.Equal(t, at, r.At)
						assert.Equal(t, at.Addr(), r.Client.Addr())
						assert.Equal(t, r.Client.Port(), r.From.Port())
						came, err := c.Arrivals(t.Context(), "server", Arrived{Token: r.Token})
						require.NoError(t, err)
						require.Len(t, came, 1)
						assert.Equal(t, r.Client, came[0].Client)
						assert.Equal(t, proto, came[0].Proto)
					}
				})
			}
		}
	}
}

func TestDialFromAPortOfItsOwn(t *testing.T) {
	for _, proto := range []inet.Proto{inet.TCP, inet.UDP} {
		c := runAgents(t, "both")
		at, from := loopback(t, kindOf(proto), "127.0.0.1"), loopback(t, kindOf(proto), "127.0.0.1")
		require.NoError(t, c.Serve(t.Context(), "both", []Listener{listenerAt(proto, at)}))
		results, err := c.Dial(t.Context(), "both", Dial{Proto: proto, From: from, To: at, Times: 5})
		require.NoError(t, err)
		for _, r := range results {
			assert.Equal(t, Result{End: Answered, Server: "both", At: at, Client: from, From: from, Token: r.Token, Took: r.Took}, r, proto)
		}
	}
}

// TestDialFromPortsThatAreFree: a socket that asks for no port must not get one that another has, whose answers it would take.
func TestDialFromPortsThatAreFree(t *testing.T) {
	a, err := NewAgent("client", clock.RealClock{})
	require.NoError(t, err)
	defer a.reset(quietly)
	to := loopback(t, unix.SOCK_DGRAM, "127.0.0.1")
	taken := map[netip.AddrPort]bool{}
	for range 1000 { // with a range of 28,000 ports some would be the same
		p, result := a.open(t.Context(), Dial{Proto: inet.UDP, To: to})
		require.NotNil(t, p, result)
		require.False(t, taken[p.local], p.local)
		taken[p.local] = true
	}
}

// TestQuestionAfterTheEnd: what came before anybody asked is not lost.
func TestQuestionAfterTheEnd(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	go func() {
		if conn, err := l.Accept(); err == nil {
			_, _ = conn.Write([]byte("220 mail ready\n"))
			t.Cleanup(func() { _ = conn.Close() })
		}
	}()
	a, err := NewAgent("client", clock.RealClock{})
	require.NoError(t, err)
	p, result := a.open(t.Context(), Dial{Proto: inet.TCP, To: l.Addr().(*net.TCPAddr).AddrPort()})
	require.NotNil(t, p, result)
	require.Eventually(t, func() bool { return a.await("none", waiter{of: p}) != nil }, 10*time.Second, time.Millisecond)
	result = p.ask(t.Context(), time.Minute)
	assert.Equal(t, Answered, result.End)
	assert.Contains(t, result.Why, "220 mail ready")
}

func TestDialThatIsRefused(t *testing.T) {
	c := runAgents(t, "client")
	for _, row := range []struct {
		proto   inet.Proto
		address string
		want    Result
	}{
		{inet.TCP, "127.0.0.1", Result{End: Refused, With: "tcp-reset"}},
		{inet.TCP, "::1", Result{End: Refused, With: "tcp-reset"}},
		{inet.UDP, "127.0.0.1", Result{End: Refused, With: "icmp-port-unreachable", Offender: netip.MustParseAddr("127.0.0.1")}},
		{inet.UDP, "::1", Result{End: Refused, With: "icmp6-port-unreachable", Offender: netip.MustParseAddr("::1")}},
	} {
		t.Run(fmt.Sprint(row.proto, " ", row.address), func(t *testing.T) {
			results, err := c.Dial(t.Context(), "client", Dial{Proto: row.proto, To: loopback(t, kindOf(row.proto), row.address)})
			require.NoError(t, err)
			require.Len(t, results, 1)
			got := results[0]
			got.From, got.Token, got.Took = netip.AddrPort{}, "", 0
			assert.Equal(t, row.want, got)
		})
	}
}

// TestDialOfStrangers: what is no agent answers too, or does not.
func TestDialOfStrangers(t *testing.T) {
	for _, row := range []struct {
		name string
		do   func(net.Conn) error
		end  End
		why  string
	}{
		{"says something else", func(c net.Conn) error { _, err := c.Write([]byte("220 mail ready\n")); return err }, Answered, "220 mail ready"},
		{"says a line without an end", func(c net.Conn) error { _, err := c.Write(make([]byte, 4*maxMessage)); return err }, Failed, "too long"},
		{"closes", func(c net.Conn) error {
			if _, err := c.Read(make([]byte, maxMessage)); err != nil { // what is not read makes a reset of it
				return err
			}
			return c.Close()
		}, Answered, "closes"},
		{"says nothing", func(net.Conn) error { return nil }, Silent, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			served := make(chan error, 1)
			go func() {
				conn, err := l.Accept()
				if err == nil {
					err = row.do(conn)
					t.Cleanup(func() { _ = conn.Close() })
				}
				served <- err
			}()
			c := runAgents(t, "client")
			to := l.Addr().(*net.TCPAddr).AddrPort()
			results, err := c.Dial(t.Context(), "client", Dial{Proto: inet.TCP, To: to, Timeout: 300 * time.Millisecond})
			require.NoError(t, err)
			require.NoError(t, <-served)
			require.NoError(t, l.Close())
			assert.Equal(t, row.end, results[0].End)
			assert.Empty(t, results[0].Server)
			assert.Contains(t, results[0].Why, row.why)
		})
	}
}

func TestDialThatMakesNoSense(t *testing.T) {
	c := runAgents(t, "client")
	four, six := netip.MustParseAddrPort("127.0.0.1:80"), netip.MustParseAddrPort("[::1]:80")
	for want, d := range map[string]Dial{
		"to must be there": {Proto: inet.TCP},
		"two families":     {Proto: inet.TCP, From: six, To: four},
		"wants a port":     {Proto: inet.UDP, To: netip.AddrPortFrom(four.Addr(), 0)},
		"has no port":      {Proto: inet.ICMP, To: four},
		"protocol 47":      {Proto: 47, To: four},
		"-1 times":         {Proto: inet.TCP, To: four, Times: -1},
		"only one":         {Proto: inet.TCP, To: four, Times: 2, Keep: "x"},
	} {
		_, err := c.Dial(t.Context(), "client", d)
		require.ErrorContains(t, err, want)
	}
	_, err := c.Dial(t.Context(), "nobody", Dial{Proto: inet.TCP, To: four})
	require.ErrorContains(t, err, "nobody answers as agent nobody")
}

// TestServeListensExactlyThere: what stays is not touched, what is gone refuses, and what cannot be opened changes nothing.
func TestServeListensExactlyThere(t *testing.T) {
	c := runAgents(t, "both")
	ctx := t.Context()
	first, second := loopback(t, unix.SOCK_STREAM, "127.0.0.1"), loopback(t, unix.SOCK_STREAM, "127.0.0.1")
	end := func(to netip.AddrPort) End {
		t.Helper()
		results, err := c.Dial(ctx, "both", Dial{Proto: inet.TCP, To: to})
		require.NoError(t, err)
		return results[0].End
	}
	require.NoError(t, c.Serve(ctx, "both", []Listener{listenerAt(inet.TCP, first)}))
	require.Equal(t, Answered, end(first))
	require.Equal(t, Refused, end(second))
	traffic := Load{Name: "all the while", Kind: Short, Proto: inet.TCP, To: first, Every: time.Millisecond}
	require.NoError(t, c.StartLoad(ctx, "both", traffic))
	for range 20 {
		require.NoError(t, c.Serve(ctx, "both", []Listener{listenerAt(inet.TCP, first), listenerAt(inet.TCP, second)}))
		require.Equal(t, Answered, end(second))
		require.NoError(t, c.Serve(ctx, "both", []Listener{listenerAt(inet.TCP, first)}))
		require.Equal(t, Refused, end(second))
	}
	err := c.Serve(ctx, "both", []Listener{listenerAt(inet.TCP, netip.MustParseAddrPort("192.0.2.1:80"))})
	require.ErrorContains(t, err, "192.0.2.1:80")
	require.Equal(t, Answered, end(first), "nothing has changed")
	_, err = c.Arrivals(ctx, "both", Arrived{After: 250, Wait: 10 * time.Second})
	require.NoError(t, err)
	asked, err := c.StopLoad(ctx, "both", "all the while")
	require.NoError(t, err)
	require.Greater(t, len(asked), 10)
	for _, a := range asked {
		require.Equal(t, Answered, a.End, a.Result)
	}
	require.NoError(t, c.Serve(ctx, "both", nil))
	require.Equal(t, Refused, end(first))
}

func TestRelayDoesCommands(t *testing.T) {
	c := runAgents(t, "web-1", "web-2")
	ctx := t.Context()
	names, err := c.agents(ctx)
	require.NoError(t, err)
	assert.Equal(t, []string{"web-1", "web-2"}, names)
	got, err := c.Exec(ctx, Command{Argv: []string{"sh", "-c", "cat; echo $SAID >&2; exit 3"}, Stdin: "in", Environment: []string{"SAID=so"}})
	require.NoError(t, err)
	assert.Equal(t, Exited{Status: 3, Stdout: "in", Stderr: "so\n"}, got)
	got, err = c.Exec(ctx, Command{Argv: []string{"sh", "-c", "kill -9 $$"}})
	require.NoError(t, err)
	assert.Equal(t, 137, got.Status)
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusTeapot)
		_, _ = fmt.Fprintf(w, "this is %s", r.URL.Path)
	}))
	fetched, err := c.Fetch(ctx, page.URL+"/metrics")
	require.NoError(t, err)
	assert.Equal(t, Fetched{Status: http.StatusTeapot, Body: "this is /metrics"}, fetched)
	page.Close()
	fetched, err = c.Fetch(ctx, page.URL)
	require.NoError(t, err)
	assert.Equal(t, Fetched{Refused: true}, fetched)
	_, err = c.Fetch(ctx, "gopher://host")
	require.ErrorContains(t, err, "gopher")
	_, err = c.Exec(ctx, Command{Argv: []string{"no-such-program"}})
	require.ErrorContains(t, err, "no-such-program")
	soon, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	_, err = c.Exec(soon, Command{Argv: []string{"sleep", "60"}})
	require.ErrorContains(t, err, context.DeadlineExceeded.Error())
	require.ErrorContains(t, c.tell(ctx, "web-1", "dance", nil), `no agent knows "dance"`)
	require.ErrorContains(t, c.tell(ctx, "", opServe, nil), "needs the name of an agent")
}

// TestRelayFindsAnAgentThatWasReplaced: a pod of the same name may come.
func TestRelayFindsAnAgentThatWasReplaced(t *testing.T) {
	dir := t.TempDir()
	near, far := net.Pipe()
	relayed := make(chan struct{})
	go func() {
		defer close(relayed)
		Relay(t.Context(), dir, clock.RealClock{}, far)
	}()
	c := NewClient(near)
	for range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		a, err := NewAgent("web-1", clock.RealClock{})
		require.NoError(t, err)
		control, err := net.Listen("unix", filepath.Join(dir, "web-1.sock"))
		require.NoError(t, err)
		done := make(chan error)
		go func() { done <- a.Run(ctx, control) }()
		require.NoError(t, c.Reset(t.Context(), "web-1"))
		waiting := make(chan struct{})
		go func() {
			defer close(waiting)
			_, _ = c.Arrivals(t.Context(), "web-1", Arrived{Wait: time.Hour}) // an error, or what came until then
		}()
		cancel()
		require.NoError(t, <-done)
		<-waiting // it has an end
		require.ErrorContains(t, c.Reset(t.Context(), "web-1"), "web-1")
	}
	require.NoError(t, c.Close())
	<-relayed
}
