package snapshot

import (
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/fakekernel"
)

// Edit has the rules become those of another text, as ReadSaved would read it, if it differs from theirs in one line alone: a rule that is
// another one now, or a remark in a listing of nft. Hosts of the rules have the new ones from then on. It is false, and nothing has
// changed, if there is more to do: read the text then. One who types changes one line at a time, and to read a thousand takes far longer.
func (s *Saved) Edit(text string) bool {
	if text == s.text {
		return true
	}
	number, was, is, one := changedLine(s.text, text)
	if !one || !s.editSave(number, was, is) && !s.editListing(number, was, is) {
		return false
	}
	s.text = text
	return true
}

// editSave has a line of iptables-save become another one.
func (s *Saved) editSave(number int, was, is string) bool {
	for at, line := range s.places() {
		if line == number {
			return s.kernel.ReplaceRule(at.Family, at.Dialect, fakekernel.RuleEdit{Table: at.Table, Number: at.Number, Was: was, Is: is})
		}
	}
	return false
}

// editListing has a line of a listing of nft become another one.
func (s *Saved) editListing(number int, was, is string) bool {
	if s.native == nil || len(s.native.places) == 0 || !endsInLines(s.text) || !endsInLine(is) || handleIn(was) != handleIn(is) ||
		listedDevice().MatchString(was) || listedDevice().MatchString(is) {
		return false
	}
	return s.native.edit(number, was, is)
}

// edit has the line of a number become another one.
func (l *listing) edit(number int, was, is string) bool {
	if isRemark(was) && isRemark(is) {
		return l.alone // beside rules of iptables a remark may say which of its tools has printed them
	}
	onIt := func(p fakekernel.RulePlace) bool { return p.Line == number }
	at := slices.IndexFunc(l.places, onIt)
	if at < 0 || strings.ContainsAny(was, "{};@$") || slices.ContainsFunc(l.places[at+1:], onIt) {
		return false
	}
	return l.tools.ReplaceRule(l.places[at], is)
}

// changedLine is the only line, from 1, in which two texts differ, without its end; false if they differ in more.
func changedLine(a, b string) (number int, was, is string, one bool) {
	same := 0
	for same < min(len(a), len(b)) && a[same] == b[same] {
		same++
	}
	begin := strings.LastIndexByte(a[:same], '\n') + 1
	was, _, _ = strings.Cut(a[begin:], "\n")
	is, _, _ = strings.Cut(b[begin:], "\n")
	return strings.Count(a[:begin], "\n") + 1, was, is, a[begin+len(was):] == b[begin+len(is):]
}

// isRemark says whether nft reads nothing in a line.
func isRemark(line string) bool {
	line = strings.TrimSpace(line)
	return line == "" || line[0] == '#'
}

// handleIn is what a line says of its rule's handle, as "nft -a" prints it.
func handleIn(line string) string {
	_, handle, _ := strings.Cut(line, "# handle")
	return handle
}

// endsInLine says whether what begins in a line ends in it: a text in quotes, and the line itself.
func endsInLine(line string) bool {
	return strings.Count(line, `"`)%2 == 0 && !strings.HasSuffix(strings.TrimRight(line, " \t\r"), `\`)
}

func endsInLines(text string) bool {
	for line := range strings.Lines(text) {
		if !endsInLine(strings.TrimSuffix(line, "\n")) {
			return false
		}
	}
	return true
}
