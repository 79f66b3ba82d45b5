package netns

import (
	"slices"

	"github.com/chainwalk/chainwalk/kindtest/internal/socket"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/scenarios"
)

// try is a connection that was made once.
type try struct {
	client *client
	way    scenarios.Way
	chancy bool // chance had a part in its way
	// astray says that the server's answer has ended somewhere, and not at the client's socket.
	astray bool
	// conn is the server's side of a TCP connection, nil if there is none.
	conn *served
}

// tryOnce makes the connection once and says what came of it. All that it has done
// is still there.
func (s *session) tryOnce(a scenarios.Attempt) (*try, error) {
	if err := s.forget(); err != nil {
		return nil, err
	}
	c, err := s.newClient(a)
	if err != nil {
		return nil, err
	}
	t := &try{client: c}
	err = s.settle(c, func() bool { return c.done && (c.proto != inet.TCP || !c.heard || c.why != "" || s.answered()) },
		func() bool { return s.decided(t, a) })
	if err == nil {
		s.judge(t, a)
		err = s.bookError()
	}
	if err != nil {
		c.close()
		return nil, err
	}
	return t, nil
}

// answered says whether a server has answered a question.
func (s *session) answered() bool {
	return slices.ContainsFunc(s.got, func(g served) bool { return g.answered })
}

// takeBack ends a connection and removes what it left behind.
func (s *session) takeBack(t *try) error {
	t.client.close()
	for i := range s.got {
		if g := &s.got[i]; g.fd >= 0 {
			socket.CloseSilently(g.fd)
			g.fd = -1
		}
	}
	if w := &t.way; t.client.proto == inet.TCP && w.End == scenarios.Delivered && t.conn == nil {
		if err := s.network.host(w.Host).reopen(inet.TCP, w.Server); err != nil {
			return err
		}
	}
	if err := s.drain(nil); err != nil {
		return err
	}
	return s.takeBackState()
}
