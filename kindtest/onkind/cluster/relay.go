package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"

	"github.com/chainwalk/chainwalk/kindtest/probe"
)

// Relay starts the relay in a node or in the container outside, and returns its standard input and output. Closing ends it, as does the
// context. What it says on its standard error is in the error of a read or of Close.
func (c *Cluster) Relay(ctx context.Context, host string) (io.ReadWriteCloser, error) {
	if !c.has(host) {
		return nil, fmt.Errorf("cluster: there is no host %s: want a node of %v, or %s", host, c.nodeNames(), c.outside.Name)
	}
	cmd := exec.CommandContext(ctx, "docker", "exec", "--interactive", "--privileged", host, programPath, "probe", "relay", "--dir",
		socketFolder)
	return startStream(cmd)
}

// hands are the relays that the cluster itself has in hosts, by host.
type hands struct {
	open func(ctx context.Context, host string) (io.ReadWriteCloser, error)
	mu   sync.Mutex
	all  map[string]*probe.Client
}

// hand is the relay that the cluster itself has in a host, for what it does there while others run scenarios: to begin a program from
// outside takes longer than most of that. Close ends it.
func (h *hands) hand(ctx context.Context, host string) (*probe.Client, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if hand := h.all[host]; hand != nil {
		return hand, nil
	}
	s, err := h.open(context.WithoutCancel(ctx), host)
	if err != nil {
		return nil, err
	}
	if h.all == nil {
		h.all = map[string]*probe.Client{}
	}
	h.all[host] = probe.NewClient(s)
	return h.all[host], nil
}

// dropHands ends the cluster's own relays.
func (h *hands) dropHands() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	var failed []error
	for _, hand := range h.all {
		failed = append(failed, hand.Close())
	}
	clear(h.all)
	return errors.Join(failed...)
}

func (c *Cluster) has(host string) bool {
	for _, node := range c.nodes {
		if node.Name == host {
			return true
		}
	}
	return host == c.outside.Name
}

// stream is a running command's standard input and output.
type stream struct {
	io.WriteCloser
	out    io.ReadCloser
	cmd    *exec.Cmd
	said   bytes.Buffer
	ending sync.Once
	end    error
}

func startStream(cmd *exec.Cmd) (*stream, error) {
	s := &stream{cmd: cmd}
	var err error
	if s.WriteCloser, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if s.out, err = cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	cmd.Stderr = &s.said
	return s, cmd.Start()
}

// Read returns what the command prints, and at its end why it has ended if that was no success.
func (s *stream) Read(p []byte) (int, error) {
	n, err := s.out.Read(p)
	if errors.Is(err, io.EOF) {
		if failed := s.wait(); failed != nil {
			err = failed
		}
	}
	return n, err
}

// Close ends the command by closing its standard input.
func (s *stream) Close() error {
	_ = s.WriteCloser.Close()
	_, _ = io.Copy(io.Discard, s.out)
	return s.wait()
}

func (s *stream) wait() error {
	s.ending.Do(func() {
		if err := s.cmd.Wait(); err != nil {
			s.end = fmt.Errorf("%s: %w: %s", strings.Join(s.cmd.Args, " "), err, lastLines(s.said.String()))
		}
	})
	return s.end
}
