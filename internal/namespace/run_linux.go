package namespace

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// Result is what a program that has ended left. Status is its exit status, or that of a shell where a signal ended it: 128 and the signal's
// number.
type Result struct {
	Status         int
	Stdout, Stderr string
}

// statusSignal is added to the number of a signal that ended a program.
const statusSignal = 128

// Environment is what programs of the namespace get: that of this process, with the namespace's lock.
func (n *Namespace) Environment() []string {
	return append(os.Environ(), "XTABLES_LOCKFILE="+n.LockFile())
}

// Run runs a program in the namespace until it ends. An exit status is no error. The program does not outlive this process.
func (n *Namespace) Run(argv []string, stdin string) (r Result, err error) {
	var stdout, stderr bytes.Buffer
	err = n.Do(func() error {
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
		cmd.Env = n.Environment()
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		return cmd.Run()
	})
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		r.Status, err = exit.ExitCode(), nil
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			r.Status = statusSignal + int(status.Signal())
		}
	}
	r.Stdout, r.Stderr = stdout.String(), stderr.String()
	return r, err
}

// Output runs a program and returns what it prints. An exit status other than 0 is an error, which has what the program says about it.
func (n *Namespace) Output(argv []string, stdin string) (string, error) {
	r, err := n.Run(argv, stdin)
	if err == nil && r.Status != 0 {
		err = fmt.Errorf("exit status %d: %s", r.Status, r.Stderr)
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", strings.Join(argv, " "), err)
	}
	return r.Stdout, nil
}
