package probe

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/kindtest/internal/raw"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// otherEnd is a client whose other end the test plays.
func otherEnd(t *testing.T) (*Client, net.Conn) {
	t.Helper()
	near, far := net.Pipe()
	c := NewClient(near)
	t.Cleanup(func() {
		_ = c.Close()
		_ = far.Close()
	})
	return c, far
}

func readRequest(t *testing.T, lines *bufio.Scanner) request {
	t.Helper()
	require.True(t, lines.Scan())
	r, err := parseRequest(lines.Bytes())
	require.NoError(t, err)
	return r
}

// TestClientTellsAnswersApart: answers come in another order than the questions.
func TestClientTellsAnswersApart(t *testing.T) {
	c, far := otherEnd(t)
	lines := bufio.NewScanner(far)
	answered := make([]string, 3)
	var asking sync.WaitGroup
	for i := range answered {
		asking.Go(func() {
			print, err := c.Inject(t.Context(), fmt.Sprintf("agent-%d", i), Injection{Number: uint32(i)})
			assert.NoError(t, err)
			answered[i] = print
		})
	}
	var asked []request
	for range answered {
		asked = append(asked, readRequest(t, lines))
	}
	for i := len(asked) - 1; i >= 0; i-- {
		_, err := far.Write(append(respond(&asked[i], "print of "+asked[i].Agent, nil), '\n'))
		require.NoError(t, err)
	}
	asking.Wait()
	assert.Equal(t, []string{"print of agent-0", "print of agent-1", "print of agent-2"}, answered)
}

func TestClientWhoseStreamBreaksEndsAllWaiting(t *testing.T) {
	for name, breakIt := range map[string]func(far net.Conn) error{
		"closed":  func(far net.Conn) error { return far.Close() },
		"garbage": func(far net.Conn) error { _, err := far.Write([]byte("HTTP/1.1 400 Bad Request\n")); return err },
		"not understood": func(far net.Conn) error {
			_, err := far.Write([]byte(`{"version":1,"id":0,"error":"what?"}` + "\n"))
			return err
		},
		"other version": func(far net.Conn) error { _, err := far.Write([]byte(`{"version":2,"id":1}` + "\n")); return err },
	} {
		t.Run(name, func(t *testing.T) {
			c, far := otherEnd(t)
			lines := bufio.NewScanner(far)
			wrong := make(chan error)
			for range 2 {
				go func() {
					_, err := c.agents(t.Context())
					wrong <- err
				}()
			}
			readRequest(t, lines)
			readRequest(t, lines)
			require.NoError(t, breakIt(far))
			for range 2 {
				require.ErrorIs(t, <-wrong, errBroken)
			}
			_, err := c.agents(t.Context())
			require.ErrorIs(t, err, errBroken, "nobody waits from here on")
		})
	}
}

// TestClientDoesNotHang: neither where nothing is read nor where nothing is answered.
func TestClientDoesNotHang(t *testing.T) {
	c, far := otherEnd(t)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := c.agents(gone)
	require.ErrorIs(t, err, context.Canceled, "a stream that takes nothing")
	soon, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	lines := bufio.NewScanner(far)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for lines.Scan() {
		}
	}()
	_, err = c.agents(soon)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NoError(t, far.Close())
	<-done
}

func TestRequestsThatAreNone(t *testing.T) {
	for _, row := range []struct{ line, want string }{
		{``, "request"},
		{`{"version":1,"id":1,"op":"agents","timeout":1,"more":1}`, `unknown field "more"`},
		{`{"version":1,"id":1,"op":"agents","op":"exec","timeout":1}`, `duplicate field "op"`},
		{`{"version":1,"ID":1,"op":"agents","timeout":1}`, "ID"},
		{`{"version":2,"id":1,"op":"agents","timeout":1}`, "version 2"},
		{`{"version":1,"id":0,"op":"agents","timeout":1}`, "id and op"},
		{`{"version":1,"id":1,"op":"agents"}`, "timeout"},
		{`{"version":1,"id":1,"op":"agents","timeout":-1}`, "timeout"},
		{`{"version":1,"id":1,"op":"agents","timeout":1,"agent":"../x"}`, `"../x"`},
		{`{"version":1,"id":1,"op":"agents","timeout":1} {}`, "request"},
	} {
		_, err := parseRequest([]byte(row.line))
		require.ErrorContains(t, err, row.want, row.line)
	}
}

// TestRequestThatIsNoneIsAnswered: its sender gets to know why.
func TestRequestThatIsNoneIsAnswered(t *testing.T) {
	near, far := net.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		answerRequests(t.Context(), far, func(context.Context, *request) (any, error) { return nil, nil })
	}()
	_, err := near.Write([]byte("GET / HTTP/1.1\n"))
	require.NoError(t, err)
	lines := bufio.NewScanner(near)
	require.True(t, lines.Scan())
	got, err := parseResponse(lines.Bytes())
	require.NoError(t, err)
	assert.Zero(t, got.ID)
	assert.Contains(t, got.Error, "request: ")
	assert.False(t, lines.Scan(), "the stream ends")
	<-done
}

func TestNamesOfAgents(t *testing.T) {
	for _, good := range []string{"a", "web-1", "10.244.1.2", "chainwalk-control-plane", strings.Repeat("x", 63)} {
		assert.True(t, validName(good), good)
	}
	for _, bad := range []string{"", "-a", "a.", ".", "..", "a/b", "A", "a b", strings.Repeat("x", 64)} {
		assert.False(t, validName(bad), bad)
	}
}

func FuzzParseRequest(f *testing.F) {
	f.Add([]byte(`{"version":1,"id":7,"agent":"web-1","op":"dial","timeout":5000000000,"body":{"proto":"tcp","to":"10.0.0.1:80"}}`))
	f.Add([]byte(`{"version":1,"id":7,"op":"agents","timeout":1}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		r, err := parseRequest(line)
		if err != nil {
			return
		}
		again, err := json.Marshal(r)
		require.NoError(t, err)
		back, err := parseRequest(again)
		require.NoError(t, err)
		r.Body, back.Body = nil, nil // whose blanks may go
		require.Equal(t, r, back)
	})
}

// TestDatagramsHavePrintsOfTheirOwn: the print of a packet has only the first bytes of what it carries.
func TestDatagramsHavePrintsOfTheirOwn(t *testing.T) {
	prints := map[string]string{}
	for _, proto := range []inet.Proto{inet.UDP, inet.ICMP, inet.ICMPv6} {
		p := inet.Packet{Proto: proto, Src: netip.MustParseAddr("10.0.0.1"), Dst: netip.MustParseAddr("10.0.0.2"), SrcPort: 1, DstPort: 2}
		if proto.IsICMP() {
			p.SrcPort, p.DstPort, p.ICMPType = 0, 0, proto.EchoRequestType()
		}
		for _, agent := range []string{"chainwalk-worker-pool-1", "chainwalk-worker-pool-2"} {
			for n := range 1000 {
				m := message{Question: fmt.Sprintf("%s-12-%d", agent, n)}
				seen, err := raw.Parse(raw.Craft(&p, raw.Tell{Payload: m.line()}))
				require.NoError(t, err)
				require.Empty(t, prints[seen.Print], "%s of %s is that of another", seen.Print, m.Question)
				prints[seen.Print] = m.Question
			}
		}
	}
}

func FuzzParseMessage(f *testing.F) {
	f.Add(message{Question: "web-1-1-1", Keep: "old"}.line())
	f.Add([]byte(`{"answer":"a","server":"web-1","at":"10.0.0.1:80","client":"[fd00::1]:1"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := parseMessage(b)
		if err != nil {
			return
		}
		back, err := parseMessage(m.line())
		require.NoError(t, err)
		require.Equal(t, m, back)
	})
}
