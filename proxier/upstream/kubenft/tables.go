package kubenft

import (
	"bytes"
	"errors"
	osexec "os/exec"
	_ "unsafe" // for go:linkname

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/exec"
	"sigs.k8s.io/knftables"
)

// Table is the name of kube-proxy's tables, one of each family.
const Table = "kube-proxy"

// execer is what knftables runs programs with (execer in its exec.go).
type execer interface {
	LookPath(file string) (string, error)
	Run(cmd *osexec.Cmd) (string, error)
}

// newTables is knftables.New for any execer.
//
//go:linkname newTables sigs.k8s.io/knftables.newInternal
func newTables(family knftables.Family, table string, programs execer, options ...knftables.Option) (knftables.Interface, error)

// wrapError is what knftables makes of the error of a program.
//
//go:linkname wrapError sigs.k8s.io/knftables.wrapError
func wrapError(err error) error

// tablesOf is knftables over the given nft, for kube-proxy's table of a family. It asks nft for its version and whether it takes comments, as
// kube-proxy does when it starts.
func tablesOf(family v1.IPFamily, programs exec.Interface) (knftables.Interface, error) {
	return newTables(tableFamily(family), Table, runner{programs})
}

func tableFamily(family v1.IPFamily) knftables.Family {
	if family == v1.IPv6Protocol {
		return knftables.IPv6Family
	}
	return knftables.IPv4Family
}

// runner runs with an exec.Interface what knftables wants to run with os/exec.
type runner struct{ programs exec.Interface }

// LookPath implements execer.
func (r runner) LookPath(file string) (string, error) { return r.programs.LookPath(file) }

// Run implements execer: it returns what the program prints. An error has what the program says about it.
func (r runner) Run(cmd *osexec.Cmd) (string, error) {
	run := r.programs.Command(cmd.Args[0], cmd.Args[1:]...)
	var out, said bytes.Buffer
	run.SetStdout(&out)
	run.SetStderr(&said)
	if cmd.Stdin != nil {
		run.SetStdin(cmd.Stdin)
	}
	err := run.Run()
	if exit := exec.ExitError(nil); errors.As(err, &exit) {
		err = &osexec.ExitError{Stderr: said.Bytes()}
	}
	if err != nil {
		err = wrapError(err)
	}
	return out.String(), err
}
