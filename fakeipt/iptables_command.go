package fakeipt

import (
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/chainwalk/chainwalk/fakeipt/internal/libc"
)

// runCommand is iptables or ip6tables.
func (p *program) runCommand() int {
	parser := newCommandParser(p.family, caller{p, p.kernel})
	parser.inTable("filter", p.argv0)
	parser.args.setArgs(p.args)
	cmd, err := parser.parse()
	var end *farewell
	if errors.As(err, &end) {
		return p.farewell(end)
	}
	if err != nil {
		return p.commandError(err)
	}
	if status, ok := p.enter(Visit{Locks: true, Wait: cmd.waitSeconds}); !ok {
		return status
	}
	kind := findTableKind(cmd.table)
	if kind == nil {
		return p.commandError(p.noTable(cmd.table))
	}
	return p.runOn(kind, cmd)
}

// noTable is the error of a table that the kernel does not have.
func (p *program) noTable(name string) error {
	if p.kernel.dialect == NFT {
		return &problem{status: statusVersion, msg: fmt.Sprintf("table '%s' does not exist", name)}
	}
	return &problem{status: statusVersion, msg: fmt.Sprintf("can't initialize %s table `%s': %s", p.family.facts().tool, name, noTableText(name))}
}

// maxTableName is the length of a table's name.
const maxTableName = 31

// noTableText is what the legacy tools say about a table that is none.
func noTableText(name string) string {
	if len(name) > maxTableName {
		return "Module is wrong version"
	}
	return "Table does not exist (do you need to insmod?)"
}

// runOn carries the command out on a table and commits what it changed.
func (p *program) runOn(kind *tableKind, cmd *command) int {
	p.kernel.lock.Lock()
	defer p.kernel.lock.Unlock()
	p.kernel.load(p.family, kind)
	x := &execution{edit: newEdit(p.kernel.Ruleset(p.family), kind, p.kernel.objects, p.kernel.sets, 0), warn: p.warnOfLegacy}
	err := x.run(cmd)
	if err == nil && x.edit.changed {
		err = p.kernel.commit(p.family, x.edit)
	}
	if len(x.out) > 0 {
		if _, werr := p.stdout.Write(x.out); werr != nil && err == nil {
			err = &problem{status: statusOther, msg: werr.Error()}
		}
	}
	return p.commandError(err)
}

// commandError prints an error as iptables does.
func (p *program) commandError(err error) int {
	if err == nil {
		return 0
	}
	if usage, ok := asProblem(err); ok {
		return p.report(usage, -1)
	}
	var missing *missingChain
	if errors.As(err, &missing) {
		return p.report(&problem{status: statusParameter, msg: missing.Error()}, -1)
	}
	var commit *commitError
	if errors.As(err, &commit) && commit.failures != nil {
		return p.reportBatch(commit.failures, false)
	}
	fmt.Fprintf(p.stderr, "%s: %s\n", p.name, refusalText(err))
	return statusOther
}

// refusalText is the message of libiptc for an error.
func refusalText(err error) string {
	var commit *commitError
	if errors.As(err, &commit) {
		return errnoSentence(commit.errno)
	}
	var r *refusal
	if !errors.As(err, &r) {
		return err.Error()
	}
	if r.errno == syscall.EINVAL {
		return r.msg + ". Run `dmesg' for more information."
	}
	return strings.TrimSuffix(r.msg, ".") + "."
}

// errnoSentence is the message for an errno of the kernel.
func errnoSentence(errno syscall.Errno) string {
	switch errno {
	case syscall.EINVAL:
		return "Invalid argument. Run `dmesg' for more information."
	case syscall.ENOENT:
		return "No chain/target/match by that name."
	}
	return libc.Strerror(errno) + "."
}

// farewell prints the version or the help.
func (p *program) farewell(f *farewell) int {
	switch {
	case f.help:
		fmt.Fprint(p.stdout, p.help())
	case f.inverted:
		fmt.Fprintf(p.stdout, "Not %s (%s) ;-)\n", p.kernel.version, p.kernel.variant())
	default:
		return p.printVersion()
	}
	return 0
}

// help is what -h prints.
func (p *program) help() string {
	return fmt.Sprintf(`%[1]s v%[2]s (%[3]s)

Usage: %[1]s [-t TABLE] COMMAND [OPTION]...

Commands:
  -A, --append CHAIN RULE           -N, --new-chain CHAIN
  -I, --insert CHAIN [N] RULE       -X, --delete-chain [CHAIN]
  -R, --replace CHAIN N RULE        -E, --rename-chain OLD NEW
  -D, --delete CHAIN RULE|N         -P, --policy CHAIN ACCEPT|DROP
  -C, --check CHAIN RULE            -F, --flush [CHAIN]
  -L, --list [CHAIN [N]]            -Z, --zero [CHAIN [N]]
  -S, --list-rules [CHAIN [N]]

Rules, each with "!" before it for the opposite where that makes sense:
  -s, --source ADDRESS[/MASK][,...]        -i, --in-interface NAME[+]
  -d, --destination ADDRESS[/MASK][,...]   -o, --out-interface NAME[+]
  -p, --protocol NAME                      -f, --fragment
  -m, --match NAME OPTIONS                 -c, --set-counters PACKETS BYTES
  -j, --jump TARGET OPTIONS                -g, --goto CHAIN

Other options: -n -v -x --line-numbers, -w [SECONDS], -t TABLE, -4, -6, -M FILE (not used), -V, -h.
`, p.name, p.kernel.version, p.kernel.variant())
}
