package live

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/chainwalk/chainwalk/netfilter"
)

// reportVersion is the version of the Report's JSON.
const reportVersion = 1

// Report is what an examination found.
type Report struct {
	Version int          `json:"version"`
	Nodes   []NodeReport `json:"nodes"`
	// Connections is the number of connections that were judged.
	Connections int       `json:"connections"`
	Findings    []Finding `json:"findings"`
	// Unjudged are the packet classes that could not be judged.
	Unjudged []Unjudged `json:"unjudged,omitempty"`
	// Notes say what was assumed, and what of the input does not fit together.
	Notes []string `json:"notes,omitempty"`
}

// NodeReport says what is known of a node.
type NodeReport struct {
	Name string `json:"name"`
	// Judged says that a snapshot of the node was given.
	Judged bool `json:"judged"`
	// Backend is the backend of iptables whose rules were walked.
	Dialect netfilter.Dialect `json:"backend,omitempty"`
	// Second is the other backend, on a node that has rules of both: they were walked as well.
	Second netfilter.Dialect `json:"beside,omitempty"`
	// Missing and Foreign count the rules that are other than those that chainwalk's own proxier would leave there, whether
	// a packet suffers or not. Another proxier may have its own words for the same.
	Missing int `json:"missing"`
	Foreign int `json:"foreign"`
}

// Finding is one thing that is wrong, with everything that suffers from it.
type Finding struct {
	// Service is the service whose packets suffer, NAMESPACE/NAME; empty for packets that are for none.
	Service string `json:"service,omitempty"`
	// Clauses are the clauses of the specification that are broken.
	Clauses []Broken `json:"clauses"`
	// Missing are rules that are not there, Foreign such as should not be: left from what is no more, of somebody else,
	// or changed. Moved are rules that stand at another place than they should.
	Missing []Rule `json:"missing,omitempty"`
	Foreign []Rule `json:"foreign,omitempty"`
	Moved   []Rule `json:"moved,omitempty"`
	// Deciding are the rules that decided, if none is missing, foreign or moved.
	Deciding []Rule `json:"deciding,omitempty"`
	// Remembered are the UDP connections that nodes remember though they lead nowhere, as the command that makes a node forget one.
	Remembered []string `json:"remembered,omitempty"`
	// Heals says that packets would be right after kube-proxy has written its rules anew.
	Heals bool `json:"heals"`
	// Suffering counts the connections that suffer; Packets are the first of them.
	Suffering int      `json:"suffering"`
	Packets   []Packet `json:"packets"`

	attempts []suffering
}

// Broken is a clause that is broken.
type Broken struct {
	Clause string   `json:"clause"`
	Says   string   `json:"says"`
	Source []string `json:"source,omitempty"`
}

// Packet is the first packet of a connection that suffers.
type Packet struct {
	Packet string `json:"packet"`
	Want   string `json:"want"`
	Got    string `json:"got"`
	// Way is what each host on the way did with it, for the first packet of a finding.
	Way []string `json:"way,omitempty"`
}

// Unjudged is a class of packets that could not be judged.
type Unjudged struct {
	Why         string `json:"why"`
	Connections int    `json:"connections"`
}

// leaveOut counts a connection that could not be judged.
func (r *Report) leaveOut(why string) {
	i := slices.IndexFunc(r.Unjudged, func(u Unjudged) bool { return u.Why == why })
	if i < 0 {
		i, r.Unjudged = len(r.Unjudged), append(r.Unjudged, Unjudged{Why: why})
	}
	r.Unjudged[i].Connections++
}

// WriteJSON writes the report as JSON.
func (r *Report) WriteJSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}

// WriteText writes the report for people.
func (r *Report) WriteText(w io.Writer) error {
	p := &printer{w: w}
	for i := range r.Findings {
		p.finding(&r.Findings[i])
	}
	for _, u := range r.Unjudged {
		p.printf("not judged: %d connections, %s\n", u.Connections, u.Why)
	}
	for _, note := range r.Notes {
		p.printf("note: %s\n", note)
	}
	for _, n := range r.Nodes {
		p.node(n)
	}
	switch {
	case len(r.Findings) == 0:
		p.printf("%d connections judged: nothing wrong\n", r.Connections)
	default:
		p.printf("%d connections judged: %d things wrong\n", r.Connections, len(r.Findings))
	}
	return p.err
}

// printer keeps the first error.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

func (p *printer) node(n NodeReport) {
	if n.Second != "" {
		p.printf("%s: judged by its %s rules and those of %s beside them; "+
			"of the %s rules %d of kube-proxy's are missing, %d are not kube-proxy's\n", n.Name, n.Dialect, n.Second, n.Dialect, n.Missing,
			n.Foreign)
		return
	}
	switch {
	case !n.Judged:
		p.printf("%s: no snapshot\n", n.Name)
	case n.Missing+n.Foreign > 0:
		p.printf("%s: judged by its %s rules; %d of kube-proxy's are missing there, %d are not kube-proxy's\n",
			n.Name, n.Dialect, n.Missing, n.Foreign)
	default:
		p.printf("%s: judged by its %s rules, which are kube-proxy's word for word\n", n.Name, n.Dialect)
	}
}

func (p *printer) finding(f *Finding) {
	title := f.Service
	if title == "" {
		title = "packets of no service"
	}
	p.printf("WRONG %s: %d connections suffer\n", title, f.Suffering)
	for _, c := range f.Clauses {
		p.printf("  breaks %s: %s\n", c.Clause, c.Says)
	}
	p.rules("missing", f.Missing)
	p.rules("foreign", f.Foreign)
	p.rules("at another place", f.Moved)
	p.rules("decided by", f.Deciding)
	for _, command := range f.Remembered {
		p.printf("  remembered: %s\n", command)
	}
	switch {
	case f.Remembered != nil:
	case f.Heals:
		p.printf("  kube-proxy would mend it with its next full sync\n")
	default:
		p.printf("  kube-proxy would not mend it: what decides is not its own\n")
	}
	for _, packet := range f.Packets {
		p.printf("  %s\n    want %s\n    got  %s\n", packet.Packet, packet.Want, packet.Got)
		for _, line := range packet.Way {
			p.printf("      %s\n", line)
		}
	}
	if more := f.Suffering - len(f.Packets); more > 0 {
		p.printf("  and %d more\n", more)
	}
	p.printf("\n")
}

func (p *printer) rules(what string, rules []Rule) {
	for _, r := range rules {
		why := ""
		if r.Why != "" {
			why = "  (" + r.Why + ")"
		}
		p.printf("  %s: %s%s\n", what, r, why)
	}
}
