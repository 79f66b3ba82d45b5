package iptables

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"k8s.io/utils/exec"
)

// Options are what a Runner may be told. The zero value is for ordinary use.
type Options struct {
	// Tools names the tools of a family. What is not named is as in ToolsOf(family, "").
	Tools map[Protocol]Tools
	// Clock measures the interval of Monitor and all waiting. Default: the real clock.
	Clock clock.WithDelayedExecution
	// TimeLimit is how long one run of iptables may take before it is killed. Default: 5 minutes; below 0: no limit. Save
	// and restore have no limit.
	TimeLimit time.Duration
	// lockFile and lockSocket are the locks of the tools, which the Runner takes itself for tools before 1.6.2. Default:
	// "/run/xtables.lock" and the abstract socket "@xtables".
	lockFile, lockSocket string
	// Logger gets what no caller is told: errors in Monitor, rules of both dialects side by side. The zero value drops it.
	Logger klog.Logger
}

// Tools are the names, or paths, of the three tools of a family.
type Tools struct {
	iptables, Save, Restore string
}

// ToolsOf returns the usual names. The variant is "" for the tools that the system has chosen, or "legacy" or "nft".
func ToolsOf(protocol Protocol, variant string) Tools {
	name := "iptables"
	if protocol == ProtocolIPv6 {
		name = "ip6tables"
	}
	if variant != "" {
		name += "-" + variant
	}
	return Tools{iptables: name, Save: name + "-save", Restore: name + "-restore"}
}

// Runner implements Interface with the tools of one IP family.
type Runner struct {
	exec      exec.Interface
	protocol  Protocol
	tools     Tools
	version   toolVersion
	wait      []string // the version's waitArgs
	clock     clock.WithDelayedExecution
	timeLimit time.Duration
	locks     locks
	logger    klog.Logger

	mu sync.Mutex // held while a tool runs, and between the check of a rule and its change
}

var _ Interface = (*Runner)(nil)

// New returns the Runner of a family. It asks the tools for their version; tools that are not there or that it cannot work
// with are an error. Whether the kernel works with them is asked with Present.
func New(execer exec.Interface, protocol Protocol, opts Options) (*Runner, error) {
	if protocol != ProtocolIPv4 && protocol != ProtocolIPv6 {
		return nil, fmt.Errorf("unknown IP family %q: %s and %s are known", protocol, ProtocolIPv4, ProtocolIPv6)
	}
	r := &Runner{
		exec:      execer,
		protocol:  protocol,
		tools:     ToolsOf(protocol, ""),
		clock:     clock.RealClock{},
		timeLimit: 5 * time.Minute,
		locks:     locks{file: "/run/xtables.lock", socket: "@xtables"},
		logger:    opts.Logger,
	}
	r.apply(opts)
	version, err := r.askVersion()
	if err != nil {
		return nil, fmt.Errorf("setting up the %s tools: %w", protocol, err)
	}
	r.version, r.wait = version, version.waitArgs()
	return r, nil
}

// apply takes over the options that are set.
func (r *Runner) apply(opts Options) {
	tools := opts.Tools[r.protocol]
	r.tools.iptables = cmp.Or(tools.iptables, r.tools.iptables)
	r.tools.Save = cmp.Or(tools.Save, r.tools.Save)
	r.tools.Restore = cmp.Or(tools.Restore, r.tools.Restore)
	r.timeLimit = cmp.Or(opts.TimeLimit, r.timeLimit)
	r.locks.file = cmp.Or(opts.lockFile, r.locks.file)
	r.locks.socket = cmp.Or(opts.lockSocket, r.locks.socket)
	if opts.Clock != nil {
		r.clock = opts.Clock
	}
}

// askVersion runs "iptables --version".
func (r *Runner) askVersion() (toolVersion, error) {
	output, failed := r.run(command{argv: []string{r.tools.iptables, "--version"}, limit: r.timeLimit})
	if failed != nil {
		return toolVersion{}, failed
	}
	version, err := parseVersion(string(output))
	if err != nil {
		return toolVersion{}, fmt.Errorf("%s --version: %w", r.tools.iptables, err)
	}
	return version, version.usable()
}

// NewDualStack returns a Runner of each family that is usable: its tools are there, and Present. The error says why a family
// is missing, and is nil if none is. A caller that can do with one family goes on with what it got.
func NewDualStack(execer exec.Interface, opts Options) (map[Protocol]Interface, error) {
	runners := map[Protocol]Interface{}
	var missing []error
	for _, protocol := range []Protocol{ProtocolIPv4, ProtocolIPv6} {
		runner, err := New(execer, protocol, opts)
		if err == nil {
			err = runner.Present()
		}
		if err != nil {
			missing = append(missing, err)
			continue
		}
		runners[protocol] = runner
	}
	return runners, errors.Join(missing...)
}

// IsIPv6 implements Interface.
func (r *Runner) IsIPv6() bool { return r.protocol == ProtocolIPv6 }

// Protocol implements Interface.
func (r *Runner) Protocol() Protocol { return r.protocol }

// HasRandomFully implements Interface.
func (r *Runner) HasRandomFully() bool { return r.version.atLeast(hasRandomFully) }

// Present implements Interface. It logs if rules of the other dialect are there too: the kernel uses both, and each tool
// shows only its own, which has confused many a cluster.
func (r *Runner) Present() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	output, failed := r.run(r.chainCommand(opListChain, TableNAT, ChainPostrouting))
	if failed != nil {
		return fmt.Errorf("%s iptables is not usable with this kernel: %w", r.protocol, failed)
	}
	for line := range bytes.Lines(output) {
		if bytes.Contains(line, []byte("tables present")) {
			r.logger.Info("Rules of both dialects are on this machine", "version", r.version.String(),
				"warning", string(bytes.TrimSpace(line)))
		}
	}
	return nil
}
