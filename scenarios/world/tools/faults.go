package tools

import (
	"slices"
	"time"

	"github.com/chainwalk/chainwalk/scenarios"
)

// Faults are what goes wrong with the next commands of a node's proxier. They are taken in the order in which they were added.
type Faults struct {
	pending []*scenarios.Fault
}

// Add has something go wrong. Of the fault, what is done to rules at once is not its matter.
func (f *Faults) Add(fault scenarios.Fault) {
	if fault.Heal {
		f.pending = nil
		return
	}
	fault.Commits = slices.Clone(fault.Commits)
	f.pending = append(f.pending, &fault)
}

// Pending reports whether a command is still to fail.
func (f *Faults) Pending() bool {
	return slices.ContainsFunc(f.pending, func(p *scenarios.Fault) bool {
		return p.RestoreFails+p.SaveFails+p.LockHeld+p.ConntrackFails > 0
	})
}

// Failures are how many commands are still to fail without which a sync has not done its work: all but saves, which serve to clean up.
func (f *Faults) Failures() int {
	sum := 0
	for _, p := range f.pending {
		sum += p.RestoreFails + p.LockHeld + p.ConntrackFails
	}
	return sum
}

// Restores are how many of the commands that are still to fail write rules.
func (f *Faults) Restores() int {
	sum := 0
	for _, p := range f.pending {
		sum += p.RestoreFails
	}
	return sum
}

// take uses up one of what is left to go wrong; nil if nothing is.
func (f *Faults) take(family scenarios.IPFamily, count func(*scenarios.Fault) *int) *scenarios.Fault {
	for _, p := range f.pending {
		if left := count(p); *left > 0 && isOf(p, family) {
			*left--
			return p
		}
	}
	return nil
}

func isOf(f *scenarios.Fault, family scenarios.IPFamily) bool {
	return f.Family == "" || f.Family == family
}

func restoreFails(f *scenarios.Fault) *int   { return &f.RestoreFails }
func saveFails(f *scenarios.Fault) *int      { return &f.SaveFails }
func lockHeld(f *scenarios.Fault) *int       { return &f.LockHeld }
func conntrackFails(f *scenarios.Fault) *int { return &f.ConntrackFails }

// restoreTakes is how long a restore takes: what the last fault says that says something.
func (f *Faults) restoreTakes(family scenarios.IPFamily) time.Duration {
	for _, p := range slices.Backward(f.pending) {
		if p.RestoreTakes != nil && isOf(p, family) {
			return p.RestoreTakes.Duration
		}
	}
	return 0
}
