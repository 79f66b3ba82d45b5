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

// rules yields the rules of all tables.
func (rs *Ruleset) rules(yield func(*Rule) bool) {
	for _, t := range rs.tables {
		for c := range t.Chains() {
			for _, r := range c.Rules {
				if !yield(r) {
					return
				}
			}
		}
	}
}

// NoteAccounts notes the accounting objects that rules name.
func (rs *Ruleset) NoteAccounts(used map[string]bool) {
	for r := range rs.rules {
		for _, m := range r.Matches {
			if n, ok := m.(*MatchNFAcct); ok {
				used[n.Object] = true
			}
		}
	}
}

// CountSets adds how often rules name each set.
func (rs *Ruleset) CountSets(count map[string]int) {
	for r := range rs.rules {
		r.countSets(count)
	}
}

func (r *Rule) countSets(count map[string]int) {
	for _, m := range r.Matches {
		if s, ok := m.(*MatchSet); ok {
			count[s.Set]++
		}
	}
	if t, ok := r.Target.(*TargetSet); ok {
		for _, ref := range []ipset.Ref{t.Add, t.Del, t.Map} {
			if ref.Set != "" {
				count[ref.Set]++
			}
		}
	}
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
