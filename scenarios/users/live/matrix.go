package live

import (
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/scenarios/explain/cause"
	"github.com/chainwalk/chainwalk/scenarios/explain/names"
)

// Matrix is who reaches whom in a cluster.
type Matrix struct {
	Version int    `json:"version"`
	Kind    string `json:"kind"`
	// From are the clients, To the ends that each of them calls, in the order of the rows' cells.
	From []string `json:"from"`
	To   []string `json:"to"`
	Rows [][]Cell `json:"rows"`
	// Causes are what stops calls, by their codes, each once.
	Causes []cause.Cause `json:"causes,omitempty"`
	Notes  []string      `json:"notes,omitempty"`
}

const matrixKind = "Matrix"

// Cell is whether a client reaches an end.
type Cell struct {
	// Answer is that of Why, or "no address" if one end has IPv4 addresses alone and the other IPv6.
	Answer WhyAnswer `json:"answer"`
	// Codes are the codes of the causes that stop it.
	Codes []cause.Code `json:"codes,omitempty"`
	// Why is the answer in a sentence.
	Why string `json:"why"`
}

// noAddress is the answer where two ends have no family in common: nobody can call, and nothing is wrong.
const noAddress WhyAnswer = "no address"

// String is the cell in a word: yes, the codes of what stops it, that there is no address of a family that both have, or a question mark.
func (c *Cell) String() string {
	switch {
	case c.Answer == WhyYes:
		return "yes"
	case c.Answer == noAddress:
		return "no address of this family"
	case len(c.Codes) == 0:
		return "?"
	}
	var codes []string
	for _, code := range c.Codes {
		codes = append(codes, string(code))
	}
	return strings.Join(codes, "+")
}

// hasNoAddress says whether the end has no address for the client: none of its family, or none for clients outside, as a service of type
// ClusterIP.
func (c *Cell) hasNoAddress() bool {
	return c.Answer == noAddress || slices.Equal(c.Codes, []cause.Code{cause.NoService})
}

// short is the cell in a word that leaves room for others beside it.
func (c *Cell) short() string {
	if c.Answer == noAddress {
		return "-"
	}
	return c.String()
}

// Matrix has every pod, every node with a snapshot and a client outside call every service, pod and node. What NetworkPolicies allow it
// says as far as the rules of the nodes have them.
func (c *Cluster) Matrix(ctx context.Context) (*Matrix, error) {
	book := names.New(c.Objects)
	clients, servers, err := c.everybody(book)
	if err != nil {
		return nil, err
	}
	q, err := c.questions(append(slices.Clone(clients), servers...)...)
	if err != nil {
		return nil, err
	}
	m := &Matrix{Version: whyVersion, Kind: matrixKind, Notes: q.exam.notesOnNoSnapshot()}
	for _, s := range servers {
		m.To = append(m.To, s.Name)
	}
	for _, client := range clients {
		var row []Cell
		for _, server := range servers {
			cell, err := m.cell(ctx, q, client, server)
			if err != nil {
				return nil, err
			}
			row = append(row, cell)
		}
		m.From, m.Rows = append(m.From, client.Name), append(m.Rows, row)
	}
	return m, nil
}

// everybody are the ends of a cluster that call and that are called.
func (c *Cluster) everybody(book *names.Book) (clients, servers []*names.End, err error) {
	add := func(into *[]*names.End, find func(string) (*names.End, error), word string) {
		if err != nil {
			return
		}
		var e *names.End
		if e, err = find(word); err == nil {
			*into = append(*into, e)
		}
	}
	for _, s := range c.services() {
		if s.Spec.Type != corev1.ServiceTypeExternalName {
			add(&servers, book.Server, "svc/"+s.Namespace+"/"+s.Name)
		}
	}
	for _, p := range c.pods() {
		if p.Spec.HostNetwork || p.Status.PodIP == "" || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
			continue
		}
		word := "pod/" + p.Namespace + "/" + p.Name
		add(&clients, book.Client, word)
		add(&servers, book.Server, word)
	}
	for _, taken := range c.Snapshots {
		add(&clients, book.Client, "node/"+taken.Hostname)
		add(&servers, book.Server, "node/"+taken.Hostname)
	}
	add(&clients, book.Client, names.Outside)
	return clients, servers, err
}

// cell asks one question of the matrix. A service that has no address for clients outside is not asked about from there.
func (m *Matrix) cell(ctx context.Context, q *questions, client, server *names.End) (Cell, error) {
	w, err := q.answer(ctx, client, server)
	if errors.Is(err, errNoFamily) {
		return Cell{Answer: noAddress, Why: err.Error()}, nil
	}
	if err != nil {
		return Cell{Answer: WhyUnknown, Why: err.Error()}, ctx.Err()
	}
	out := Cell{Answer: w.Answer, Why: w.Sentence}
	for _, one := range w.Assumed {
		m.Notes = addNew(m.Notes, "taken for granted: "+one)
	}
	for i := range w.Causes {
		found := &w.Causes[i]
		if !slices.Contains(out.Codes, found.Code) {
			out.Codes = append(out.Codes, found.Code)
		}
		if !slices.ContainsFunc(m.Causes, func(c cause.Cause) bool { return c.Key() == found.Key() }) {
			m.Causes = append(m.Causes, *found)
		}
	}
	return out, nil
}

// AllYes says whether everybody reaches everybody, but for what has no address for clients outside.
func (m *Matrix) AllYes() bool {
	for _, row := range m.Rows {
		for i := range row {
			if c := &row[i]; c.Answer != WhyYes && !c.hasNoAddress() {
				return false
			}
		}
	}
	return true
}

// WriteJSON writes the matrix as JSON.
func (m *Matrix) WriteJSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(m)
}

// WriteCSV writes a line for each client, and a column for each end.
func (m *Matrix) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	lines := [][]string{append([]string{"from"}, m.To...)}
	for i, from := range m.From {
		line := []string{from}
		for k := range m.Rows[i] {
			line = append(line, m.Rows[i][k].String())
		}
		lines = append(lines, line)
	}
	if err := out.WriteAll(lines); err != nil {
		return fmt.Errorf("write the matrix: %w", err)
	}
	return nil
}

// WriteText writes a table with a number for each column, and what the numbers and the codes stand for.
func (m *Matrix) WriteText(w io.Writer) error {
	p := &printer{w: w}
	wide := len("from")
	for _, from := range m.From {
		wide = max(wide, len(from))
	}
	cells, lacks := 3, false
	for _, row := range m.Rows {
		for i := range row {
			cells = max(cells, len(row[i].short()))
			lacks = lacks || row[i].Answer == noAddress
		}
	}
	p.printf("%-*s", wide, "from")
	for i := range m.To {
		p.printf("  %-*d", cells, i+1)
	}
	p.printf("\n")
	for i, from := range m.From {
		p.printf("%-*s", wide, from)
		for k := range m.Rows[i] {
			p.printf("  %-*s", cells, m.Rows[i][k].short())
		}
		p.printf("\n")
	}
	p.printf("\n")
	if lacks {
		p.printf("-: no address of this family\n")
	}
	for i, to := range m.To {
		p.printf("%d: %s\n", i+1, to)
	}
	p.causes(m.Causes)
	for _, note := range m.Notes {
		p.printf("note: %s\n", note)
	}
	return p.err
}

// causes prints the first causes of each code.
func (p *printer) causes(all []cause.Cause) {
	const toldOfACode = 3
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b cause.Cause) int { return cmp.Compare(a.Code, b.Code) })
	told := 0
	for i := range sorted {
		c := &sorted[i]
		if told++; told <= toldOfACode {
			p.printf("%s: %s  (%s)\n", c.Code, c.Says, c.What)
		}
		if i+1 < len(sorted) && sorted[i+1].Code == c.Code {
			continue
		}
		if told > toldOfACode {
			p.printf("%s: and %d more (-o json)\n", c.Code, told-toldOfACode)
		}
		told = 0
	}
}
