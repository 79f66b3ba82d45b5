package story

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/scenarios/explain/provenance"
)

// ending is what a sentence says of one way.
type ending struct {
	probability float64
	// called is what the packet is for, "shop/web:http", or its address and port; service says that it is a service.
	called  string
	service bool
	// address is the protocol, the address and the port that it calls.
	address string
	// target is the translated destination, with its name; empty if it is not translated.
	target string
	// source is "source kept", or what it becomes.
	source string
	// result is what becomes of the packet: "forwarded by eth0", and nextHop the neighbour that it is handed to.
	result  string
	nextHop string
	ends    bool // it goes no further
	local   bool // the host itself takes it
	// known says in words what the packet is to conntrack; empty for the first one of a connection.
	known string
	// sticky is what session affinity has to do with it.
	sticky string
	// assumed are the assumed answers of unknown rules.
	assumed []string
	// services: the packet met kube-proxy's rules for services; served: one of them was for it.
	services, served bool
}

func endingOf(in inet.Input, way *packetsim.Outcome, names Names) ending {
	to := netip.AddrPortFrom(in.Dst, in.DstPort)
	e := ending{
		probability: way.Probability, called: endText(in.Dst, in.DstPort, in.Proto), result: shortResult(way),
		ends:  way.Verdict != packetsim.Accept,
		local: way.To == packetsim.ToLocal,
	}
	e.address = in.Proto.String() + " " + e.called
	if name, ok := strings.CutPrefix(names.Destination(in.Proto, to), "service "); ok {
		e.address = withName(e.address, name)
		e.called, e.service = name, true
	}
	if way.To == packetsim.ToForward && way.NextHop.IsValid() {
		e.nextHop = " to " + way.NextHop.String()
	}
	for i := range way.Steps {
		e.read(&way.Steps[i])
	}
	e.known = knownText(way.Events)
	if final := way.Inside(); final.Dst != in.Dst || final.DstPort != in.DstPort {
		e.target = withName(endText(final.Dst, final.DstPort, in.Proto), nameOf(names, in.Proto, netip.AddrPortFrom(final.Dst, final.DstPort)))
	}
	e.source = sourceText(in, way)
	return e
}

// backed adds that the sender does not hear the answer: what comes back is dropped, or from an address that was not called, or the answer
// of who has another address takes another way, where nothing translates it back.
func (e *ending) backed(back *packetsim.Back) {
	if back == nil || back.Heard || back.Outcome == nil && (e.target == "" || !back.Elsewhere) {
		return
	}
	e.result += e.nextHop + ", but " + back.Why
	e.nextHop, e.ends = "", true
}

// read notes what a step says about the service.
func (e *ending) read(s *packetsim.Step) {
	e.services = e.services || provenance.BeginsServices(s.Chain)
	if s.Rule == nil {
		return
	}
	if service := serviceOfStep(s); service != "" {
		e.called, e.service, e.served = service, true, true
	}
	if provenance.TableWriter(s.Table, s.Chain) != provenance.KubeProxy {
		return
	}
	for _, m := range s.Rule.Fact.Memories {
		switch {
		case m.Kind != netfilter.Recent || m.Removes:
		case m.Reads:
			e.sticky = "kept there by session affinity"
		case e.sticky == "":
			e.sticky = "session affinity keeps the client there"
		}
	}
}

// knownText says what a packet is to conntrack: of which connection that it knew, or that it has no part in any, and is not translated.
func knownText(events []packetsim.Event) string {
	for i := range events {
		e := &events[i]
		switch {
		case e.Kind != packetsim.EventConntrack:
			continue
		case e.State == "RELATED" && e.Entry != nil:
			return "about a known connection"
		case e.State == "ESTABLISHED" && e.Reply:
			return "reply of a known connection"
		case e.State == "ESTABLISHED", e.Entry != nil:
			return "packet of a known connection"
		case e.State == "INVALID", e.State == "UNTRACKED":
			return "packet that conntrack calls " + e.State
		}
		return ""
	}
	return ""
}

func withName(text, name string) string {
	if name == "" {
		return text
	}
	return text + " (" + name + ")"
}

// kept is the sourceText of most packets.
const kept = "source kept"

// sourceText says whether the packet keeps its source.
func sourceText(in inet.Input, way *packetsim.Outcome) string {
	src := in.Src
	for i := range way.Events {
		if route := way.Events[i].Route; route != nil && route.Src.IsValid() {
			src = route.Src
		}
	}
	final := way.Inside()
	switch {
	case final.Src == src && final.SrcPort == in.SrcPort:
		return kept
	case masquerades(way):
		return "masqueraded as " + final.Src.String()
	case final.Src == src:
		return "source port changed"
	}
	return "source becomes " + endText(final.Src, final.SrcPort, in.Proto)
}

// masquerades says whether a rule with MASQUERADE met the packet.
func masquerades(way *packetsim.Outcome) bool {
	return slices.ContainsFunc(way.Steps, func(s packetsim.Step) bool {
		return s.Rule != nil && s.Rule.Fact.Translation.Kind == netfilter.Masquerade
	})
}

// resultOf says what the host did with the packet.
func resultOf(way *packetsim.Outcome) string {
	text := shortResult(way)
	if way.To == packetsim.ToForward && way.NextHop.IsValid() {
		text += " to " + way.NextHop.String()
	}
	return text
}

// shortResult is resultOf without the next hop.
func shortResult(way *packetsim.Outcome) string {
	switch {
	case way.Verdict == packetsim.Reject:
		return "rejected" + why(way)
	case way.Verdict == packetsim.Drop:
		return "dropped" + why(way)
	case way.Verdict == packetsim.Unknown:
		return "its fate is not known"
	case way.To == packetsim.ToLocal:
		return "delivered to the host itself"
	}
	if way.Passed.Has(inet.FamilyOf(way.Final.Dst), "OUTPUT") || len(way.Steps) > 0 && way.Steps[0].Hook == "OUTPUT" {
		return "sent by " + way.Out
	}
	return "forwarded by " + way.Out
}

// why is the reason that a packet went no further: what kube-proxy's rule says, the rule, or what is no rule.
func why(way *packetsim.Outcome) string {
	with := ""
	if way.RejectWith != "" {
		with = " with " + way.RejectWith
	}
	if way.Reason != "" {
		return with + ": " + way.Why
	}
	at := decidingStep(way)
	if at < 0 {
		return with
	}
	s := &way.Steps[at]
	switch want := wantOf(way); {
	case want != "":
		return ": " + want
	case s.Rule == nil:
		return fmt.Sprintf("%s by the policy of %s %s", with, strings.TrimSpace(s.Family+" "+s.Table), s.Chain)
	case provenance.RefusesForWant(s.Table, s.Chain, &s.Rule.Fact):
		return ": " + provenance.Comment(&s.Rule.Fact)
	case provenance.Comment(&s.Rule.Fact) != "":
		return fmt.Sprintf("%s by %s, %q", with, s, provenance.Comment(&s.Rule.Fact))
	}
	return fmt.Sprintf("%s by %s", with, s)
}

// wantOf says which service has nobody who could serve it, by the element of kube-proxy's nftables that refused the
// packet; empty if none did.
func wantOf(way *packetsim.Outcome) string {
	for i := range way.Steps {
		for _, e := range way.Steps[i].Elements {
			switch port, local := provenance.RefusedFor(way.Steps[i].Table, e.Set, &e.Rule.Fact); {
			case local && port != "":
				return string(port) + " has no local endpoints"
			case port != "":
				return string(port) + " has no endpoints"
			}
		}
	}
	return ""
}

// sentence says how one way ends.
func (e *ending) sentence() string {
	var parts []string
	switch {
	case e.target != "" && e.ends:
		return "to " + e.target + ", then " + e.result
	case e.ends:
		return e.result
	case e.target != "":
		parts = append(parts, "to "+e.target)
	}
	if e.source != kept || e.target != "" {
		parts = append(parts, e.source)
	}
	parts = append(parts, e.result+e.nextHop)
	if e.sticky != "" {
		parts = append(parts, e.sticky)
	}
	return strings.Join(parts, ", ")
}

// sentenceOf says what happened, all ways together.
func sentenceOf(endings []ending) string {
	switch {
	case len(endings) == 0:
		return "nothing happens"
	case slices.ContainsFunc(endings, func(e ending) bool { return len(e.assumed) > 0 }):
		return unknownSentence(endings)
	case len(endings) == 1:
		return endings[0].alone()
	}
	first := &endings[0]
	translated := func(e ending) bool {
		return e.target != "" && e.ends == first.ends && (!e.ends || e.result == first.result)
	}
	called := func(e ending) bool { return e.called == first.called }
	if allOf(endings, translated) && allOf(endings, called) {
		return together(endings)
	}
	var ways []string
	for i := range endings {
		text := endings[i].alone()
		if !slices.Contains(ways, text) {
			ways = append(ways, text)
		}
	}
	if len(ways) > fewWays {
		ways = append(ways[:fewWays], fmt.Sprintf("and %d more ways", len(ways)-fewWays))
	}
	return strings.Join(ways, "; or ")
}

// unknownSentence says on what it depends what happens, and what happens then. Where the ends do not depend on it, it says so.
func unknownSentence(endings []ending) string {
	var cases []string
	ways := map[string][]ending{}
	for _, e := range endings {
		key := strings.Join(e.assumed, " and ")
		if len(ways[key]) == 0 {
			cases = append(cases, key)
		}
		ways[key] = append(ways[key], e)
	}
	var texts, ends []string
	for i, key := range cases {
		for n := range ways[key] {
			ways[key][n].assumed = nil
		}
		end := sentenceOf(ways[key])
		if i < fewWays {
			texts = append(texts, "if "+key+", "+end)
		}
		ends = addNew(ends, end)
	}
	if len(ends) == 1 {
		return fmt.Sprintf("the packet meets a rule that chainwalk does not know, and ends the same either way: %s", ends[0])
	}
	if len(cases) > fewWays {
		texts = append(texts, fmt.Sprintf("and %d more cases", len(cases)-fewWays))
	}
	return "NOT KNOWN: the packet meets a rule that chainwalk does not know: " + strings.Join(texts, "; ")
}

// fewWays is as many different things as a sentence lists.
const fewWays = 3

func allOf(endings []ending, is func(ending) bool) bool {
	return !slices.ContainsFunc(endings, func(e ending) bool { return !is(e) })
}

// alone is the sentence of a packet's only way.
func (e *ending) alone() string {
	switch {
	case e.known != "" && e.target == "":
		return e.known + ": " + e.sentence()
	case e.known != "":
		return fmt.Sprintf("%s: %s %s", e.known, e.called, e.arrow())
	case e.target != "":
		return e.called + " " + e.arrow()
	case e.ends:
		return e.result
	case e.services && !e.served:
		return fmt.Sprintf("no rule of a Service matches %s; %s", e.address, e.asItWas())
	}
	return e.asItWas()
}

// arrow is where a translated packet goes.
func (e *ending) arrow() string {
	if e.ends {
		return "-> " + e.target + ", then " + e.result
	}
	return "-> " + strings.TrimPrefix(e.sentence(), "to ")
}

// asItWas says what becomes of a packet that is not translated, or of its source only.
func (e *ending) asItWas() string {
	if e.source == kept && !e.local {
		first, rest, _ := strings.Cut(e.result, " ")
		return strings.TrimSpace(first+" as it was "+rest) + e.nextHop
	}
	return e.sentence()
}

// together is the sentence of several ways to endpoints of one service.
func together(endings []ending) string {
	var targets, sources, results, sticky []string
	var shares []float64
	for i := range endings {
		e := &endings[i]
		at := slices.Index(targets, e.target)
		if at < 0 {
			at = len(targets)
			targets, shares = append(targets, e.target), append(shares, 0)
		}
		shares[at] += e.probability
		sources, results, sticky = addNew(sources, e.source), addNew(results, e.result), addNew(sticky, e.sticky)
	}
	text := endings[0].called + " -> " + targets[0]
	if len(targets) > 1 {
		what := "destinations"
		if endings[0].service {
			what = "endpoints"
		}
		text = fmt.Sprintf("%s -> %d %s, %s", endings[0].called, len(targets), what, sharesText(shares))
	}
	if endings[0].ends {
		return text + ", then " + results[0]
	}
	text += ", " + either(sources) + ", " + either(results)
	if len(sticky) == 1 && sticky[0] != "" {
		text += ", " + sticky[0]
	}
	return text
}

func addNew(list []string, text string) []string {
	if slices.Contains(list, text) {
		return list
	}
	return append(list, text)
}

// either joins what ways differ in: "forwarded by eth0, eth1 or eth2".
func either(list []string) string {
	if len(list) == 1 {
		return list[0]
	}
	head := sharedWords(list)
	rest := make([]string, len(list))
	for i := range list {
		rest[i] = strings.TrimPrefix(list[i], head)
	}
	if len(rest) > fewWays {
		return fmt.Sprintf("%sone of %d", head, len(rest))
	}
	return head + strings.Join(rest[:len(rest)-1], ", ") + " or " + rest[len(rest)-1]
}

// sharedWords are the words that all begin with, with the blank behind them.
func sharedWords(list []string) string {
	head := list[0]
	for _, text := range list[1:] {
		for !strings.HasPrefix(text, head) {
			cut := strings.LastIndexByte(strings.TrimSuffix(head, " "), ' ')
			head = head[:cut+1]
		}
	}
	if !strings.HasSuffix(head, " ") {
		head = head[:strings.LastIndexByte(head, ' ')+1]
	}
	return head
}

// restOf is what a person wants to know of a packet beside its addresses and mark, in the PACKET syntax.
func restOf(in inet.Input) string {
	in.Mark, in.Local, in.In = 0, false, ""
	return strings.TrimPrefix(strings.TrimPrefix(in.String(), in.Header()), " ")
}
