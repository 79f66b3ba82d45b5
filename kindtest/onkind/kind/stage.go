package kind

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/scenarios"
)

// stage is where a scenario is played: its cluster, what of the real one stands for it, and what is to be put back at the end.
type stage struct {
	backend *Backend
	cluster *scenarios.Cluster
	mapping *Mapping
	undo    []func(context.Context) error
}

func (s *stage) relay(machine string) relay { return s.backend.relays[machine] }

// onUndo remembers what is to be put back at the end; what was done last is put back first.
func (s *stage) onUndo(f func(context.Context) error) { s.undo = append(s.undo, f) }

// names are the scenario's names of its nodes.
func (s *stage) names() []string {
	var out []string
	for i := range s.cluster.Nodes {
		out = append(out, s.cluster.Nodes[i].Name)
	}
	return out
}

// used are the nodes that the scenario has, by their names in the cluster.
func (s *stage) used() []string { return s.realNodes(s.names()) }

// deviceTo is a node's device to a pod.
func (s *stage) deviceTo(ctx context.Context, node string, pod netip.Addr) (string, error) {
	text, err := run(ctx, s.relay(node), "", "ip", "-o", "route", "get", pod.String())
	if err != nil {
		return "", err
	}
	words := strings.Fields(text)
	if i := slices.Index(words, "dev"); i >= 0 && i+1 < len(words) {
		return words[i+1], nil
	}
	return "", fmt.Errorf("%s: no device to %s in %q", node, pod, text)
}

// realNodes are the names of the scenario's nodes in the cluster.
func (s *stage) realNodes(nodes []string) []string {
	var out []string
	for _, name := range nodes {
		out = append(out, s.mapping.Node(name))
	}
	return out
}

// deciding are the nodes of the cluster whose rules may decide about a connection: the client's, that by which it comes from outside, and
// that of the address that it calls.
func (s *stage) deciding(a *scenarios.Attempt) []string {
	out := []string{s.mapping.Node(a.Via)}
	if host, ok := s.mapping.Host(a.From); ok && host.Machine != s.backend.facts.Outside.Name {
		out[0] = host.Machine
	}
	if owner := s.mapping.Owner(a.To.Addr()); s.cluster.Node(owner) != nil && s.mapping.Node(owner) != out[0] {
		out = append(out, s.mapping.Node(owner))
	}
	return out
}

// putBack takes away all that the scenario has made, also after a context has ended. What fails keeps nothing else from being put back.
func (s *stage) putBack() error {
	var errs []error
	for _, f := range slices.Backward(s.undo) {
		ctx, cancel := context.WithTimeout(context.Background(), closing)
		errs = append(errs, f(ctx))
		cancel()
	}
	s.undo = nil
	return errors.Join(errs...)
}
