package differ

import (
	"github.com/chainwalk/chainwalk/internal/namespace"
)

// realRunner runs the real tools in a namespace.
type realRunner struct{ ns *namespace.Namespace }

// freshRunner makes a namespace where no tool has run.
func freshRunner() (runner, func(), error) {
	ns, err := namespace.New()
	if err != nil {
		return nil, nil, err
	}
	return &realRunner{ns}, func() { _ = ns.Close() }, nil
}

func (r *realRunner) run(s *textStep) (toolRun, error) { return runIn(r.ns, s.Argv, s.Stdin) }

// runIn runs a tool in a namespace.
func runIn(ns *namespace.Namespace, argv []string, stdin string) (toolRun, error) {
	r, err := ns.Run(argv, stdin)
	return toolRun{Stdout: r.Stdout, Stderr: r.Stderr, Status: r.Status}, err
}
