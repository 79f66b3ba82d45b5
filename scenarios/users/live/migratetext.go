package live

import (
	"fmt"
	"io"
	"strings"

	"github.com/chainwalk/chainwalk/scenarios/users/allpackets/explained"
)

// WriteText writes the migration for people: the answer, the findings, the documented differences, the moments. Verbose writes all of it,
// with the way of each example rule by rule.
func (m *Migration) WriteText(w io.Writer, verbose bool) error {
	p := &printer{w: w, verbose: verbose}
	p.printf("%s\n", m.Answer)
	p.differences("finding", m.Findings, toldFindings)
	p.differences("documented", m.Documented, 1)
	p.allNodes(m.AllPackets)
	if len(m.Moments) > 0 {
		p.printf("\nstep by step:\n")
	}
	for i := range m.Moments {
		p.moment(&m.Moments[i])
	}
	p.printf("\n")
	some(p, "doubts", m.Doubts, func(d Doubt) {
		p.printf("undecided: unless %s (%s on %s)%s\n", d.Unless, plural(d.Connections, "connection"), p.names(d.Nodes),
			prefixed("; see ", d.See))
	})
	some(p, "kinds that were not judged", m.Unjudged, func(u Unjudged) {
		p.printf("not judged: %s, %s\n", plural(u.Connections, "connection"), u.Why)
	})
	some(p, "notes", m.Notes, func(note string) { p.printf("note: %s\n", note) })
	p.migrated(m.Nodes)
	return p.err
}

// toldKinds is how many kinds that no clause covers are told of a node.
const toldKinds = 3

// allNodes prints what becomes of all packets of nodes: those together, unless the text is verbose, of which there is nothing more to say.
func (p *printer) allNodes(all []explained.Answer) {
	if len(all) > 0 {
		p.printf("\n")
	}
	var names []string
	kinds := 0
	for i := range all {
		if a := &all[i]; p.verbose || len(a.Findings)+len(a.Unknown)+a.WrongBefore > 0 || a.Skipped != "" {
			p.allPackets("", a)
		} else {
			names, kinds = append(names, a.Node), kinds+a.Kinds
		}
	}
	switch {
	case len(names) == 0:
	case kinds == 0:
		p.printf("all packets of %s are treated alike\n", p.names(names))
	default:
		p.printf("all packets of %s: %s of them are treated differently, all as the specification says\n", p.names(names), plural(kinds, "kind"))
	}
}

// allPackets prints what becomes of all packets of a node, and first when.
func (p *printer) allPackets(when string, a *explained.Answer) {
	p.printf("%sall packets of %s: %s\n", when, a.Node, a.Answer)
	for i := range a.Covered {
		c := &a.Covered[i]
		if p.verbose {
			p.printf("  %s, %s\n", c.Clause, plural(c.Kinds, "kind"))
			p.kind(&c.Example)
		}
	}
	for i := range a.Findings {
		if p.verbose || i < toldKinds {
			p.kind(&a.Findings[i])
		}
	}
	if more := len(a.Findings) - toldKinds; more > 0 && !p.verbose {
		p.printf("  %s more (-v)\n", plural(more, "kind"))
	}
	for _, text := range a.Unknown {
		p.printf("  cannot say: %s\n", text)
	}
	if p.verbose && len(a.LeftOut) > 0 {
		p.printf("  not compared: %s\n", strings.Join(a.LeftOut, "; "))
	}
}

// kind prints a kind of packets.
func (p *printer) kind(k *explained.Finding) {
	p.printf("  %s, such as %s\n", k.Share, k.Packets)
	p.field("  packet", k.Packet+prefixed(" ", k.Ends))
	for _, side := range []struct {
		when, what string
		decided    []string
	}{{"before", k.Before, k.DecidedBefore}, {"after", k.After, k.DecidedAfter}} {
		p.field("  "+side.when, side.what)
		for _, by := range side.decided {
			p.field("    by", by)
		}
	}
}

// differences prints the first ones with all that belongs to them, and names the others.
func (p *printer) differences(kind string, all []Moved, whole int) {
	for i := range all {
		d := &all[i]
		if p.verbose || i < whole {
			p.moved(kind, d)
			continue
		}
		if i == whole {
			p.printf("\n")
		}
		p.printf("%s: %s\n", kind, d.line())
	}
}

// line is the difference in a line.
func (d *Moved) line() string {
	text := d.Says
	if d.Clause != "" {
		text = d.Clause
	}
	if d.Ways > 0 {
		text += ", " + plural(d.Ways, "way")
	}
	if d.Unserved > 0 {
		text += fmt.Sprintf(", %d not served any longer", d.Unserved)
	}
	return text
}

func (p *printer) moved(kind string, d *Moved) {
	name := kind
	if d.Clause != "" {
		name += ": " + d.Clause
	}
	p.printf("\n%s\n  %s\n", name, d.Says)
	switch {
	case d.Sentence != "":
		p.field("document", fmt.Sprintf("%q", d.Sentence))
		p.field("", d.Document)
	case d.Document != "":
		p.field("document", d.Document)
	}
	if d.Ways > 0 {
		p.field("differs", d.figures()+prefixed(": ", p.names(d.Services)))
	} else if len(d.Services) > 0 {
		p.field("services", p.names(d.Services))
	}
	if d.Cause.Code != "" {
		p.field("stopped", fmt.Sprintf("%s (%s)", d.Cause.Says, d.Cause.Code))
	}
	if d.Set != "" {
		p.field("set", d.Set)
	}
	if d.Example == nil {
		return
	}
	p.field("packet", d.Example.Packet)
	p.field("  before", d.Example.Before)
	p.lines(d.Example.WayBefore)
	p.field("  after", d.Example.After)
	p.lines(d.Example.WayAfter)
}

// lines are the steps of a way, in a verbose text.
func (p *printer) lines(all []string) {
	for _, line := range all {
		if p.verbose {
			p.printf("      %s\n", line)
		}
	}
}

// summary says what became of the packets.
func (m *Moment) summary() string {
	var parts []string
	switch {
	case m.Unserved > 0:
		parts = append(parts, fmt.Sprintf("%d of %s not served that were", m.Unserved, plural(m.Ways, "way")))
	case m.Otherwise == 0:
		parts = append(parts, "all "+plural(m.Ways, "way")+" as before")
	}
	if m.Otherwise > m.Unserved {
		parts = append(parts, fmt.Sprintf("%d otherwise", m.Otherwise-m.Unserved))
	}
	if m.Established > 0 {
		parts = append(parts, fmt.Sprintf("%d of %s of established connections go on", m.Established-m.Broken, plural(m.Established, "packet")))
	}
	return strings.Join(parts, "; ")
}

func (p *printer) moment(m *Moment) {
	p.printf("  %s: %s\n", m.Name, m.summary())
	if m.Says != "" {
		p.printf("      %s\n", m.Says)
	}
	for i := range m.AllPackets {
		if all := &m.AllPackets[i]; p.verbose && all.Kinds+len(all.Unknown) > 0 {
			p.allPackets("\nafter the way back, ", all)
		}
	}
}

// text is what is said of the node.
func (n *MigratedNode) text() string {
	if n.Why != "" {
		return "not judged: " + n.Why
	}
	from := "no kube-proxy"
	if n.From != "" {
		from = "mode " + n.From
	}
	return fmt.Sprintf("from %s to mode %s (%s)", from, n.To, n.Seen)
}

// migrated prints the nodes, those together that change alike.
func (p *printer) migrated(nodes []MigratedNode) {
	var lines []nodeLine
	for i := range nodes {
		said := nodes[i].text()
		if len(lines) == 0 || lines[len(lines)-1].text != said {
			lines = append(lines, nodeLine{text: said})
		}
		last := &lines[len(lines)-1]
		last.nodes = append(last.nodes, nodes[i].Name)
	}
	some(p, "kinds of nodes", lines, func(n nodeLine) { p.printf("%s: %s\n", p.names(n.nodes), n.text) })
}
