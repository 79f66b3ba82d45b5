package differ

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/kindtest/internal/toolrun"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// nativeKernel is a kernel whose tables of nf_tables can be read.
type nativeKernel interface {
	nativeChanges() ([]nftables.Change, error)
	nativeEnd() ([]string, error)
}

// loadNative loads native tables into the real kernel and gives the walk the tables that this kernel made of the text.
func (j *judging) loadNative() error {
	run, beside, err := j.real.begin(j.c)
	if err != nil {
		return err
	}
	j.v.Answer.Restore, j.v.Answer.OtherRestore = run, beside
	if run.Status != 0 {
		j.v.RulesRefused = true
		return nil
	}
	changes, err := j.real.(nativeKernel).nativeChanges()
	if err != nil {
		return err
	}
	j.fake = fakeipt.New(fakeipt.Options{Dialect: j.c.other()})
	if j.c.OtherRules != "" {
		runFake(j.fake, []string{tool("iptables-restore", j.c.other(), j.family)}, emptyRules)
		if ours := runFake(j.fake, []string{tool("iptables-restore", j.c.other(), j.family)}, j.c.OtherRules); ours != beside {
			j.disagree("restore", "the real tool of the other dialect: %+v, ours: %+v", beside, ours)
			return nil
		}
	}
	if refused := nftables.Of(j.fake.Namespace()).Commit(changes); len(refused) > 0 {
		j.disagree("restore", "ours refuses change %d, %+v: %v", refused[0].Change, changes[refused[0].Change], refused[0])
	}
	j.v.Native = nativeRules(nftables.Of(j.fake.Namespace()))
	return nil
}

// endNative compares what packets have left in the tables.
func (j *judging) endNative() error {
	theirs, err := j.real.(nativeKernel).nativeEnd()
	if err != nil || j.v.Disagreement != "" || j.apart {
		return err
	}
	connections, err := j.real.connections()
	if err != nil {
		return err
	}
	ours := nativeStateLines(nftables.Of(j.fake.Namespace()))
	known := hostConnectionLines(j.host, j.family, j.realTuple)
	switch {
	case strings.Contains(j.c.NFT, "random"): // draws and ports are counted that no trace shows
	case !slices.Equal(theirs, ours):
		j.disagree("counters", "\n%s", toolrun.Diff(theirs, ours))
	}
	switch {
	case j.v.Disagreement != "":
	case !slices.Equal(j.knownPorts(connections), j.knownPorts(known)):
		j.disagree("conntrack", "\n%s", toolrun.Diff(connections, known))
	}
	return nil
}

// nativeStateLines is what packets have left in the fake's tables, as nativeEnd has it of the real ones.
func nativeStateLines(k *nftables.Kernel) []string {
	var lines []string
	for _, t := range k.State().Tables() {
		for _, c := range t.Chains() {
			for i, rule := range c.Rules {
				lines = append(lines, countedIn(fmt.Sprintf("%s %s rule %d", t.Name, c.Name, i+1), rule.Exprs)...)
			}
		}
		for _, s := range t.Sets() {
			if s.Flags&nftables.SetAnonymous != 0 {
				continue
			}
			for _, e := range s.Elements(k.Clock().Now()) {
				lines = append(lines, elementLine(t.Name, s.Name, e))
			}
		}
		for _, o := range t.Objects() {
			lines = append(lines, countedIn(t.Name+" "+o.Name, []expr.Expr{o.Value})...)
		}
	}
	slices.Sort(lines)
	return lines
}

// countedIn is what expressions have counted. The kernel does not tell more of a quota than the quota itself (nft_quota_do_dump).
func countedIn(at string, exprs []expr.Expr) []string {
	var lines []string
	for i, x := range exprs {
		switch x := x.(type) {
		case *expr.Counter:
			lines = append(lines, fmt.Sprintf("%s %d: %d packets, %d bytes", at, i, x.Packets(), x.Bytes()))
		case *expr.Quota:
			lines = append(lines, fmt.Sprintf("%s %d: quota %d", at, i, min(x.Consumed.Bytes(), x.Bytes)))
		}
	}
	return lines
}

// elementLine is an element, with the hours that it lives on.
func elementLine(table, set string, e *nftables.Element) string {
	line := fmt.Sprintf("%s %s %x-%x flags %d", table, set, e.Key, e.KeyEnd, e.Flags)
	if !e.Deadline.IsZero() {
		line += " until " + time.Until(e.Deadline).Round(time.Hour).String()
	}
	return line + " " + strings.Join(countedIn("", e.Exprs), " ")
}

// isNative says whether a step is one of a native table.
func isNative(family string) bool { return family != "" }
