package differ

import (
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/kindtest/internal/toolrun"
)

// end compares the state that is left.
func (j *judging) end() error {
	if j.v.RulesRefused || j.v.Answer.Restore.Status != 0 || j.v.Answer.OtherRestore.Status != 0 {
		return nil
	}
	if j.c.NFT != "" {
		return j.endNative()
	}
	end, err := j.real.end()
	if err != nil {
		return err
	}
	j.v.Answer.endState = *end
	if j.v.Disagreement != "" || j.apart { // the end is for the record
		return nil
	}
	ours := j.fakeEnd()
	switch {
	case end.Save != ours.Save:
		j.disagree("counters", "iptables-save -c\n%s", toolrun.Diff(strings.Split(end.Save, "\n"), strings.Split(ours.Save, "\n")))
	case end.OtherSave != ours.OtherSave:
		j.disagree("counters", "iptables-save -c of the other dialect\n%s",
			toolrun.Diff(strings.Split(end.OtherSave, "\n"), strings.Split(ours.OtherSave, "\n")))
	case !slices.Equal(j.knownPorts(end.Conntrack), j.knownPorts(ours.Conntrack)):
		j.disagree("conntrack", "\n%s", toolrun.Diff(end.Conntrack, ours.Conntrack))
	case !slices.Equal(end.NFAcct, ours.NFAcct):
		j.disagree("nfacct", "\n%s", toolrun.Diff(end.NFAcct, ours.NFAcct))
	}
	return nil
}

func (j *judging) fakeEnd() *endState {
	save := runFake(j.fake, []string{tool("iptables-save", j.c.Dialect, j.family), "-c"}, "")
	e := &endState{Save: toolrun.WithoutDates(save.Stdout), Conntrack: hostConnectionLines(j.host, j.family, j.realTuple)}
	if j.c.OtherRules != "" {
		beside := runFake(fakeipt.Kernels(j.fake.Namespace())[1], []string{tool("iptables-save", j.c.other(), j.family), "-c"}, "")
		e.OtherSave = toolrun.WithoutDates(beside.Stdout)
	}
	if len(j.c.NFAcct) > 0 {
		e.NFAcct = sortedLines(runFake(j.fake, []string{"nfacct", "list"}, "").Stdout)
	}
	return e
}
