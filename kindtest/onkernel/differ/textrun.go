package differ

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/chainwalk/chainwalk/netfilter"
)

// textRun is a text differential of one dialect and family.
type textRun struct {
	bounds  runBounds
	dialect netfilter.Dialect
	// fresh makes a namespace where no tool has run.
	fresh   func() (real runner, done func(), err error)
	gen     *textGen
	numbers *textNumbers
	log     io.Writer
}

// runTexts compares sessions of tool runs until a bound is reached.
func runTexts(b runBounds, d netfilter.Dialect, f netfilter.Family, fresh func() (runner, func(), error),
	log io.Writer) (*textNumbers, error) {
	start := time.Now()
	r := &textRun{
		bounds: b, dialect: d, fresh: fresh, log: log,
		gen: newTextGen(b.Seed, d, f),
		numbers: &textNumbers{Tool: b.Tool, Dialect: d, Family: int(f), Seed: b.Seed, Excused: map[string]int{}, Masked: map[string]int{},
			Repeated: map[string]int{}},
	}
	real, done, err := fresh()
	if err != nil {
		return nil, err
	}
	r.gen.help, err = askSets(real)
	done()
	if err != nil {
		return nil, err
	}
	if !r.gen.ipset {
		r.numbers.Excused["the fake has no ipset: it is left out"] = 0
	}
	for r.goesOn(start) {
		if err := r.one(); err != nil {
			return r.numbers, err
		}
	}
	r.numbers.Seconds, r.numbers.LeftOut = time.Since(start).Seconds(), r.gen.dropped
	return r.numbers, nil
}

// goesOn says that no bound is reached. The time does not bound a run of a number of calls.
func (r *textRun) goesOn(start time.Time) bool {
	if r.bounds.Calls > 0 {
		return r.numbers.Runs < r.bounds.Calls && len(r.numbers.Disagreements) < r.bounds.Most
	}
	return r.numbers.Sessions < r.bounds.Rulesets && time.Since(start) < r.bounds.Time && len(r.numbers.Disagreements) < r.bounds.Most
}

// session makes the runs of one namespace. Half of those of all tools are wide.
func (r *textRun) session() []textStep {
	switch {
	case r.bounds.Tool == "ipset":
		return r.gen.setSession()
	case r.bounds.Tool == "nfacct":
		return r.gen.nfacctSession()
	case r.numbers.Sessions%4 == 0:
		return r.gen.session()
	case r.numbers.Sessions%4 == 1:
		return r.gen.sweep()
	}
	return r.gen.wide()
}

func (r *textRun) judge(c *textCase) (*textVerdict, error) {
	real, done, err := r.fresh()
	if err != nil {
		return nil, err
	}
	defer done()
	folder, err := os.MkdirTemp("", "chainwalk-differ")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	return judgeText(c, real, newFolderRunner(r.dialect, folder, machineEtc()))
}

// machineEtc has the names of this machine, which its tools look up.
func machineEtc() fs.FS { return os.DirFS("/etc") }

// one makes a session and judges it.
func (r *textRun) one() error {
	c := &textCase{Dialect: r.dialect, Steps: r.session()}
	v, err := r.judge(c)
	if err != nil {
		return fmt.Errorf("session %d: %w", r.numbers.Sessions+1, err)
	}
	n := r.numbers
	n.Sessions++
	n.Runs += len(v.Runs)
	for _, run := range v.Runs {
		if run.Status != 0 {
			n.Failing++
		}
	}
	if v.Excused != "" || v.Disagreement != "" {
		n.Differ++
	}
	for _, reason := range v.Masked {
		n.Masked[reason]++
	}
	if v.Excused != "" {
		n.Excused[v.Excused]++
	}
	if v.Disagreement == "" {
		return nil
	}
	if n.Repeated[v.Kind]++; n.Repeated[v.Kind] > 1 {
		return nil
	}
	return r.report(c, v)
}

// report shrinks a case that does not agree and writes it down.
func (r *textRun) report(c *textCase, v *textVerdict) error {
	c.Steps = c.Steps[:len(v.Runs)]
	s := &textShrinking{best: c, last: v, judge: r.judge, until: time.Now().Add(shrinkTime)}
	s.shrink()
	n := len(r.numbers.Disagreements) + 1
	s.best.Title, s.best.Kernel = s.last.Kind, s.last.Runs
	path, err := writeFile(r.bounds.Folder,
		fmt.Sprintf("%s-%s-%d-%d-%d.yaml", r.numbers.what(), s.best.Dialect, r.gen.w.family, r.bounds.Seed, n), s.best)
	if err != nil {
		return err
	}
	r.numbers.Disagreements = append(r.numbers.Disagreements, disagreement{What: s.last.Kind, File: path})
	fmt.Fprintf(r.log, "TEXT DISAGREEMENT %d (%s, seed %d), case in %s\n", n, s.best.Dialect, r.bounds.Seed, path)
	for i := range s.best.Steps[:len(s.best.Steps)-1] {
		fmt.Fprintln(r.log, s.best.Steps[i].String())
	}
	fmt.Fprintln(r.log, s.last.Disagreement)
	return nil
}
