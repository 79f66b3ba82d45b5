package packetsim

import (
	"fmt"

	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// Walk gives every outcome of a packet, the probabilities adding up to 1. The host is unchanged afterwards: no entry
// is made and nothing is counted. All outcomes are of the rulesets and sets that the first one met, and tools wait to change these sets.
func (h *Host) Walk(in inet.Input) ([]Outcome, error) { return h.WalkWith(in, WalkOptions{}) }

// WalkOptions say what a walk tells beside the steps, and what it takes for granted.
type WalkOptions struct {
	// Missed tells also the rules that were looked at and did not match (EventMissed).
	Missed bool
	// Guess goes on at an unknown rule, once for each answer it could give (EventOpaque), where Walk ends with an OpaqueError.
	// An outcome's probability is then that under its answers.
	Guess bool
	// Sysctls are settings that the walk finds in the place of the host's, as after SetSysctl.
	Sysctls map[string]string
	// State is what conntrack takes the packet for. What the host's own stack sends because of it is found as always.
	State PacketState
	// Back also walks the answer to a first packet, in each outcome in which it would be answered (Outcome.Back).
	Back bool
}

// WalkWith is Walk with options.
func (h *Host) WalkWith(in inet.Input, o WalkOptions) ([]Outcome, error) {
	told := tellAll
	if o.Missed {
		told |= tellMissed
	}
	if o.Guess {
		told |= guess
	}
	if o.Back {
		told |= tellBack
	}
	h.lock.Lock()
	defer h.lock.Unlock()
	h.given = o.State
	defer func() { h.given = StateFound }()
	if len(o.Sysctls) > 0 {
		own := h.sysctls
		defer func() {
			h.sysctls = own
			_ = h.readSysctls() // which it was read from before
		}()
		if err := h.lendSysctls(o.Sysctls); err != nil {
			return nil, err
		}
	}
	return h.outcomes(in, told)
}

// Verdicts is Walk without steps, which takes far less time.
func (h *Host) Verdicts(in inet.Input) ([]Outcome, error) { return h.VerdictsIn(StateFound, in) }

// VerdictsIn is Verdicts of a packet that conntrack takes for one in a state.
func (h *Host) VerdictsIn(state PacketState, in inet.Input) ([]Outcome, error) {
	h.lock.Lock()
	defer h.lock.Unlock()
	h.given = state
	defer func() { h.given = StateFound }()
	return h.outcomes(in, tellDNAT)
}

// text is what a walk puts into words.
type text uint8

const (
	tellDNAT text = 1 << iota
	tellSteps
	tellEvents
	tellMissed
	guess // at unknown rules
	tellBack
)

// tellAll is what Walk tells.
const tellAll = tellDNAT | tellSteps | tellEvents

// outcomes enumerates the draws of a walk of the host, which is locked.
func (h *Host) outcomes(in inet.Input, told text) ([]Outcome, error) {
	h.memory.freeze()
	defer h.memory.release()
	var outcomes []Outcome
	var current Outcome
	var hooks familyHooks
	err := Enumerate(func(c Chance) error {
		current = Outcome{}
		return h.look(&in, c, told, &hooks, &current)
	}, func(probability float64) error {
		current.setProbability(probability * current.guesses())
		outcomes = append(outcomes, current)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return outcomes, nil
}

// Verdict walks the packet once, with the draws of c, and notes no steps. The host is unchanged afterwards. The outcome's
// probability is left 0.
func (h *Host) Verdict(in inet.Input, c Chance) (Outcome, error) {
	return h.VerdictIn(StateFound, in, c)
}

// VerdictIn is Verdict of a packet that conntrack takes for one in a state.
func (h *Host) VerdictIn(state PacketState, in inet.Input, c Chance) (Outcome, error) {
	h.lock.Lock()
	defer h.lock.Unlock()
	h.given = state
	defer func() { h.given = StateFound }()
	h.memory.freeze()
	defer h.memory.release()
	var hooks familyHooks
	h.verdict = Outcome{}
	err := h.look(&in, c, tellDNAT, &hooks, &h.verdict)
	return h.verdict, err
}

// look is a step that is undone.
func (h *Host) look(in *inet.Input, c Chance, told text, hooks *familyHooks, o *Outcome) error {
	mark := h.probe()
	defer h.endProbe(mark)
	if err := h.step(in, c, told, hooks, o); err != nil || told&tellBack == 0 {
		return err
	}
	h.answered(in, o, told, hooks)
	return nil
}

func (o *Outcome) setProbability(p float64) {
	o.Probability = p
	for i := range o.Replies {
		o.Replies[i].Outcome.setProbability(p)
	}
}

// Step walks the packet once, with the draws of c, and keeps what it changes: connections, recent lists, counters. After an error the host
// is as it was. The outcome's probability is left 0.
func (h *Host) Step(in inet.Input, c Chance) (o Outcome, err error) {
	h.lock.Lock()
	defer h.lock.Unlock()
	var hooks familyHooks
	err = h.step(&in, c, tellAll, &hooks, &o)
	return o, err
}

// StepInto is Step that writes the outcome to o, which is empty. After an error o means nothing.
func (h *Host) StepInto(in *inet.Input, c Chance, o *Outcome) error {
	h.lock.Lock()
	defer h.lock.Unlock()
	var hooks familyHooks
	return h.step(in, c, tellAll, &hooks, o)
}

// StepsInto is StepInto without Events, and has the Steps where those are that o had before.
func (h *Host) StepsInto(in *inet.Input, c Chance, o *Outcome) error {
	h.lock.Lock()
	defer h.lock.Unlock()
	var hooks familyHooks
	*o = Outcome{Steps: o.Steps[:0]}
	return h.step(in, c, tellDNAT|tellSteps, &hooks, o)
}

// Pass is Step without text, which takes far less time: no steps are noted, nor is DNAT. It writes the outcome to o, and has its Replies
// where those are that o had before. After an error o means nothing.
func (h *Host) Pass(in *inet.Input, c Chance, o *Outcome) error {
	h.lock.Lock()
	defer h.lock.Unlock()
	var hooks familyHooks
	*o = Outcome{Replies: o.Replies[:0]}
	return h.step(in, c, 0, &hooks, o)
}

// step writes the outcome to o, which is empty but for room. If hooks are missing, it takes those of the rulesets
// that the walk begins with.
func (h *Host) step(in *inet.Input, c Chance, told text, hooks *familyHooks, o *Outcome) error {
	mark := h.checkpoint()
	w := h.newWalk(c, told, o)
	defer h.endWalk(w)
	w.hooks = *hooks
	err := w.run(in)
	*hooks = w.hooks
	if err != nil {
		h.rollback(mark)
		*o = Outcome{}
		return fmt.Errorf("host %s: %w", h.name, err)
	}
	h.keep()
	return nil
}
