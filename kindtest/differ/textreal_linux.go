package differ

import "os"

// realRunner runs the real tools in a namespace.
type realRunner struct{ place *place }

// freshRunner makes a namespace where no tool has run.
func freshRunner() (runner, func(), error) {
	if err := os.MkdirAll(runFolder(), 0o700); err != nil {
		return nil, nil, err
	}
	p, err := newPlace()
	if err != nil {
		return nil, nil, err
	}
	return &realRunner{p}, p.close, nil
}

func (r *realRunner) run(s *TextStep) (toolRun, error) {
	return r.place.run(s.Argv, s.Stdin)
}
