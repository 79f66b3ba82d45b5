package story

import (
	"cmp"
	"fmt"
	"net/netip"
	"strings"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/conntrack"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/scenarios/explain/provenance"
)

// linesOf are the steps and events of an outcome in the order of time.
func linesOf(o *packetsim.Outcome, names Names) []Line {
	var lines []Line
	events := o.Events
	for i := 0; i <= len(o.Steps); i++ {
		for ; len(events) > 0 && events[0].Step <= i; events = events[1:] {
			lines = appendEvent(lines, &events[0], names)
		}
		if i < len(o.Steps) {
			lines = append(lines, lineOfStep(&o.Steps[i], names))
		}
	}
	return lines
}

func lineOfStep(s *packetsim.Step, names Names) Line {
	line := Line{Hook: s.Hook, Table: s.Table, Dialect: s.Dialect, Kind: Kind(s.Kind), At: s.String(), Text: s.Text()}
	switch {
	case s.Rule != nil:
		line.Object = names.Rule(s.Table, s.Chain, &s.Rule.Fact)
		if service := serviceOfStep(s); line.Object == "" && service != "" {
			line.Object = "service " + service
		}
	case s.Policy != "":
		line.Text = "policy " + string(s.Policy)
	}
	return line
}

// serviceOfStep is the service port that a rule of kube-proxy is for, "shop/web:http", as the rule itself says; empty for other rules.
func serviceOfStep(s *packetsim.Step) string {
	if s.Rule == nil {
		return ""
	}
	return string(provenance.ServicePortOf(s.Table, s.Chain, &s.Rule.Fact))
}

// appendEvent adds a line, or more to the last one: that forwarding takes one from the TTL belongs to its route.
func appendEvent(lines []Line, e *packetsim.Event, names Names) []Line {
	line := Line{Hook: e.Hook}
	switch e.Kind {
	case packetsim.EventConntrack:
		line.Kind, line.Text = Conntrack, trackedText(e)
	case packetsim.EventEntry:
		line.Kind, line.Text = Conntrack, "entry made: "+entryText(e.Entry)
	case packetsim.EventConnmark:
		line.Kind, line.Text = Conntrack, fmt.Sprintf("the connection's mark becomes %#x", e.Entry.Mark)
	case packetsim.EventRoute:
		line.Hook, line.Kind, line.Text = "", Route, routeText(e.Route)
	case packetsim.EventMark:
		line.Kind, line.Text = Marked, fmt.Sprintf("mark %#x becomes %#x", e.Before.Mark, e.After.Mark)
	case packetsim.EventRewrite:
		if last := len(lines) - 1; last >= 0 && lines[last].Kind == Route && onlyTTL(e) {
			lines[last].Text += fmt.Sprintf(", ttl %d", e.After.TTL)
			return lines
		}
		line.Kind, line.Text = Rewrite, rewriteText(e)
	case packetsim.EventMissed, packetsim.EventOpaque:
		return append(lines, lineOfLook(e, names))
	case packetsim.EventEncapsulate:
		line.Hook, line.Kind, line.Text = "", Rewrite, "a tunnel puts the packet into another one: "+headerText(e.After)
	case packetsim.EventDecapsulate:
		line.Hook, line.Kind, line.Text = "", Rewrite, "a tunnel takes the packet out of the other one: "+headerText(e.After)
	default:
		return lines
	}
	if e.After != nil {
		after := headerOf(e.After.Final, names)
		line.After = &after
	}
	return append(lines, line)
}

// lineOfLook is a rule that did not match, or an unknown one and what it is assumed to do.
func lineOfLook(e *packetsim.Event, names Names) Line {
	r := e.Rule
	line := Line{Hook: e.Hook, Table: r.Table, Dialect: r.Dialect, Kind: Missed, At: r.String(), Text: r.Rule.Text, Failed: r.Failed,
		Object: names.Rule(r.Table, r.Chain, &r.Rule.Fact)}
	if e.Kind == packetsim.EventOpaque {
		line.Kind, line.Assumed = Opaque, assumedText(r)
	}
	return line
}

// assumedText is what an unknown extension is assumed to do.
func assumedText(r *packetsim.RuleLook) string {
	text := strings.NewReplacer("match ", "-m ", "target ", "-j ").Replace(r.Extension)
	if r.Answer == packetsim.AnswerDecides {
		return text + " does something else"
	}
	return text + " " + string(r.Answer)
}

func onlyTTL(e *packetsim.Event) bool {
	before := *e.Before
	before.TTL, before.Spent = e.After.TTL, e.After.Spent
	return before == *e.After
}

// trackedText says what conntrack found.
func trackedText(e *packetsim.Event) string {
	switch {
	case e.Entry != nil && e.Reply:
		return fmt.Sprintf("%s, a reply of %s", e.State, entryText(e.Entry))
	case e.Entry != nil:
		return fmt.Sprintf("%s, of %s", e.State, entryText(e.Entry))
	case e.State == "NEW":
		return "NEW, no entry yet"
	}
	return e.State
}

// entryText is a connection: its state, the first packet's addresses and those of replies where they are not the reverse.
func entryText(e *conntrack.Entry) string {
	words := []string{e.Original.Proto.String()}
	if e.State != "" {
		words = append(words, e.State)
	}
	words = append(words, tupleText(&e.Original)+",", "replies", tupleText(&e.Reply))
	if !e.Replied {
		words = append(words, "[UNREPLIED]")
	}
	if e.Assured {
		words = append(words, "[ASSURED]")
	}
	if e.Mark != 0 {
		words = append(words, fmt.Sprintf("mark=%#x", e.Mark))
	}
	switch zone := e.Zone; {
	case zone.Original == zone.Reply && zone.Reply != 0:
		words = append(words, fmt.Sprintf("zone=%d", zone.Reply))
	case zone.Original != 0:
		words = append(words, fmt.Sprintf("zone-orig=%d", zone.Original))
	case zone.Reply != 0:
		words = append(words, fmt.Sprintf("zone-reply=%d", zone.Reply))
	}
	return strings.Join(words, " ")
}

func tupleText(t *conntrack.Tuple) string {
	text := endText(t.Src, t.SrcPort, t.Proto) + " > " + endText(t.Dst, t.DstPort, t.Proto)
	if t.Proto.IsICMP() {
		text += fmt.Sprintf(" type %d/%d id %d", t.ICMPType, t.ICMPCode, t.ICMPID)
	}
	return text
}

// endText is one side of a packet: the address, with the port if the protocol has any. A port of 0 is one that the kernel chooses.
func endText(addr netip.Addr, port uint16, proto inet.Proto) string {
	switch {
	case !addr.IsValid():
		return "unset"
	case !proto.HasPorts():
		return addr.String()
	case port != 0:
		return netip.AddrPortFrom(addr, port).String()
	case addr.Is6():
		return "[" + addr.String() + "]:?"
	}
	return addr.String() + ":?"
}

func headerText(h *packetsim.Header) string {
	return fmt.Sprintf("%s %s > %s", h.Proto, endText(h.Src, h.SrcPort, h.Proto), endText(h.Dst, h.DstPort, h.Proto))
}

// routeText says where routing sends a packet.
func routeText(r *packetsim.Routing) string {
	var text string
	switch {
	case r.Refused != "":
		text = "no way: " + r.Refused
	case r.Local:
		text = "to the host itself"
	case r.Port != "":
		text = fmt.Sprintf("over the bridge %s to its port %s", r.Out, r.Port)
	default:
		text = fmt.Sprintf("out of %s to %s", r.Out, r.NextHop)
	}
	if r.Src.IsValid() {
		text += fmt.Sprintf(", source %s", r.Src)
	}
	if r.Again {
		text += " (looked up again)"
	}
	return text
}

// translationText says why NAT changes a header.
var translationText = map[packetsim.Translation]string{
	packetsim.TranslationDNAT:   " (DNAT)",
	packetsim.TranslationSNAT:   " (SNAT)",
	packetsim.TranslationUnDNAT: " (the reply of a DNAT)",
	packetsim.TranslationUnSNAT: " (the reply of a SNAT)",
}

// rewriteText says what is another one in the header.
func rewriteText(e *packetsim.Event) string {
	b, a := e.Before, e.After
	var parts []string
	change := func(what, before, after string) {
		if before != after {
			parts = append(parts, fmt.Sprintf("%s %s becomes %s", what, before, after))
		}
	}
	change("destination", endText(b.Dst, b.DstPort, b.Proto), endText(a.Dst, a.DstPort, a.Proto))
	change("source", endText(b.Src, b.SrcPort, b.Proto), endText(a.Src, a.SrcPort, a.Proto))
	if b.SrcPort != 0 && a.SrcPort == 0 {
		parts = append(parts, "a port that the kernel chooses")
	}
	change("id", fmt.Sprint(b.ICMPID), fmt.Sprint(a.ICMPID))
	change("mark", fmt.Sprintf("%#x", b.Mark), fmt.Sprintf("%#x", a.Mark))
	change("tos", fmt.Sprintf("%#x", b.TOS), fmt.Sprintf("%#x", a.TOS))
	change("ttl", ttlText(b), ttlText(a))
	change("mss", fmt.Sprint(b.MSS), fmt.Sprint(a.MSS))
	change("flags", b.Flags.String(), a.Flags.String())
	return strings.Join(parts, ", ") + translationText[e.NAT]
}

// headerOf is what a person looks at of a header.
func headerOf(f packetsim.Final, names Names) Header {
	h := Header{Proto: f.Proto, Src: netip.AddrPortFrom(f.Src, f.SrcPort), Dst: netip.AddrPortFrom(f.Dst, f.DstPort), Mark: f.Mark}
	h.SrcName, h.DstName = nameOf(names, f.Proto, h.Src), nameOf(names, f.Proto, h.Dst)
	return h
}

// nameOf is what is called at an address, or else the object that has it.
func nameOf(names Names, proto inet.Proto, at netip.AddrPort) string {
	if name := names.Destination(proto, at); name != "" {
		return name
	}
	return names.Address(at.Addr())
}

// ttlText is the TTL with its default.
func ttlText(h *packetsim.Header) string {
	if h.Spent {
		return "0"
	}
	return fmt.Sprint(cmp.Or(h.TTL, inet.DefaultTTL))
}
