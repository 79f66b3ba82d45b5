package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/chainwalk/chainwalk/forall"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/scenarios/explain/names"
	"github.com/chainwalk/chainwalk/scenarios/users/allpackets"
)

// writeJSON writes a document as JSON that people can read too.
func writeJSON(w io.Writer, document any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false) // the ">" of a packet
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(document); err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	return nil
}

// answer is what can be printed in each form.
type answer interface {
	WriteText(w io.Writer) error
	WriteHTML(w io.Writer) error
}

// writeAnswer prints an answer as text, json or html.
func writeAnswer(s streams, a answer, output string) error {
	switch output {
	case "json":
		return writeJSON(s.out, a)
	case "html":
		return a.WriteHTML(s.out)
	}
	return a.WriteText(s.out)
}

// written writes to a stream what a function writes.
func written(s streams, write func(*strings.Builder)) {
	var b strings.Builder
	write(&b)
	fmt.Fprint(s.out, b.String())
}

// writeHead writes an answer's first line, what was not read, and the kinds of packets whose fate is not known.
func writeHead(s streams, answer string, unread, unknown []string) {
	written(s, func(b *strings.Builder) { allpackets.WriteHead(b, answer, unread, unknown) })
}

// packetKind is one kind of packets of all that there are.
type packetKind struct{ allpackets.Kind }

func kindOf(space *forall.Space, share float64, likely *inet.Input, book *names.Book) packetKind {
	return packetKind{allpackets.KindOf(space, share, likely, book)}
}

// write writes what is said of the packets. more ends the first line.
func (k *packetKind) write(s streams, more string) {
	written(s, func(b *strings.Builder) { k.WriteText(b, more) })
}

// writeField writes a line of what is said of packets, if there is something to say.
func writeField(s streams, name, text string) {
	written(s, func(b *strings.Builder) { allpackets.WriteField(b, name, text) })
}

const idealTolerance = allpackets.Tolerance

// confirmWitness is an error if a walk of a packet says something else than was worked out for it.
func confirmWitness(h *packetsim.Host, in inet.Input, want forall.Distribution, left forall.Part) error {
	return allpackets.Confirm(h, in, want, left)
}

// decidedOn is what decides about a packet.
func decidedOn(h *packetsim.Host, in inet.Input) []string { return allpackets.Decided(h, in) }

func decidedBy(o *packetsim.Outcome) string { return allpackets.DecidedBy(o) }

func kinds(n int) string { return allpackets.Kinds(n) }
