package netns

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"github.com/chainwalk/chainwalk/internal/quiet"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
)

// The times that are waited. A packet's way ends within microseconds: the kernel
// walks it to its end before the sender's call returns, but for what a busy machine
// puts off. That is looked for when nothing has happened for as long as patience.
const (
	glance   = 3 * time.Millisecond
	patience = 45 * time.Millisecond
)

// pump waits until something happens, at most so long, and lets everybody take what
// came. It says whether anything was.
func (s *session) pump(c *client, wait time.Duration) (bool, error) {
	fds := s.descriptors(c)
	n, err := unix.Poll(fds, int(wait/time.Millisecond))
	if err != nil && !errors.Is(err, unix.EINTR) {
		return false, err
	}
	if n == 0 {
		return false, nil
	}
	ready := make(map[int]bool, n)
	for _, fd := range fds {
		if fd.Revents != 0 {
			ready[int(fd.Fd)] = true
		}
	}
	something := false
	for _, h := range s.network.hosts {
		if ready[h.watch.reports.FD()] {
			some, err := h.watch.collect()
			if err != nil {
				return false, err
			}
			something = something || some
		}
		if err := h.serve(ready, &s.got); err != nil {
			return false, err
		}
	}
	if c != nil {
		c.advance()
	}
	return something, s.speakSCTP(c)
}

// descriptors are what pump waits for.
func (s *session) descriptors(c *client) []unix.PollFd {
	fds := s.fds[:0]
	add := func(fd int) { fds = append(fds, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN}) }
	for _, h := range s.network.hosts {
		add(h.watch.reports.FD())
		for _, fd := range h.sockets {
			add(fd)
		}
	}
	for i := range s.got {
		if g := &s.got[i]; g.fd >= 0 && !g.answered {
			add(g.fd)
		}
	}
	if c != nil && c.fd >= 0 && !c.done {
		add(c.fd)
		if c.connecting() {
			fds[len(fds)-1].Events |= unix.POLLOUT
		}
	}
	s.fds = fds
	return fds
}

// settle lets things happen until it is decided what comes of them: until done says
// so, or a moment after decided does, or until nothing has happened for a while and
// no packet is on its way.
func (s *session) settle(c *client, done, decided func() bool) error {
	waited := quiet.Patience{Least: patience}
	for !done() {
		some, err := s.pump(c, glance)
		if err != nil {
			return err
		}
		if some {
			waited.Restart()
			continue
		}
		over, err := waited.Over(glance)
		if err != nil {
			return err
		}
		if over || !done() && decided() {
			break
		}
	}
	return s.drain(c)
}

// drain lets everybody take what is there already.
func (s *session) drain(c *client) error {
	for {
		some, err := s.pump(c, 0)
		if err != nil || !some {
			return err
		}
	}
}

// forget drops what was seen and served, before something new is tried.
func (s *session) forget() error {
	if err := s.drain(nil); err != nil {
		return err
	}
	s.got = s.got[:0]
	for _, h := range s.network.hosts {
		h.watch.forget()
		h.spoken = 0
		if h.Node == nil || oracle.ModeOf(s.cluster.Configs[h.Name]) != oracle.NFTables {
			continue
		}
		if err := h.watch.traceNative(); err != nil {
			return err
		}
	}
	return nil
}

// bookError is what went wrong while rules were read for the steps that were seen.
func (s *session) bookError() error {
	var errs []error
	for _, n := range s.nodes {
		errs = append(errs, n.watch.rules.err)
	}
	return errors.Join(errs...)
}
