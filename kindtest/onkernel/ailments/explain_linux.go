package ailments

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/scenarios/explain/cause"
	"github.com/chainwalk/chainwalk/scenarios/users/live"
)

// diagnosis is what doctor said.
type diagnosis struct {
	code     cause.Code // of the first finding
	findings int
	text     string
}

// diagnose asks doctor.
func diagnose(ctx context.Context, cluster *live.Cluster) (diagnosis, error) {
	report, err := cluster.Examine(ctx)
	if err != nil {
		return diagnosis{}, err
	}
	var text strings.Builder
	if err := report.WriteText(&text, false); err != nil {
		return diagnosis{}, err
	}
	d := diagnosis{text: text.String(), findings: len(report.Findings)}
	d.code = firstOf(report)
	return d, nil
}

// firstOf is what a report names first: what is wrong, then what it cannot say of a node, then what it took for granted.
func firstOf(r *live.Report) cause.Code {
	switch {
	case len(r.Findings) > 0:
		return r.Findings[0].Code
	case slices.ContainsFunc(r.Nodes, func(n live.NodeReport) bool { return n.Proxy.Name != "" && !n.Proxy.Walked }):
		return cause.OtherProxy
	case len(r.Doubts) > 0:
		return codeOf(r.Doubts[0].Kind)
	}
	return ""
}

// codeOf is the code of what a walk took for granted.
func codeOf(kind packetsim.DoubtKind) cause.Code {
	switch kind {
	case packetsim.DoubtNFTables:
		return cause.NotWalked
	case packetsim.DoubtExtension:
		return cause.UnknownRule
	}
	return cause.Unread
}

// trace follows the asked connection.
func (a *Ailment) trace(w *Ward, cluster *live.Cluster) (cause.Code, string, error) {
	t := a.asked()
	v6 := w.Families.each()[0]
	to, err := t.target(w.Objects, v6)
	if err != nil {
		return "", "", err
	}
	in := inet.Input{Packet: inet.Packet{Proto: inet.TCP, Src: t.source(v6), Dst: to.Addr(), SrcPort: 40000, DstPort: to.Port(), TCPFlags: inet.SYN}}
	if t.UDP {
		in.Proto, in.TCPFlags = inet.UDP, 0
	}
	if t.SourcePort != 0 {
		in.SrcPort = t.SourcePort
	}
	if to.Addr().IsLoopback() {
		in.Src = to.Addr()
	}
	view, err := cluster.View(in.Src, in.Dst)
	if err != nil {
		return "", err.Error(), nil
	}
	followed, err := view.Follow(in, t.via())
	if err != nil {
		return "", err.Error(), nil
	}
	causes, err := view.Causes(followed)
	if err != nil {
		return "", "", err
	}
	var text strings.Builder
	for i := range followed.Connections {
		c := &followed.Connections[i]
		fmt.Fprintf(&text, "%g made %v server %s asked %v client %v: %s\n", c.Probability, c.Made, c.Server, c.Asked, c.Client, c.Why)
	}
	var code cause.Code
	for i := range causes {
		c := &causes[i]
		if i == 0 {
			code = c.Code
		}
		fmt.Fprintf(&text, "%s %s %s [%s]\n", c.Code, c.Says, c.What, c.Remedy)
	}
	return code, text.String() + strings.Join(followed.Notes, "\n"), nil
}

// why asks for the two ends alone.
func (a *Ailment) why(ctx context.Context, w *Ward, cluster *live.Cluster) (cause.Code, string, error) {
	t := a.asked()
	server := t.To
	switch {
	case strings.HasPrefix(server, "lb/"): // the service has other addresses, too
		to, err := t.target(w.Objects, w.Families.each()[0])
		if err != nil {
			return "", "", err
		}
		server = to.String()
	case strings.HasPrefix(server, "node"):
		server = "node/" + server
	}
	answer, err := cluster.Why(ctx, t.client(), server)
	if err != nil {
		return "", err.Error(), nil
	}
	var text strings.Builder
	if err := answer.WriteText(&text); err != nil {
		return "", "", err
	}
	switch {
	case len(answer.Causes) > 0:
		return answer.Causes[0].Code, text.String(), nil
	case len(answer.Doubts) > 0:
		return codeOf(answer.Doubts[0].Kind), text.String(), nil
	}
	return "", text.String(), nil
}

// client is who asks, as why wants it.
func (t *Try) client() string {
	switch {
	case t.From == "outside":
		return outsideAt.of(false)
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
