package ailments

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"

	"github.com/chainwalk/chainwalk/scenarios/explain/cause"
)

// repaired says what became of a connection after the remedy of its cause was applied.
type repaired string

const (
	notTried repaired = ""        // the remedy is no command for a node
	mended   repaired = "mended"  // the connection is made as before
	noHelp   repaired = "no help" // it is not
)

// Table is what became of all ailments and healthy wards. Several may add to it at once.
type Table struct {
	mu      sync.Mutex
	ailing  []ailing
	healthy []healthy
}

type ailing struct {
	name        string
	kernel      string
	want, named verdicts
	cause       cause.Code
	bites       bool // the kernel does what was expected
	unseen      bool
	unnamed     string
	repaired    repaired
}

type healthy struct {
	name                             string
	connections, wrong, findings, no int
}

// addAilment adds what became of an ailment.
func (t *Table) addAilment(a *Ailment, r *Result) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ailing = append(t.ailing, ailing{
		name: a.Name, kernel: r.Kernel.String(), want: a.want(), named: r.Named, cause: a.Cause, bites: len(r.Wrong) == 0, unseen: a.Unseen,
		unnamed:  a.Unnamed,
		repaired: r.Repaired,
	})
}

// addHealthy adds what became of a healthy ward.
func (t *Table) addHealthy(h *Healthy, c *Checkup) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.healthy = append(t.healthy, healthy{h.Name, c.Connections, len(c.Wrong), c.Findings, len(c.No)})
}

// Write prints the table and its sums, in the order of names.
func (t *Table) Write(out io.Writer) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	slices.SortFunc(t.ailing, func(a, b ailing) int { return cmp.Or(cmp.Compare(a.cause, b.cause), cmp.Compare(a.name, b.name)) })
	slices.SortFunc(t.healthy, func(a, b healthy) int { return cmp.Compare(a.name, b.name) })
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "CAUSE\tAILMENT\tTHE KERNEL\tDOCTOR\tTRACE\tWHY\tREMEDY\t")
	for _, a := range t.ailing {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", a.cause, a.name, a.kernel, said(a.named.doctor), said(a.named.trace),
			said(a.named.why), a.repaired, a.mistake())
	}
	fmt.Fprintln(w, "\nHEALTHY WARD\tCONNECTIONS\tFINDINGS\tNO OF WHY\t")
	for _, h := range t.healthy {
		fmt.Fprintf(w, "%s\t%d, %d failed\t%d\t%d\t\n", h.name, h.connections, h.wrong, h.findings, h.no)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\n%s\n", t.sum())
	return err
}

// said is a code, or a sign that there is none.
func said(c cause.Code) string { return cmp.Or(string(c), "-") }

// mistake says how the result differs from what the table wants; empty if it does not.
func (a *ailing) mistake() string {
	var out []string
	if !a.bites {
		out = append(out, "the kernel does something else")
	}
	if a.named != a.want {
		out = append(out, "want "+a.want.String())
	}
	return strings.Join(out, "; ")
}

// sum is the last line.
func (t *Table) sum() string {
	made, named, unseen, unnamed, findings := 0, 0, 0, 0, 0
	for i := range t.ailing {
		a := &t.ailing[i]
		switch {
		case a.unseen:
			unseen++
			continue
		case a.unnamed != "":
			unnamed++
			continue
		case a.bites:
			made++
		}
		if a.bites && a.named == a.want {
			named++
		}
	}
	for _, h := range t.healthy {
		findings += h.findings
	}
	return fmt.Sprintf("%d made, %d named first (and %d that no snapshot shows, %d that no command names yet); %d healthy, %d findings", made,
		named, unseen, unnamed, len(t.healthy),
		findings)
}
