package fakeipt

import (
	"fmt"
	"io"
	"os"

	"github.com/chainwalk/chainwalk/fakeipt/internal/libc"
)

// saveFlags is what the command line of iptables-save says.
type saveFlags struct {
	counters, version bool
	oneTable          bool // -t was given
	table, file       string
}

// runSave is iptables-save or ip6tables-save.
func (p *program) runSave() int {
	f, ok := p.saveFlags()
	if !ok {
		return statusOther
	}
	if f.version {
		return p.printVersion()
	}
	if status, ok := p.enter(Visit{}); !ok {
		return status
	}
	rs, status := p.savedTables(f)
	if rs == nil {
		return status
	}
	p.warnOfLegacy("-save")
	out := p.stdout
	if f.file != "" {
		file, err := os.Create(f.file)
		if err != nil {
			fmt.Fprintf(p.stderr, "Failed to open file, error: %s\n", libc.FileErrorText(err))
			return statusOther
		}
		defer func() { _ = file.Close() }()
		out = file
	}
	if err := p.writeTables(out, rs, f.counters); err != nil {
		fmt.Fprintf(p.stderr, "%s: %v\n", p.name, err)
		return statusOther
	}
	return 0
}

func (p *program) writeTables(out io.Writer, rs *Ruleset, counters bool) error {
	o := saveOptions{counters: counters, tool: p.name, version: p.kernel.version, now: p.kernel.clock.Now()}
	for _, t := range rs.tables {
		if err := t.save(out, rs, o); err != nil {
			return err
		}
	}
	return nil
}

// savedTables is the ruleset that is to be printed: all of it, or one table. Naming a
// table makes it be there, in the legacy tools for good and in the nft tools for this print.
func (p *program) savedTables(f saveFlags) (*Ruleset, int) {
	name := f.table
	if !f.oneTable {
		return p.kernel.Ruleset(p.family), 0
	}
	kind := findTableKind(name)
	if kind == nil {
		if p.kernel.dialect == NFT {
			fmt.Fprintf(p.stderr, "Table `%s' does not exist\n", name)
			return nil, statusOther
		}
		return nil, p.report(&problem{status: statusOther, msg: "Cannot initialize: " + noTableText(name)}, -1)
	}
	p.kernel.lock.Lock()
	defer p.kernel.lock.Unlock()
	p.kernel.load(p.family, kind)
	rs := p.kernel.Ruleset(p.family)
	one := &Ruleset{family: rs.family, dialect: rs.dialect}
	if t := rs.Table(name); t != nil {
		one.tables = []*Table{t}
	} else {
		one.tables = []*Table{newTable(kind)}
	}
	return one, 0
}

// saveLongs are the long options of iptables-save.
var saveLongs = []libc.LongOption{
	{Name: "counters", Letter: 'c'}, {Name: "version", Letter: 'V'}, {Name: "dump", Letter: 'd'},
	{Name: "table", Letter: 't', Arg: libc.ArgRequired}, {Name: "modprobe", Letter: 'M', Arg: libc.ArgRequired},
	{Name: "file", Letter: 'f', Arg: libc.ArgRequired},
}

// saveFlags reads the command line. ok is false if it cannot be understood.
func (p *program) saveFlags() (f saveFlags, ok bool) {
	g := libc.Getopt{Program: p.argv0, Stderr: p.stderr, Shorts: "bcdt:M:f:V", Longs: saveLongs, Args: p.args}
	for {
		letter, arg, _ := g.Next()
		switch letter {
		case 'b':
			fmt.Fprintln(p.stderr, "-b/--binary option is not implemented")
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
			fmt.Fprintf(p.stderr, "Look at manual page `%s.8' for more information.\n", p.name)
			return f, false
		case libc.GetoptEnd:
			if len(g.Rest) > 0 {
				fmt.Fprintln(p.stderr, "Unknown arguments found on commandline")
				return f, false
			}
			return f, true
		}
	}
}
