package kind

import (
	"context"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/world/tools"
)

// StartPods gives pods a place in the pool. One with the address of a pod that has gone has its place, and is there again.
func (s *Session) StartPods(ctx context.Context, pods []scenarios.Pod) error {
	if err := s.cluster.StartPods(pods); err != nil {
		return err
	}
	started := s.cluster.Pods[len(s.cluster.Pods)-len(pods):]
	if err := s.pods.start(ctx, started); err != nil {
		return err
	}
	if err := s.mapping.startPods(started); err != nil {
		return err
	}
	for i := range started {
		pod := &started[i]
		s.sockets.listen(pod.Name, pod.Listen, pod.Addresses)
		if err := s.appear(ctx, pod.Name); err != nil {
			return err
		}
	}
	for _, o := range s.knows.slices() {
		s.sockets.noteSlice(o)
	}
	return s.sockets.serve(ctx)
}

// StopPods makes pods be gone: nothing listens there any more, and their nodes lead nowhere.
func (s *Session) StopPods(ctx context.Context, names []string) error {
	for _, name := range names {
		if pod := s.cluster.Pod(name); pod != nil && pod.Object != nil && s.pods.now(refOf(pod.Object)) == nil { // it was deleted
			host, _ := s.mapping.Host(name)
			s.sockets.clear(agent{host.Machine, host.Agent})
			continue
		}
		if err := s.vanish(ctx, name); err != nil {
			return err
		}
	}
	s.mapping.stopPods(names)
	return s.cluster.StopPods(names)
}

// Fault makes something go wrong on a node. Where rules are flushed its proxy holds still until the next sync: a real one would notice by
// itself.
func (s *Session) Fault(ctx context.Context, f scenarios.Fault) error {
	node := s.mapping.Node(f.Node)
	if f.Heal {
		delete(s.failing.nodes, node)
		return s.failing.heal(ctx, []string{node})
	}
	if f.Flushes() {
		if err := s.still.stop(ctx, []string{node}); err != nil {
			return err
		}
		s.still.flushed[node] = append(s.still.flushed[node], flushedTables(&f, s.cluster.IPFamily)...)
	}
	if err := s.kernels.run(ctx, node, append(flushCommands(&f, s.cluster.IPFamily), f.Run...), f.Dialect); err != nil {
		return err
	}
	if f.RestoreFails == 0 {
		return nil
	}
	return s.failing.arm(ctx, node, &f)
}

// flushedTables are the tables with rules of proxies, by the node's own tools, that a fault takes rules away from, "TOOL TABLE". It may
// be from single chains.
func flushedTables(f *scenarios.Fault, of scenarios.IPFamily) (out []string) {
	for _, command := range append(flushCommands(f, of), f.Run...) {
		words := strings.Fields(command)
		if words[0] != "iptables" && words[0] != "ip6tables" || !slices.Contains(words, "-F") {
			continue
		}
		table := "filter"
		if i := slices.Index(words, "-t"); i >= 0 && i+1 < len(words) {
			table = words[i+1]
		}
		if slices.Contains([]string{"mangle", "nat", "filter"}, table) {
			out = append(out, words[0]+" "+table)
		}
	}
	return out
}

// flushCommands remove all rules and chains of the tables of a fault.
func flushCommands(f *scenarios.Fault, of scenarios.IPFamily) (commands []string) {
	families := tools.Families(of)
	if f.Family != "" {
		families = []scenarios.IPFamily{f.Family}
	}
	for _, family := range families {
		for _, table := range f.Flush {
			tool := tools.Name(family, "") + " -t " + table
			commands = append(commands, tool+" -F", tool+" -X")
		}
	}
	return commands
}
