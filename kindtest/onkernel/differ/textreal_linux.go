package differ

import (
	"github.com/chainwalk/chainwalk/internal/namespace"
	"github.com/chainwalk/chainwalk/kindtest/internal/toolrun"
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

func (r *realRunner) run(s *textStep) (toolrun.Run, error) { return runIn(r.ns, s.Argv, s.Stdin) }

// runIn runs a tool in a namespace.
func runIn(ns *namespace.Namespace, argv []string, stdin string) (toolrun.Run, error) {
	r, err := ns.Run(argv, stdin)
	return toolrun.Run{Stdout: r.Stdout, Stderr: r.Stderr, Status: r.Status}, err
}
