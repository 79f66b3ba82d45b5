package scenarios

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// judge is an expectation with what it refers to.
type judge struct {
	expect *Expect
	called netip.AddrPort // the address and port that the sender used
	kept   map[string]keptConnection
	nodes  func(netip.Addr) bool
	seen   *Observed
	first  bool // the packet is the first one of its connection
	// documented says which document allows what was seen if it is not as expected. May be nil.
	documented func() *Documented
	// possible says that the ways are what can happen, and that how often is not known.
	possible bool
	// texts says that the expectation has texts of rules of mode iptables, and that kube-proxy's rules are others.
	texts bool

	// unread are the parts of the expectation that were not looked at, each once.
	unread     []string
	difference string // the kind of what verdict found wrong
}

// verdict returns what is wrong, empty if everything is as expected, and the place of the way that is at fault, -1 if it is no single one.
func (j *judge) verdict() (wrong string, way int) {
	if len(j.seen.Ways) == 0 {
		return "the packet took no way at all", -1
	}
	if len(j.expect.AnyOf) > 0 {
		return j.anyOf()
	}
	right := false
	for i := range j.seen.Ways {
		found, difference := j.wayIsWrong(&j.seen.Ways[i])
		if found == "" {
			right = true
			continue
		}
		wrong, way, j.difference = found, i, difference
		if !j.possible {
			return wrong, way
		}
	}
	if !right {
		return wrong, way
	}
	j.difference = "the chances are not as expected"
	return j.shares(), -1
}

// wayIsWrong says what is wrong with one way, and the kind of that; empty if it is as expected.
func (j *judge) wayIsWrong(w *Way) (wrong, difference string) {
	kind := j.expect.kind()
	if wrong := kind.judge(j, w); wrong != "" {
		difference := fmt.Sprintf("%s expected, and it was %s", kind.name, w.End)
		if !w.Heard {
			difference += " without an answer that the sender hears"
		}
		return wrong, difference
	}
	field, wrong := j.extras(w)
	return wrong, field + " is not as expected"
}

// anyOf holds the ways to each of several expectations. If none holds, what is wrong with all of them is said.
func (j *judge) anyOf() (wrong string, way int) {
	var wrongs []string
	for i := range j.expect.AnyOf {
		one := *j
		one.expect = &j.expect.AnyOf[i]
		w, at := one.verdict()
		if w == "" {
			j.unread = one.unread
			return "", -1
		}
		wrongs, way = append(wrongs, fmt.Sprintf("not %s: %s", one.expect, w)), at
		j.difference += one.difference + "; "
	}
	return strings.Join(wrongs, "; "), way
}

// leaveOut notes a part of the expectation that is not looked at.
func (j *judge) leaveOut(format string, args ...any) {
	if part := fmt.Sprintf(format, args...); !slices.Contains(j.unread, part) {
		j.unread = append(j.unread, part)
	}
}

func firstOf(wrongs ...string) string {
	for _, w := range wrongs {
		if w != "" {
			return w
		}
	}
	return ""
}

func textIn(what, want, got string) string {
	if want == "" || strings.Contains(got, want) {
		return ""
	}
	return fmt.Sprintf("%s is %q, without %q", what, got, want)
}

func (j *judge) ended(w *Way, end End) string {
	if w.End == end {
		return ""
	}
	return w.Describe()
}

func (j *judge) heard(w *Way) string { return j.heardBy(w, "the client") }

func (j *judge) heardBy(w *Way, who string) string {
	if w.Heard || j.expect.OneWay {
		return ""
	}
	return who + " does not take it: " + w.Describe()
}

func (j *judge) at(w *Way, host string) string {
	if w.Host == host {
		return ""
	}
	return fmt.Sprintf("it ends at %s, not at %s", w.Host, host)
}

func (j *judge) reached(w *Way) string { return firstOf(j.ended(w, Delivered), j.heard(w)) }

func (j *judge) answered(w *Way) string {
	return firstOf(j.reached(w), j.asCalled(w), j.at(w, j.expect.AnsweredBy))
}

func (j *judge) refused(w *Way) string {
	return firstOf(j.ended(w, Refused), j.heard(w), j.at(w, j.expect.RefusedBy))
}

func (j *judge) rejected(w *Way) string {
	return firstOf(j.ended(w, Rejected), j.heard(w), textIn("the answer", j.expect.Reject.Text, w.With))
}

func (j *judge) unanswered(w *Way) string {
	if w.Heard || w.Answered {
		return "the client hears an answer: " + w.Describe()
	}
	return ""
}

func (j *judge) delivered(w *Way) string {
	return firstOf(j.ended(w, Delivered), j.heardBy(w, "the other end"))
}

func (j *judge) stray(w *Way) string {
	if w.Heard || w.End != Delivered && w.End != Refused {
		return "not a stray packet: " + w.Describe()
	}
	return ""
}

func (j *judge) asCalled(w *Way) string {
	switch {
	case w.Server != j.called:
		return fmt.Sprintf("the destination became %s", w.Server)
	case w.Masqueraded == Yes || w.Client != w.Sender:
		return fmt.Sprintf("the source became %s", w.Client)
	}
	return ""
}

// untouched is a packet that leaves the cluster's nodes as it came: to a socket,
// to a closed port, or out to where nobody has the address.
func (j *judge) untouched(w *Way) string {
	lostOutside := w.End == Lost && (w.Host == RouterName || w.OnTheWire)
	if w.End != Delivered && w.End != Refused && !lostOutside {
		return w.Describe()
	}
	return j.asCalled(w)
}

func (j *judge) dropped(w *Way) string {
	text := j.expect.Drop.Text
	if text == "" {
		return j.ended(w, Dropped)
	}
	if w.End != Dropped && w.End != Lost {
		return w.Describe()
	}
	if j.seen.NoRules || strings.Contains(w.Rule, text) || strings.Contains(w.Reason, text) {
		return ""
	}
	if j.texts && (w.isNative() || namesKubeChain(text)) {
		j.leaveOut("drop %q", text)
		return ""
	}
	return fmt.Sprintf("%s, without %q", w.Describe(), text)
}

// extras checks the fields that narrow an expectation, and names the one that does not hold.
func (j *judge) extras(w *Way) (field, wrong string) {
	e := j.expect
	if e.Out != "" && w.Out != e.Out {
		return "out", fmt.Sprintf("it leaves by %s, not by %s", w.Out, e.Out)
	}
	if wrong := j.source(w); wrong != "" || j.seen.NoRules {
		return "source " + e.Source.String(), wrong
	}
	if wrong := textIn("the rule that decided", e.Rule, w.Rule); wrong != "" {
		if !j.texts || w.Rule != "" && !w.isNative() {
			return "rule", wrong
		}
		j.leaveOut("rule %q", e.Rule)
	}
	for _, want := range e.Through {
		switch {
		case w.passes(want):
		case j.texts:
			j.leaveOut("through %q", want)
		default:
			return "through", fmt.Sprintf("its way has no step %q", want)
		}
	}
	if j.texts && e.RulesWalked != nil {
		j.leaveOut("rulesWalked %s", e.RulesWalked)
		return "", ""
	}
	return "rulesWalked", strings.Join(e.RulesWalked.wrong("rules walked", w.RulesWalked()), "")
}

func (j *judge) source(w *Way) string {
	want, seen := j.expect.Source, w.Client.Addr()
	switch {
	case want.Kept && (w.Masqueraded == Yes || seen != w.Sender.Addr()):
		return fmt.Sprintf("the source is not kept: the server sees %s%s", seen, ifMasqueraded(w))
	case want.Masqueraded && w.Masqueraded == No:
		return fmt.Sprintf("the source is not masqueraded: the server sees %s", seen)
	case want.Masqueraded && w.Masqueraded == Unknown && !j.nodes(seen):
		return fmt.Sprintf("the source is not masqueraded: the server sees %s, which is no node's address", seen)
	case want.addr.IsValid() && (want.addr != seen || want.port > 0 && want.port != w.Client.Port()):
		return fmt.Sprintf("the server sees %s as the source", w.Client)
	}
	return ""
}

func ifMasqueraded(w *Way) string {
	if w.Masqueraded == Yes {
		return ", masqueraded"
	}
	return ""
}
