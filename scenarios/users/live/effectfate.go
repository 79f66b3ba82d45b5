package live

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios"
	words "github.com/chainwalk/chainwalk/scenarios/explain/story"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
)

// lacks is who would send a packet, or pass it on, and is not on the side; empty if the packet can be sent.
func (s *side) lacks(a oracle.Attempt) string {
	machine := slices.ContainsFunc(s.cluster.Outside, func(m scenarios.Machine) bool { return m.Name == a.From })
	if !machine && s.cluster.Node(a.From) == nil && s.cluster.Pod(a.From) == nil {
		return a.From
	}
	if a.Via != "" && s.cluster.Node(a.Via) == nil {
		return a.Via
	}
	return ""
}

// serviceOf is the service port that a packet is for, empty for none.
func (s *side) serviceOf(a oracle.Attempt) string {
	answer := s.spec.Expect(a)
	if answer.Service.Name == "" {
		return ""
	}
	name := answer.Service.String()
	if answer.Port != "" {
		name += ":" + answer.Port
	}
	return name
}

func targetOf(a oracle.Attempt) scenarios.Target {
	return scenarios.Target{Proto: strings.ToLower(string(a.Protocol)), AddrPort: a.To}
}

// fate is what becomes of a packet, in a line: all ways with their probabilities. The port that a node gives a masqueraded packet is left
// out, since it is chosen by chance.
func (s *side) fate(ctx context.Context, a oracle.Attempt) (string, error) {
	via := a.Via
	if via == "" {
		via = s.cluster.Nodes[0].Name
	}
	seen, err := s.world.Connect(ctx, scenarios.Attempt{From: a.From, To: targetOf(a), Via: via})
	if err != nil {
		return "", fmt.Errorf("%s from %s: %w", targetOf(a), a.From, err)
	}
	shares := map[string]map[string]float64{} // by how it ends, and where
	for i := range seen.Ways {
		at, end := fateOf(&seen.Ways[i])
		if shares[end] == nil {
			shares[end] = map[string]float64{}
		}
		shares[end][at] += seen.Ways[i].Probability
	}
	var out []string
	for _, end := range slices.Sorted(maps.Keys(shares)) {
		out = append(out, endText(end, shares[end]))
	}
	return strings.Join(out, "; "), nil
}

// endText is how ways end that end alike, each with its share.
func endText(end string, shares map[string]float64) string {
	var parts []string
	for _, at := range slices.Sorted(maps.Keys(shares)) {
		part := at
		if share := words.ShareText(shares[at]); share != "1" {
			part = strings.TrimSpace(share + " " + at)
		}
		parts = append(parts, part)
	}
	return strings.TrimPrefix(strings.Join(parts, ", ")+", ", ", ") + end
}

// fateOf is where one way ends, empty where that is said by how it ends.
func fateOf(w *scenarios.Way) (at, end string) {
	server := w.Server.String()
	if w.Server.Port() == 0 {
		server = w.Server.Addr().String()
	}
	switch {
	case w.End == scenarios.Delivered && !w.Heard:
		return "to " + server, "no answer is heard"
	case w.End == scenarios.Delivered && w.Masqueraded == scenarios.Yes:
		return "to " + server, "source " + w.Client.Addr().String()
	case w.End == scenarios.Delivered:
		return "to " + server, "source kept"
	case w.End == scenarios.Refused:
		return "to " + server, "refused: nothing listens there"
	case w.End == scenarios.Rejected:
		return "", "rejected with " + w.With
	case w.End == scenarios.Dropped:
		return "", "dropped"
	case w.OnTheWire:
		return "", "lost: no host has " + w.Server.Addr().String()
	}
	return "", fmt.Sprintf("lost at %s: %s", w.Host, w.Reason)
}

// dialect is that of the tools that kube-proxy uses on the nodes; legacy if nobody says so.
func (d *draft) dialect(asked netfilter.Dialect) netfilter.Dialect {
	switch {
	case asked != "":
		return asked
	case len(d.tools) > 0:
		return d.tools[0]
	}
	return netfilter.Legacy
}
