package packetsim

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// TraceVersion is the version of the JSON that TraceResult makes.
const TraceVersion = 1

// TraceResult is what a walk says about one packet, in the form that "chainwalk trace" prints.
type TraceResult struct {
	Version int `json:"version"`
	// Packet is the packet in the PACKET syntax.
	Packet   string    `json:"packet"`
	Outcomes []Outcome `json:"outcomes"`
	// Opaque is the rule that nobody knows and that the packet met first; nil if it met none. The outcomes are guesses then: what would
	// come of each answer that such rules could give (EventOpaque).
	Opaque *OpaqueError `json:"opaque,omitempty"`
	// Notes say what the walk could not see, each in a line.
	Notes []string `json:"notes,omitempty"`
	// Input is Packet as data.
	Input inet.Input `json:"-"`
}

// NewTraceResult puts the outcomes of Host.Walk for a packet into one result.
func NewTraceResult(in inet.Input, outcomes []Outcome) TraceResult {
	result := TraceResult{Version: TraceVersion, Packet: in.Full(), Outcomes: make([]Outcome, len(outcomes)), Input: in}
	copy(result.Outcomes, outcomes)
	for i := range result.Outcomes {
		// A list without members is [] in the JSON, never null.
		if result.Outcomes[i].Steps == nil {
			result.Outcomes[i].Steps = []Step{}
		}
	}
	return result
}

// Trace walks a packet and puts the outcomes into one result, also where only guesses can be made (TraceResult.Opaque).
func (h *Host) Trace(in inet.Input, o WalkOptions) (TraceResult, error) {
	outcomes, err := h.WalkWith(in, o)
	var opaque *OpaqueError
	if errors.As(err, &opaque) {
		o.Guess = true
		outcomes, err = h.WalkWith(in, o)
	}
	result := NewTraceResult(in, outcomes)
	result.Opaque = opaque
	return result, err
}

// WriteJSON writes the result as one JSON document. Its form is stable within a version.
func (r TraceResult) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false) // the ">" of a packet is to be read by people too
	enc.SetIndent("", "  ")
	if err := enc.Encode(r); err != nil {
		return fmt.Errorf("write trace: %w", err)
	}
	return nil
}
