package nftables

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"k8s.io/utils/exec"
)

// Options are what a Runner may be told. The zero value is for ordinary use.
type Options struct {
	// Tool is the name, or the path, of nft. Default: "nft".
	Tool string
	// KernelRelease is the release of the kernel, "6.1.0-18-amd64". One before 5.13 is refused. Empty: it is not looked at.
	KernelRelease string
	// Clock measures the interval of Monitor. Default: the real clock.
	Clock clock.WithDelayedExecution
	// TimeLimit is how long one question to nft may take before it is killed. Default: 5 minutes; below 0: no limit. A transaction has no
	// limit: one of ten thousand services takes minutes on an old kernel.
	TimeLimit time.Duration
	// Logger gets what no caller is told: errors in Monitor. The zero value drops it.
	Logger klog.Logger
}

// Runner implements Interface with nft.
type Runner struct {
	exec      exec.Interface
	family    v1.IPFamily
	tool      string
	comments  bool
	clock     clock.WithDelayedExecution
	timeLimit time.Duration
	logger    klog.Logger

	mu sync.Mutex // held while nft runs
}

var _ Interface = (*Runner)(nil)

// New returns the Runner of a family. It asks nft for its version, and whether the kernel would take a table: a tool that is not there, one
// that is too old, and a kernel without nf_tables are errors.
func New(execer exec.Interface, family v1.IPFamily, opts Options) (*Runner, error) {
	if family != v1.IPv4Protocol && family != v1.IPv6Protocol {
		return nil, fmt.Errorf("unknown IP family %q: %s and %s are known", family, v1.IPv4Protocol, v1.IPv6Protocol)
	}
	r := &Runner{
		exec:      execer,
		family:    family,
		tool:      cmp.Or(opts.Tool, "nft"),
		clock:     opts.Clock,
		timeLimit: cmp.Or(opts.TimeLimit, 5*time.Minute),
		logger:    opts.Logger,
	}
	if r.clock == nil {
		r.clock = clock.RealClock{}
	}
	if err := errors.Join(checkKernel(opts.KernelRelease), r.checkVersion()); err != nil {
		return nil, fmt.Errorf("setting up nft for %s: %w", family, err)
	}
	if err := r.probe(); err != nil {
		return nil, fmt.Errorf("nf_tables of %s are not usable with this kernel: %w", family, err)
	}
	return r, nil
}

// NewDualStack returns a Runner of each family that is usable. The error says why a family is missing, and is nil if none is. A caller
// that can do with one family goes on with what it got.
func NewDualStack(execer exec.Interface, opts Options) (map[v1.IPFamily]Interface, error) {
	runners := map[v1.IPFamily]Interface{}
	var missing []error
	for _, family := range []v1.IPFamily{v1.IPv4Protocol, v1.IPv6Protocol} {
		runner, err := New(execer, family, opts)
		if err != nil {
			missing = append(missing, err)
			continue
		}
		runners[family] = runner
	}
	return runners, errors.Join(missing...)
}

// Family implements Interface.
func (r *Runner) Family() v1.IPFamily { return r.family }

// Comments implements Interface.
func (r *Runner) Comments() bool { return r.comments }

// Word is how nft spells the family of tables for an address family.
func Word(family v1.IPFamily) string {
	if family == v1.IPv6Protocol {
		return "ip6"
	}
	return "ip"
}

// probe finds out whether the kernel takes tables, and comments of them, without making one.
func (r *Runner) probe() error {
	table := "add table " + Word(r.family) + " kube-proxy"
	_, err := r.run([]byte(table+" { comment \"test\" ; }\n"), "--check", "-f", "-")
	r.comments = err == nil
	if err == nil {
		return nil
	}
	_, err = r.run([]byte(table+"\n"), "--check", "-f", "-")
	return err
}

// Apply implements Interface.
func (r *Runner) Apply(transaction []byte) error {
	_, err := r.runFor(0, transaction, "-f", "-")
	return err
}

// run runs nft to its end, within the time limit, and returns what it printed.
func (r *Runner) run(stdin []byte, args ...string) (stdout []byte, err error) {
	return r.runFor(r.timeLimit, stdin, args...)
}

// runFor is run with another limit; 0 and below: none.
func (r *Runner) runFor(limit time.Duration, stdin []byte, args ...string) (stdout []byte, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	ctx, stop := r.context(limit)
	defer stop()

	var printed, complaints bytes.Buffer
	cmd := r.exec.CommandContext(ctx, r.tool, args...)
	if stdin != nil {
		cmd.SetStdin(bytes.NewReader(stdin))
	}
	cmd.SetStdout(&printed)
	cmd.SetStderr(&complaints)
	err = cmd.Run()
	if err == nil {
		return printed.Bytes(), nil
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return nil, newCommandError(append([]string{r.tool}, args...), err, complaints.String())
}

// context ends after the limit on the Runner's clock, or with stop.
func (r *Runner) context(limit time.Duration) (ctx context.Context, stop func()) {
	if limit <= 0 {
		return context.Background(), func() {}
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	timer := r.clock.AfterFunc(limit, func() {
		cancel(fmt.Errorf("killed after %s: %w", limit, context.DeadlineExceeded))
	})
	return ctx, func() {
		timer.Stop()
		cancel(nil)
	}
}
