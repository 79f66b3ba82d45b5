package fakenft

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/chainwalk/chainwalk/fakenft/decompile"
	"github.com/chainwalk/chainwalk/fakenft/print"
	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// handleText is what -a puts behind a line.
func (r *run) handleText(number uint64) string {
	if !r.handles {
		return ""
	}
	return fmt.Sprintf(" # handle %d", number)
}

// declared is a decompiler of what a table has, to which the table is declared.
func (r *run) declared(t *nftables.Table) *decompile.Decompiler {
	d := r.decompiler(t)
	d.Table(&t.TableSpec, t.Handle)
	return d
}

// plain are the options of what is echoed, without handles.
func (r *run) plain() *print.Options {
	o := r.printing()
	o.Handles = false
	return o
}

// tableText is a table as it is echoed, behind the verb, as the texts of other things below.
func (r *run) tableText(t *nftables.Table) string {
	flags := ""
	if t.Flags&nftables.TableDormant != 0 {
		flags = " { flags dormant; }"
	}
	return fmt.Sprintf("table %s %s%s%s", t.Family, t.Name, flags, r.handleText(t.Handle))
}

func (r *run) chainText(t *nftables.Table, c *nftables.Chain) string {
	decl := r.declared(t).Chain(&c.ChainSpec, c.Handle)
	decl.Comment, decl.HasComment = "", false
	if decl.Hook != nil {
		decl.Hook.DeviceNames = nil // the kernel does not report them
	}
	table := &syntax.TableDecl{Handle: syntax.Handle{Family: t.Family, Table: t.Name}, Chains: []*syntax.ChainDecl{decl}}
	text, err := print.AppendChains(nil, []*syntax.TableDecl{table}, r.plain())
	hook := ""
	if lines := bodyOf(text); err == nil && len(lines) > 0 {
		hook = " { " + strings.Join(lines, " ") + " }"
	}
	return fmt.Sprintf("chain %s %s %s%s%s", t.Family, t.Name, c.Name, hook, r.handleText(c.Handle))
}

// bodyOf are the lines of what a table has, without the lines around them.
func bodyOf(text []byte) []string {
	var lines []string
	for line := range bytes.Lines(text) {
		if inner, is := bytes.CutPrefix(line, []byte("\t\t")); is {
			lines = append(lines, strings.TrimSpace(string(inner)))
		}
	}
	return lines
}

// opened is what stands behind "{" in one line: a handle, if those are asked for.
func (r *run) opened(number uint64) string {
	if !r.handles {
		return "{ "
	}
	return fmt.Sprintf("{ # handle %d ", number)
}

func (r *run) setText(t *nftables.Table, s *nftables.Set) string {
	decl := r.declared(t).Declaration(s.Name)
	decl.Size, decl.Timeout, decl.GCInterval = s.Size, uint64(s.Timeout/time.Millisecond), uint64(s.GCInterval/time.Millisecond)
	table := &syntax.TableDecl{Handle: syntax.Handle{Family: t.Family, Table: t.Name}, Sets: []*syntax.SetDecl{decl}}
	text, _ := print.AppendSets(nil, []*syntax.TableDecl{table}, syntax.KindSet, r.plain())
	return fmt.Sprintf("%s %s %s %s %s%s; } ", setWord(s.Flags&(nftables.SetMap|nftables.SetObject) != 0), t.Family, t.Name, s.Name,
		r.opened(s.Handle), strings.Join(bodyOf(text), "; "))
}

func (r *run) objectText(t *nftables.Table, o *nftables.Object) string {
	decl := r.declared(t).Object(&o.ObjectSpec, o.Handle)
	table := &syntax.TableDecl{Handle: syntax.Handle{Family: t.Family, Table: t.Name}, Objects: []*syntax.ObjectDecl{decl}}
	text, _ := print.AppendObjects(nil, []*syntax.TableDecl{table}, o.Type, r.plain())
	_, head, _ := strings.Cut(string(text), "\n\t")
	kind, _, _ := strings.Cut(head, " "+o.Name+" {")
	head = fmt.Sprintf("%s %s %s %s %s", kind, t.Family, t.Name, o.Name, r.opened(o.Handle))
	if o.Type == expr.ObjectSynproxy {
		head = strings.TrimSuffix(head, " ")
		for line := range bytes.Lines(text) {
			if inner, is := bytes.CutPrefix(line, []byte("\t\t")); is {
				head += " " + strings.TrimSuffix(string(inner), "\n") // with the blanks that it has where flags are left out
			}
		}
		return head + "; } "
	}
	return head + oneLine(o.Type, bodyOf(text)) + " } "
}

// oneLine is what an object has, in one line.
func oneLine(kind expr.ObjectType, lines []string) string {
	switch kind {
	case expr.ObjectCTHelper, expr.ObjectCTTimeout, expr.ObjectCTExpect:
		for i, line := range lines {
			lines[i] = strings.TrimSuffix(line, ";") + ";"
		}
	default:
	}
	return strings.Join(lines, " ")
}
