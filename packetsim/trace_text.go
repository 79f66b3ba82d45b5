package packetsim

import (
	"fmt"
	"io"
	"net/netip"
	"strings"
)

// WriteText writes the result for people: for each outcome a line with its probability and
// verdict, what became of the addresses, the steps, and what the host answered.
func (r TraceResult) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", r.Packet)
	for i := range r.Outcomes {
		o := &r.Outcomes[i]
		fmt.Fprintf(&b, "\noutcome %d of %d, probability %.4g: %s\n", i+1, len(r.Outcomes), o.Probability, o.Summary())
		r.writeChanges(&b, o)
		writeSteps(&b, o)
		for j := range o.Replies {
			fmt.Fprintf(&b, "  %s\n", o.Replies[j].text())
		}
	}
	for i, note := range r.Notes {
		if i == 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "note: %s\n", note)
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write trace: %w", err)
	}
	return nil
}

// Summary is the verdict with where the packet went, or why it did not.
func (o *Outcome) Summary() string {
	text := string(o.Verdict)
	switch {
	case o.Verdict == Reject:
		text += " with " + o.RejectWith
	case o.To == ToLocal:
		text += ", to the host itself"
	case o.To == ToForward && o.NextHop.IsValid():
		text += fmt.Sprintf(", out of %s to %s", o.Out, o.NextHop)
	case o.To == ToForward:
		text += ", out of " + o.Out
	}
	if o.Reason != "" {
		text += " (" + o.Reason + ")"
	}
	return text
}

// writeChanges points out what the packet looks like other than it came.
func (r TraceResult) writeChanges(b *strings.Builder, o *Outcome) {
	in := &r.input
	if o.DNAT != "" {
		fmt.Fprintf(b, "  destination %s becomes %s\n", addrText(in.Dst, in.DstPort), addrText(o.Final.Dst, o.Final.DstPort))
	}
	switch {
	case !in.Src.IsValid():
		fmt.Fprintf(b, "  source is %s\n", addrText(o.Final.Src, o.Final.SrcPort))
	case o.Masqueraded:
		port := ""
		if o.Final.SrcPort == 0 && in.Proto.HasPorts() {
			port = ", with a port that the kernel chooses"
		}
		fmt.Fprintf(b, "  source %s becomes %s%s\n", addrText(in.Src, in.SrcPort), addrText(o.Final.Src, o.Final.SrcPort), port)
	}
	if o.Final.Mark != in.Mark {
		fmt.Fprintf(b, "  mark %#x becomes %#x\n", in.Mark, o.Final.Mark)
	}
}

// addrText is ADDRESS:PORT, or the address alone where there is no port.
func addrText(addr netip.Addr, port uint16) string {
	switch {
	case !addr.IsValid():
		return "unset"
	case port == 0:
		return addr.String()
	}
	return joinPort(addr, port)
}

// writeSteps aligns hook, backend where the host has both, position and rule in columns.
func writeSteps(b *strings.Builder, o *Outcome) {
	hookWidth, backendWidth, stepWidth := 0, 0, 0
	for _, s := range o.Steps {
		hookWidth, stepWidth = max(hookWidth, len(s.Hook)), max(stepWidth, len(s.String()))
		if s.Backend != "" {
			backendWidth = max(backendWidth, len(s.Backend)+2)
		}
	}
	for _, s := range o.Steps {
		line := fmt.Sprintf("  %-*s  %-*s%-*s  %s", hookWidth, s.Hook, backendWidth, s.Backend, stepWidth, s.String(), s.Text)
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}

// text says who answered, with what, and whether the answer left the host.
func (r *Reply) text() string {
	answer := Input{Packet: r.Packet}
	text := fmt.Sprintf("answered by %s: %s", r.Packet.Src, answer)
	if r.Copy {
		text = fmt.Sprintf("copied: %s, to %s", answer, r.Outcome.NextHop)
	}
	switch {
	case r.Outcome.Verdict != Accept:
		text += ", which comes no further: " + r.Outcome.Summary()
	case r.Outcome.To == ToForward:
		text += ", out of " + r.Outcome.Out
	}
	return text
}
