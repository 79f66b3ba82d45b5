package fakeipt

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// saveFlags is what the command line of iptables-save says.
type saveFlags struct {
	counters, version bool
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
	rs, status := p.savedTables(f.table)
	if rs == nil {
		return status
	}
	out := p.stdout
	if f.file != "" {
		file, err := os.Create(f.file)
		if err != nil {
			fmt.Fprintf(p.stderr, "Cannot open %s: %v\n", f.file, err)
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
func (p *program) savedTables(name string) (*Ruleset, int) {
	if name == "" {
		return p.kernel.Ruleset(p.family), 0
	}
	kind := findTableKind(name)
	if kind == nil {
		if p.kernel.dialect == NFT {
			fmt.Fprintf(p.stderr, "Table `%s' does not exist\n", name)
			return nil, statusOther
		}
		return nil, p.report(&problem{status: statusOther, msg: "Cannot initialize: Table does not exist (do you need to insmod?)"}, -1)
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

// saveFlags reads the command line.
func (p *program) saveFlags() (f saveFlags, ok bool) {
	args := p.args
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		name, value, given := strings.Cut(arg, "=")
		switch name {
		case "-c", "--counters":
			f.counters = true
			continue
		case "-V", "--version":
			f.version = true
			continue
		case "-4", "-6", "--ipv4", "--ipv6":
			continue
		case "-t", "--table", "-f", "--file", "-M", "--modprobe":
		default:
			p.badSaveFlag(arg)
			return f, false
		}
		if !given {
			if len(args) == 0 {
				fmt.Fprintf(p.stderr, "%s: option requires an argument -- '%s'\nLook at manual page `%s.8' for more information.\n", p.argv0, strings.TrimLeft(name, "-"), p.name)
				return f, false
			}
			value, args = args[0], args[1:]
		}
		switch name {
		case "-t", "--table":
			f.table = value
		case "-f", "--file":
			f.file = value
		}
	}
	return f, true
}

func (p *program) badSaveFlag(arg string) {
	switch {
	case strings.HasPrefix(arg, "--"):
		fmt.Fprintf(p.stderr, "%s: unrecognized option '%s'\n", p.argv0, arg)
	case strings.HasPrefix(arg, "-") && len(arg) > 1:
		fmt.Fprintf(p.stderr, "%s: invalid option -- '%c'\n", p.argv0, arg[1])
	default:
		fmt.Fprintln(p.stderr, "Unknown arguments found on commandline")
		return
	}
	fmt.Fprintf(p.stderr, "Look at manual page `%s.8' for more information.\n", p.name)
}
