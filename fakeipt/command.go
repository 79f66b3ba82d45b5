package fakeipt

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
)

// runCommand is iptables or ip6tables.
func (p *program) runCommand() int {
	parser := newArgumentParser(p.family, p.kernel.dialect)
	parser.table = "filter"
	parser.words.setArgs(p.args)
	cmd, err := parser.parse()
	if parser.cmd.waitInterval {
		fmt.Fprintln(p.stderr, "Ignoring deprecated --wait-interval option.")
	}
	if err == nil && cmd.waitInterval && !cmd.wait {
		err = badParameter("--wait-interval only makes sense with --wait\n")
	}
	if err != nil {
		return p.commandError(err)
	}
	switch {
	case cmd.version:
		return p.printVersion()
	case cmd.help:
		return p.commandError(badParameter("not supported: -h"))
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
	return &problem{status: statusVersion, msg: fmt.Sprintf("can't initialize %s table `%s': Table does not exist (do you need to insmod?)", p.family.facts().tool, name)}
}

// runOn carries the command out on a table and commits what it changed.
func (p *program) runOn(kind *tableKind, cmd *command) int {
	p.kernel.lock.Lock()
	defer p.kernel.lock.Unlock()
	p.kernel.load(p.family, kind)
	x := &execution{edit: newEdit(p.kernel.Ruleset(p.family), kind, p.kernel.objects, 0)}
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

// commit checks an edit and makes its table the current one.
func (k *Kernel) commit(f Family, e *tableEdit) error {
	t, err := e.commit()
	switch {
	case err != nil:
		return err
	case t != nil:
		k.store(f, t)
	case e.flushed:
		k.drop(f, e.kind)
	}
	return nil
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
	return errnoText(errno) + "."
}
