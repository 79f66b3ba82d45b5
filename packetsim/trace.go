package packetsim

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// traceVersion is the version of the JSON that TraceResult makes.
const traceVersion = 1

// TraceResult is what a walk says about one packet, in the form that "chainwalk trace" prints.
type TraceResult struct {
	Version int `json:"version"`
	// Packet is the packet in the PACKET syntax.
	Packet   string    `json:"packet"`
	Outcomes []Outcome `json:"outcomes"`
	// Opaque is the first unknown rule that the packet met; nil if it met none. The outcomes are guesses then: what would
	// come of each answer that such rules could give (EventOpaque).
	Opaque *OpaqueError `json:"opaque,omitempty"`
	// Doubts are what was not walked, or not known, and what this packet meets: each may end it otherwise. Without any the outcomes are
	// certain.
	Doubts []Doubt `json:"doubts,omitempty"`
	// Notes say what the walk could not see, each in a line.
	Notes []string `json:"notes,omitempty"`
	// Input is Packet as data.
	Input inet.Input `json:"-"`
}

// Doubt is something that a walk took for granted and that may end the packet otherwise.
type Doubt struct {
	Kind DoubtKind `json:"kind"`
	// Unless goes on after the word unless: "table inet fw drops it (chain input, priority 0)", "net.ipv4.ip_forward is 0".
	Unless string `json:"unless"`
	// See is the file or the command that settles it: "sysctl -a > sysctl", "nft list table inet fw".
	See string `json:"see,omitempty"`
}

// DoubtKind says what is not known.
type DoubtKind string

// The kinds of doubts.
const (
	DoubtNFTables  DoubtKind = "nftables"  // a native table of nftables that was not walked
	DoubtExtension DoubtKind = "extension" // a rule with an extension that is not known
	DoubtUnread    DoubtKind = "unread"    // something of the node that was not read
	DoubtOrder     DoubtKind = "order"     // which backend of iptables comes first
	DoubtDown      DoubtKind = "down"      // whether the packet's way is by a device that is down
	DoubtAssumed   DoubtKind = "assumed"   // a part of the network that no snapshot shows
	DoubtProxy     DoubtKind = "proxy"     // what a service proxy does whose work is not walked
)

// NewTraceResult puts the outcomes of Host.Walk for a packet into one result.
func NewTraceResult(in inet.Input, outcomes []Outcome) TraceResult {
	result := TraceResult{Version: traceVersion, Packet: in.Full(), Outcomes: make([]Outcome, len(outcomes)), Input: in}
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
