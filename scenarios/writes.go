package scenarios

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/chainwalk/chainwalk/internal/document"
	"go.yaml.in/yaml/v3"
)

// Written is what kube-proxy on a node has given to iptables-restore and ip6tables-restore in its last sync.
type Written struct {
	Restores int // how many restores it ran, failed ones among them
	Bytes    int // the length of their inputs together
}

// WritesCheck looks at what the last sync of nodes has written.
type WritesCheck struct {
	document.Located
	Nodes    []string `json:"nodes" doc:"The nodes to look at; all if not given."`
	Restores *Bound   `json:"restores" doc:"How many restores the node's last sync ran, those of both families together: a number, or a bound such as \"<= 2\"."`
	Bytes    *Bound   `json:"bytes" doc:"How long their inputs were together: a number, or a bound such as \"< 2000\"."`
}

func (c *checker) writes(s *Step) {
	w := s.Writes
	c.nodes(w.Pos, w.Nodes)
	if w.Restores == nil && w.Bytes == nil {
		c.errorf(w.Pos, "writes: nothing is looked for (want restores or bytes)")
	}
}

func (r *runner) writes(ctx context.Context, s *Step) error {
	want := s.Writes
	for _, node := range r.orAll(want.Nodes) {
		got, err := r.session.Writes(ctx, node)
		if err != nil {
			return err
		}
		wrong := append(want.Restores.wrong("restores", got.Restores), want.Bytes.wrong("bytes", got.Bytes)...)
		r.add(want.Pos, Check{
			Name: cmp.Or(s.Name, "writes") + " on " + node, Expected: want.String(),
			Got:    fmt.Sprintf("%d restores, %d bytes", got.Restores, got.Bytes),
			Passed: len(wrong) == 0, Wrong: strings.Join(wrong, "; "),
		})
	}
	return nil
}

// String says in one line what is expected.
func (w *WritesCheck) String() string {
	var out []string
	if w.Restores != nil {
		out = append(out, fmt.Sprintf("restores %s", w.Restores))
	}
	if w.Bytes != nil {
		out = append(out, fmt.Sprintf("bytes %s", w.Bytes))
	}
	return strings.Join(out, ", ")
}

// Bound is a number, or what a number may be. Its zero value is 0.
type Bound struct {
	Op string // empty: exactly; otherwise <, <=, > or >=
	N  int
}

// UnmarshalDocument reads a number, or "<= 2".
func (b *Bound) UnmarshalDocument(d *document.Decoder, n *yaml.Node) {
	text, ok := d.Scalar(n, "a number, or a bound such as \"<= 2\"")
	if !ok {
		return
	}
	var err error
	if *b, err = parseBound(text); err != nil {
		d.Errorf(n, "%v", err)
	}
}

func parseBound(text string) (Bound, error) {
	number := strings.TrimLeft(text, "<>=")
	op := text[:len(text)-len(number)]
	n, err := strconv.Atoi(strings.TrimSpace(number))
	switch {
	case err != nil || n < 0:
		return Bound{}, fmt.Errorf("%q is no bound (want a number, or <, <=, > or >= and a number)", text)
	case op == "" || op == "<=" || op == ">" || op == ">=":
		return Bound{Op: op, N: n}, nil
	case op == "<" && n > 0:
		return Bound{Op: op, N: n}, nil
	case op == "<":
		return Bound{}, errors.New("nothing is below 0")
	}
	return Bound{}, fmt.Errorf("unknown comparison %q (want <, <=, > or >=, or a number alone)", op)
}

// Holds reports whether a number is one that the bound allows.
func (b Bound) Holds(n int) bool {
	switch b.Op {
	case "<":
		return n < b.N
	case "<=":
		return n <= b.N
	case ">":
		return n > b.N
	case ">=":
		return n >= b.N
	}
	return n == b.N
}

// String prints the bound as it is read.
func (b Bound) String() string {
	if b.Op == "" {
		return strconv.Itoa(b.N)
	}
	return b.Op + " " + strconv.Itoa(b.N)
}

func (b Bound) spell() (*yaml.Node, error) {
	if b.Op == "" {
		return scalar("!!int", b.String()), nil
	}
	return document.Text(b.String()), nil
}

// wrong says what is wrong with a number; a bound that is not given allows everything.
func (b *Bound) wrong(what string, n int) []string {
	if b == nil || b.Holds(n) {
		return nil
	}
	return []string{fmt.Sprintf("%d %s, not %s", n, what, b)}
}
