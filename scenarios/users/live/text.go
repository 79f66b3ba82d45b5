package live

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"github.com/chainwalk/chainwalk/scenarios/explain/provenance"
)

// How much a report for people has of each kind, so that it is one screen. All of it is in the verbose one.
const (
	toldFindings = 2
	namedOnly    = 6 // further findings, a line each
	toldRules    = 3
	toldNotes    = 4
	toldNames    = 4
)

// WriteText writes the report for people: the answer, and the worst findings, on one screen. Verbose writes all of it.
func (r *Report) WriteText(w io.Writer, verbose bool) error {
	p := &printer{w: w, verbose: verbose}
	p.printf("%s\n", r.Answer)
	p.findings(r.Findings)
	if len(r.Findings)+len(r.Doubts)+len(r.Unjudged)+len(r.Notes)+len(r.Nodes) > 0 {
		p.printf("\n")
	}
	some(p, "doubts", r.Doubts, func(d Doubt) {
		p.printf("undecided: unless %s (%s on %s)%s\n", d.Unless, plural(d.Connections, "connection"), p.names(d.Nodes),
			prefixed("; see ", d.See))
	})
	some(p, "kinds that were not judged", r.Unjudged, func(u Unjudged) {
		p.printf("not judged: %s, %s\n", plural(u.Connections, "connection"), u.Why)
	})
	some(p, "notes", r.Notes, func(note string) { p.printf("note: %s\n", note) })
	some(p, "kinds of nodes", packetLines(r.AllPackets, verbose), func(n nodeLine) {
		p.printf("all packets of %s: %s\n", p.names(n.nodes), n.text)
	})
	some(p, "kinds of nodes", nodeLines(r.Nodes), func(n nodeLine) { p.printf("%s: %s\n", p.names(n.nodes), n.text) })
	return p.err
}

// printer keeps the first error.
type printer struct {
	w       io.Writer
	verbose bool
	err     error
}

func (p *printer) printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

// some prints the first of a list, and how many there are beyond.
func some[T any](p *printer, what string, list []T, one func(T)) {
	for i, item := range list {
		if i == toldNotes && !p.verbose && len(list) > toldNotes+1 {
			p.printf("and %d more %s (-v)\n", len(list)-toldNotes, what)
			return
		}
		one(item)
	}
}

// names are the first names of a list.
func (p *printer) names(all []string) string {
	if p.verbose || len(all) <= toldNames {
		return strings.Join(all, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(all[:toldNames-1], ", "), len(all)-toldNames+1)
}

func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

// findings prints the first ones with all that belongs to them, and names the others.
func (p *printer) findings(all []Finding) {
	for i := range all {
		f := &all[i]
		switch {
		case p.verbose || i < toldFindings:
			p.finding(f)
		case i < toldFindings+namedOnly:
			if i == toldFindings {
				p.printf("\n")
			}
			p.printf("%s  %s\n", f.Code, f.sentence())
		default:
			p.printf("and %d more (-v)\n", len(all)-i)
			return
		}
	}
}

// sentence is what is wrong, and how much it hurts.
func (f *Finding) sentence() string { return f.says() + ": " + f.blast() }

// says is what is wrong and where, as a part of a sentence.
func (f *Finding) says() string {
	text := strings.TrimSuffix(f.Says, ".")
	if len(text) > 1 && unicode.IsUpper(rune(text[0])) && unicode.IsLower(rune(text[1])) || strings.HasPrefix(text, "A ") {
		text = strings.ToLower(text[:1]) + text[1:]
	}
	several := fmt.Sprintf("%d nodes", len(f.Nodes))
	switch {
	case len(f.Nodes) == 0, strings.Contains(text, several):
		return text
	case len(f.Nodes) == 1 && strings.Contains(text, f.Nodes[0]):
		return text
	case len(f.Nodes) == 1:
		return text + " on " + f.Nodes[0]
	case f.Host != "" && strings.Contains(text, f.Host):
		return fmt.Sprintf("%s, and so on %s more", text, plural(len(f.Nodes)-1, "node"))
	}
	return text + " on " + several
}

// blast says how much a finding hurts.
func (f *Finding) blast() string {
	suffer := " suffer"
	if f.Suffering == 1 {
		suffer = " suffers"
	}
	return f.radius() + suffer + f.whose()
}

// radius is how much suffers.
func (f *Finding) radius() string {
	if len(f.Services) == 0 {
		return plural(f.Suffering, "way") + " to no service"
	}
	return plural(len(f.Services), "service") + ", " + plural(f.Suffering, "way")
}

// whose says whose ways suffer, where those of nodes and pods do not.
func (f *Finding) whose() string {
	if f.Outside {
		return ", of clients outside alone"
	}
	return ""
}

func (p *printer) finding(f *Finding) {
	p.printf("\n%s  %s\n", f.Code, f.Says)
	p.field("nodes", p.names(f.Nodes))
	p.field("suffers", f.radius()+f.whose()+prefixed(": ", p.names(f.Services)))
	if f.Owner != "" {
		p.field("owner", f.Owner)
	}
	if f.Remedy != "" {
		p.field("fix", f.Remedy)
	}
	if f.Also.Remedy != "" && f.Also.Remedy != f.Remedy {
		p.field("", f.Also.Remedy)
	}
	p.evidence(f)
	p.stopped(f)
	for i := range f.Packets {
		if i > 0 && !p.verbose {
			return
		}
		p.packet(&f.Packets[i])
	}
	if more := f.Suffering - len(f.Packets); more > 0 && p.verbose {
		p.field("", fmt.Sprintf("and %d more", more))
	}
}

func (p *printer) field(name, text string) { p.printf("  %-9s %s\n", name, text) }

// evidence prints the rules, the first of them.
func (p *printer) evidence(f *Finding) {
	var lines []string
	for _, kind := range []struct {
		what  string
		rules []Rule
	}{{"missing", f.Missing}, {"foreign", f.Foreign}, {"moved", f.Moved}, {"decided", f.Deciding}} {
		for _, r := range kind.rules {
			line := fmt.Sprintf("%-9s %s", kind.what, r)
			if r.Why != "" {
				line += "  (" + r.Why + ")"
			}
			lines = append(lines, line)
		}
	}
	for _, command := range f.Remembered {
		lines = append(lines, fmt.Sprintf("%-9s %s", "forget", command))
	}
	more := f.MoreMissing + f.MoreForeign + f.MoreMoved
	if !p.verbose && len(lines) > toldRules {
		more += len(lines) - toldRules
		lines = lines[:toldRules]
	}
	for _, line := range lines {
		p.printf("  %s\n", line)
	}
	if more > 0 {
		p.field("", fmt.Sprintf("and %s", plural(more, "more rule")))
	}
}

// stopped prints which of all replies suffer.
func (p *printer) stopped(f *Finding) {
	more := len(f.Stopped) + f.MoreStopped
	for i := range f.Stopped {
		p.field("replies", f.Stopped[i].Node+": "+f.Stopped[i].Replies)
		if more--; !p.verbose {
			break
		}
	}
	if more > 0 {
		p.field("", "and "+plural(more, "more set"))
	}
}

func (p *printer) packet(packet *Packet) {
	p.field("packet", packet.Packet)
	p.field("  want", packet.Want)
	p.field("  got", packet.Got)
	if !p.verbose {
		for _, way := range packet.Ways[:min(len(packet.Ways), 1)] {
			p.field("  way", way)
		}
		return
	}
	for _, line := range packet.Way {
		p.printf("      %s\n", line)
	}
}

// nodeLine is what is said of some nodes.
type nodeLine struct {
	text   string
	nodes  []string
	judged int
	runs   string // a proxy whose work is not walked
}

// nodeLines are what is said of the nodes, those of which the same is said together.
func nodeLines(nodes []NodeReport) []nodeLine {
	var out []nodeLine
	for i := range nodes {
		text := nodes[i].Text()
		at := slices.IndexFunc(out, func(l nodeLine) bool { return l.text == text })
		if at < 0 {
			at, out = len(out), append(out, nodeLine{text: text})
		}
		out[at].nodes = append(out[at].nodes, nodes[i].Name)
		if nodes[i].Judged {
			out[at].judged++
		}
		if nodes[i].Judged && !nodes[i].Proxy.Walked {
			out[at].runs = nodes[i].Proxy.Name
		}
	}
	return out
}

// packetLines are what is said of all packets of nodes, those of which the same is said together: unless verbose, of those where a reply is
// stopped, or may be.
func packetLines(all []AllPackets, verbose bool) []nodeLine {
	var out []nodeLine
	for i := range all {
		if a := &all[i]; !verbose && a.Stopped+len(a.Unknown) == 0 && a.Skipped == "" {
			continue
		}
		at := slices.IndexFunc(out, func(l nodeLine) bool { return l.text == all[i].Answer })
		if at < 0 {
			at, out = len(out), append(out, nodeLine{text: all[i].Answer})
		}
		out[at].nodes = append(out[at].nodes, all[i].Node)
	}
	return out
}

// Text is what is said of a node.
func (n NodeReport) Text() string {
	switch {
	case !n.Judged:
		return "no snapshot" + prefixed(": ", n.Why)
	case !n.Proxy.Walked:
		return fmt.Sprintf("runs %s (%s), whose work chainwalk does not walk: what pods send one another was judged, and no service",
			n.Proxy.Name, n.Proxy.Seen)
	case n.Proxy.Mode == provenance.ModeNFTables && n.Missing+n.Foreign > 0:
		return fmt.Sprintf("judged by its nftables rules; %d of kube-proxy's are missing there, %d are not kube-proxy's", n.Missing, n.Foreign)
	case n.Proxy.Mode == provenance.ModeNFTables:
		return "judged by its nftables rules, which are kube-proxy's word for word"
	case n.Second != "":
		return fmt.Sprintf("judged by its %s rules and those of %s beside them; of the %s rules %d of kube-proxy's are missing, "+
			"%d are not kube-proxy's", n.Dialect, n.Second, n.Dialect, n.Missing, n.Foreign)
	case n.Missing+n.Foreign > 0:
		return fmt.Sprintf("judged by its %s rules; %d of kube-proxy's are missing there, %d are not kube-proxy's",
			n.Dialect, n.Missing, n.Foreign)
	}
	return fmt.Sprintf("judged by its %s rules, which are kube-proxy's word for word", n.Dialect)
}
