package fakeipt

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/chainwalk/chainwalk/fakeipt/match"
	"github.com/chainwalk/chainwalk/fakeipt/ruleset"
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
)

// saveFlags is what the command line of iptables-save says.
type saveFlags struct {
	counters, version bool
	oneTable          bool // -t was given
	table, file       string
}

// save is iptables-save or ip6tables-save.
func (run *toolRun) save() int {
	f, ok := run.saveFlags()
	if !ok {
		return xtables.StatusOther
	}
	if f.version {
		return run.printVersion()
	}
	if status, ok := run.enter(Visit{Table: f.table}); !ok {
		return status
	}
	natives := run.kernel.natives(run.family)
	rs, status := run.savedTables(f, natives)
	if rs == nil {
		return status
	}
	out := run.stdout
	if f.file != "" {
		file, err := os.Create(f.file)
		if err != nil {
			fmt.Fprintf(run.stderr, "Failed to open file, error: %s\n", libc.FileErrorText(err))
			return xtables.StatusOther
		}
		defer func() { _ = file.Close() }()
		out = file
	}
	run.warnOfLabels(rs)
	run.warnOfLegacy("-save")
	if err := run.writeTables(out, rs, f.counters, natives); err != nil {
		fmt.Fprintf(run.stderr, "%s: %v\n", run.name, err)
		return xtables.StatusOther
	}
	return 0
}

// warnOfLabels is what a tool says of labels of connections that it prints: it looks for their names.
func (run *toolRun) warnOfLabels(rs *ruleset.Ruleset) {
	if !run.kernel.namespace.HasLabels() {
		return
	}
	for _, t := range rs.Tables() {
		for c := range t.Unsorted() {
			for _, r := range c.Rules {
				for range match.Labels(r) {
					fmt.Fprint(run.stderr, match.NoLabelNames)
				}
			}
		}
	}
}

// writeTables saves tables. Of those that are not the tools' own it first tells what it leaves out.
func (run *toolRun) writeTables(out io.Writer, rs *ruleset.Ruleset, counters bool, natives map[string]*nativeTable) error {
	o := ruleset.SaveOptions{Counters: counters, Tool: run.name, Version: run.kernel.version, Now: run.kernel.namespace.Clock().Now()}
	for _, t := range rs.Tables() {
		if n := natives[t.Name()]; n != nil {
			switch {
			case n.incompatible(""):
				fmt.Fprintf(run.stdout, "# Table %s\n", incompatibleTable(t.Name()))
				continue
			case n.listable("") != nil:
				return n.listable("")
			case n.others:
				fmt.Fprint(run.stdout, oddChains(t.Name()))
			}
		}
		if err := t.Save(out, rs, o); err != nil {
			return err
		}
	}
	return nil
}

// natives are the tables of nf_tables under names of iptables' that are not the tools' own, by their names.
func (k *Kernel) natives(f netfilter.Family) map[string]*nativeTable {
	all := map[string]*nativeTable{}
	nft := nftables.In(k.namespace)
	if k.dialect != netfilter.NFT || nft == nil {
		return nil
	}
	for _, t := range nft.State().Tables() {
		if n := k.nativeNamed(f, ruleset.FindKind(t.Name)); n != nil {
			all[t.Name] = n
		}
	}
	return all
}

// savedTables is the ruleset that is to be printed: all of it, or one table. Naming a
// table makes it be there, in the legacy tools for good and in the nft tools for this print.
func (run *toolRun) savedTables(f saveFlags, natives map[string]*nativeTable) (*ruleset.Ruleset, int) {
	name := f.table
	if !f.oneTable {
		rs := run.kernel.Ruleset(run.family)
		for _, name := range slices.Sorted(maps.Keys(natives)) {
			rs = rs.With(natives[name].shown())
		}
		return rs, 0
	}
	kind := ruleset.FindKind(name)
	if kind == nil {
		if run.kernel.dialect == netfilter.NFT {
			fmt.Fprintf(run.stderr, "Table `%s' does not exist\n", name)
			return nil, xtables.StatusOther
		}
		return nil, run.report(&xtables.Problem{Status: xtables.StatusOther, Msg: "Cannot initialize: " + noTableText(name)}, -1)
	}
	run.kernel.namespace.Lock()
	defer run.kernel.namespace.Unlock()
	run.kernel.ensure(run.family, kind)
	rs := run.kernel.Ruleset(run.family)
	t := rs.Table(name)
	if n := natives[name]; n != nil {
		t = n.shown()
	}
	if t == nil {
		t = ruleset.NewTable(kind)
	}
	return ruleset.New(rs.Family(), rs.Dialect(), t), 0
}

// saveLongs are the long options of iptables-save.
var saveLongs = []libc.LongOption{
	{Name: "counters", Letter: 'c'}, {Name: "version", Letter: 'V'}, {Name: "dump", Letter: 'd'},
	{Name: "table", Letter: 't', Arg: libc.ArgRequired}, {Name: "modprobe", Letter: 'M', Arg: libc.ArgRequired},
	{Name: "file", Letter: 'f', Arg: libc.ArgRequired},
}

// saveFlags reads the command line. ok is false if it cannot be understood.
func (run *toolRun) saveFlags() (f saveFlags, ok bool) {
	g := libc.Getopt{Program: run.argv0, Stderr: run.stderr, Shorts: "bcdt:M:f:V", Longs: saveLongs, Args: run.args}
	for {
		letter, arg, _ := g.Next()
		switch letter {
		case 'b':
			fmt.Fprintln(run.stderr, "-b/--binary option is not implemented")
		case 'c':
			f.counters = true
		case 't':
			f.table, f.oneTable = arg, true
		case 'f':
			f.file = arg
		case 'V', 'd':
			// The tool does not look at what is behind these.
			f.version = letter == 'V'
			return f, true
		case libc.GetoptBad:
			fmt.Fprintf(run.stderr, "Look at manual page `%s.8' for more information.\n", run.name)
			return f, false
		case libc.GetoptEnd:
			if len(g.Rest) > 0 {
				fmt.Fprintln(run.stderr, "Unknown arguments found on commandline")
				return f, false
			}
			return f, true
		}
	}
}
