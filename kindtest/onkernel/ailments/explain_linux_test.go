package ailments

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios/explain/cause"
	"github.com/chainwalk/chainwalk/scenarios/users/live"
)

// statement is what a command said: the cause that it named first, and its text.
type statement struct {
	cause    cause.Cause
	text     string
	findings int // of doctor
}

// diagnose asks doctor.
func diagnose(ctx context.Context, cluster *live.Cluster) (statement, error) {
	report, err := cluster.Examine(ctx)
	if err != nil {
		return statement{}, err
	}
	var text strings.Builder
	if err := report.WriteText(&text, false); err != nil {
		return statement{}, err
	}
	return statement{firstOf(report), text.String(), len(report.Findings)}, nil
}

// firstOf is what a report names first: what is wrong, then what it cannot say of a node, then what it took for granted.
func firstOf(r *live.Report) cause.Cause {
	switch {
	case len(r.Findings) > 0:
		return r.Findings[0].Cause
	case slices.ContainsFunc(r.Nodes, func(n live.NodeReport) bool { return n.Proxy.Name != "" && !n.Proxy.Walked }):
		return cause.Cause{Code: cause.OtherProxy}
	case len(r.Doubts) > 0:
		return cause.OfDoubt(r.Doubts[0].Doubt)
	}
	return cause.Cause{}
}

// packet is the first packet of the asked connection.
func (a *Ailment) packet(w *Ward) (inet.Input, error) {
	t := a.asked()
	v6 := w.Families.each()[0]
	to, err := t.target(w.Objects, v6)
	in := inet.Input{Packet: inet.Packet{
		Proto: inet.TCP, Src: t.source(v6), Dst: to.Addr(), SrcPort: 40000, DstPort: to.Port(), TCPFlags: inet.SYN,
	}}
	if t.UDP {
		in.Proto, in.TCPFlags = inet.UDP, 0
	}
	if t.SourcePort != 0 {
		in.SrcPort = t.SourcePort
	}
	if to.Addr().IsLoopback() {
		in.Src = to.Addr()
	}
	return in, err
}

// trace follows the asked connection.
func (a *Ailment) trace(w *Ward, cluster *live.Cluster) (statement, error) {
	in, err := a.packet(w)
	if err != nil {
		return statement{}, err
	}
	view, err := cluster.View(in.Src, in.Dst)
	if err != nil {
		return statement{text: err.Error()}, nil
	}
	followed, err := view.Follow(in, a.asked().via())
	if err != nil {
		return statement{text: err.Error()}, nil
	}
	causes, err := view.Causes(followed)
	if err != nil {
		return statement{}, err
	}
	var said statement
	for i := range followed.Connections {
		c := &followed.Connections[i]
		said.text += fmt.Sprintf("%.3g: made %v, server %s asked at %v: %s\n", c.Probability, c.Made, c.Server, c.Asked, c.Why)
	}
	for i := range causes {
		said.text += fmt.Sprintf("%s %s %s\n", causes[i].Code, causes[i].Says, causes[i].What)
	}
	if len(causes) > 0 {
		said.cause = causes[0]
	}
	for _, assumed := range followed.Assumed {
		said.text += "if " + assumed + "\n"
	}
	said.text += strings.Join(followed.Notes, "\n")
	return said, nil
}

// traceAt walks the packet of the asked connection through the node that is called, from the device that it comes by.
func (a *Ailment) traceAt(w *Ward, cluster *live.Cluster) (statement, error) {
	in, err := a.packet(w)
	if err != nil {
		return statement{}, err
	}
	in.In = a.Arrives
	i := slices.IndexFunc(cluster.Snapshots, func(s *snapshot.NodeSnapshot) bool { return s.Hostname == a.asked().via() })
	node := cluster.Snapshots[i]
	result, err := node.Trace(in, snapshot.HostOptions{}, packetsim.WalkOptions{Back: true})
	if err != nil {
		return statement{}, err
	}
	causes := cause.OfOutcomes(node.Hostname, in, result.Outcomes, node)
	if len(causes) == 0 {
		return statement{text: result.Outcomes[0].Summary()}, nil
	}
	return statement{cause: causes[0], text: causes[0].Says}, nil
}

// ask asks why for the two ends of a connection.
func (t *Try) ask(ctx context.Context, w *Ward, cluster *live.Cluster) (*live.Why, error) {
	server := t.To
	switch {
	case strings.HasPrefix(server, "lb/"): // the service has other addresses, too
		to, err := t.target(w.Objects, w.Families.each()[0])
		if err != nil {
			return nil, err
		}
		server = to.String()
	case strings.HasPrefix(server, "node"):
		server = "node/" + server
	}
	return cluster.Why(ctx, t.client(w.Families), server)
}

// why asks for the two ends alone.
func (a *Ailment) why(ctx context.Context, w *Ward, cluster *live.Cluster) (statement, error) {
	answer, err := a.asked().ask(ctx, w, cluster)
	if err != nil {
		return statement{text: err.Error()}, nil
	}
	var text strings.Builder
	if err := answer.WriteText(&text); err != nil {
		return statement{}, err
	}
	said := statement{text: text.String()}
	if len(answer.Causes) > 0 {
		said.cause = answer.Causes[0]
	}
	return said, nil
}

// client is who asks, as why wants it.
func (t *Try) client(families Families) string {
	switch {
	case t.From == "outside":
		return outsideAt.of(families == V6)
	case strings.HasPrefix(t.From, "node"):
		return "node/" + t.From
	}
	return "pod/" + t.From
}

// via is the node that a packet from outside comes to, or that sends it.
func (t *Try) via() string {
	if strings.HasPrefix(t.From, "node") {
		return t.From
	}
	if name, _, ok := strings.Cut(t.To, ":"); ok && strings.HasPrefix(name, "node") {
		return name
	}
	return ""
}
