package nftdiffer

import (
	"fmt"
	"strings"
)

// intervals is one transaction that declares a set of intervals and changes it, or changes one that is there, several times: nft keeps
// those elements in lists of its own while it evaluates.
func (g *gen) intervals() string {
	g.ask("command", "changes of intervals in one transaction")
	t := g.table()
	of := t.family + " " + t.name + " " + g.one("spans", "spans", "spans2")
	var b strings.Builder
	if !g.in(3) {
		b.WriteString(g.spansDecl(of) + "\n")
	}
	for range 1 + g.n(5) {
		switch g.n(12) {
		case 0:
			b.WriteString(g.spansDecl(of))
		case 1:
			b.WriteString("flush set " + of)
		case 2:
			fmt.Fprintf(&b, "add chain %s %s c", t.family, t.name) // so that nft does not take the elements around it together
		case 3, 4, 5, 6:
			fmt.Fprintf(&b, "delete element %s { %s }", of, g.spans())
		default:
			fmt.Fprintf(&b, "%s element %s { %s }", g.one("add", "add", "add", "create"), of, g.spans())
		}
		b.WriteString("\n")
	}
	return b.String()
}

func (g *gen) spansDecl(of string) string {
	decl := g.one("add", "add", "add", "create") + " set " + of + " { type mark ; flags interval ; " + g.one("", "", "auto-merge ; ")
	if !g.in(4) {
		decl += "elements = { " + g.spans() + " } ; "
	}
	return decl + g.one("", "", "", "size 6 ; ") + "}"
}

// spans are a few small numbers and ranges, so that they often touch or are the same.
func (g *gen) spans() string {
	items := make([]string, 1+g.n(3))
	for i := range items {
		from := g.n(12)
		items[i] = fmt.Sprint(from)
		if g.in(2) {
			items[i] += fmt.Sprintf("-%d", from+1+g.n(4))
		}
		if g.in(12) {
			items[i] += ` comment "x"`
		}
	}
	return strings.Join(items, ", ")
}
