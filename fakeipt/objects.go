package fakeipt

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/chainwalk/chainwalk/netfilter/ipset"
	"github.com/chainwalk/chainwalk/netfilter/nfacct"
)

// nfacct is nfacct.
func (run *toolRun) nfacct() int {
	k := run.kernel
	t := nfacct.Tool{Objects: k.namespace.Accounts(), Used: k.namespace.NamedAccounts, Rules: k.namespace, Clock: k.namespace.Clock(),
		Stdin: run.stdin, Stdout: run.stdout, Stderr: run.stderr}
	return t.Run(run.args)
}

// ipset is ipset.
func (run *toolRun) ipset() int {
	run.kernel.namespace.Lock()
	defer run.kernel.namespace.Unlock()
	return run.kernel.ipset(run.stdin, run.stdout, run.stderr).Run(run.args)
}

// ipset is the tool. The caller holds the lock as long as it runs.
func (k *Kernel) ipset(stdin io.Reader, stdout, stderr io.Writer) *ipset.Tool {
	return &ipset.Tool{Sets: k.namespace.Sets(), Named: k.namespace.NamedSets, Stdin: stdin, Stdout: stdout, Stderr: stderr,
		ReadFile: os.ReadFile, WriteFile: os.WriteFile}
}

// SaveSets writes every set as "ipset save" prints it.
func (k *Kernel) SaveSets(w io.Writer) error { return k.namespace.Sets().Save(w) }

// LoadSets makes the sets of "ipset save" text, in which other commands may stand, but none that writes a file. name is what
// errors call the text; they are *ParseError.
func (k *Kernel) LoadSets(name string, r io.Reader) error {
	k.namespace.Lock()
	defer k.namespace.Unlock()
	tool := k.ipset(r, io.Discard, io.Discard)
	tool.WriteFile = func(string, []byte, fs.FileMode) error { return syscall.EACCES }
	err := tool.Load()
	var line *ipset.LineError
	if errors.As(err, &line) {
		return &ParseError{File: name, Line: line.Line, Msg: err.Error()}
	}
	return err
}
