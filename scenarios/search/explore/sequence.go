package explore

import "strings"

// letter is one thing that happens.
type letter byte

// The letters.
const (
	// datagram: the client sends: its first packet, or the next one from the same port.
	datagram letter = 'd'
	// answer: the first endpoint's server stops to answer, or answers again. The API does not know.
	answer letter = 'a'
	// endpoint: the first endpoint goes, or comes again.
	endpoint letter = 'e'
	// service: the service goes, or comes again.
	service letter = 's'
	// restart: the proxier starts anew.
	restart letter = 'r'
	// crash: the proxier starts anew before it has synced what has just happened.
	crash letter = 'c'
	// timePasses: some time passes, longer than conntrack remembers a datagram without an answer.
	timePasses letter = 't'
)

// letters are all of them, in the order in which sequences are tried.
var letters = []letter{datagram, answer, endpoint, service, restart, crash, timePasses}

// sequence is what happens one after the other.
type sequence []letter

// String is a letter for each.
func (s sequence) String() string {
	var b strings.Builder
	for _, l := range s {
		b.WriteByte(byte(l))
	}
	return b.String()
}

// tells says whether a sequence tells something that a shorter one does not: a crash comes after something that is not
// synced yet; twice the same thing that has no effect the second time is told by once; what happens before the first
// packet matters only for what the first endpoint and the service are then.
func (s sequence) tells(next letter) bool {
	if len(s) == 0 {
		return next != crash && next != restart && next != timePasses
	}
	switch last := s[len(s)-1]; next {
	case crash:
		return last == endpoint || last == service
	case restart:
		return last != restart && last != crash
	case answer:
		return last != answer
	}
	return true
}

// each visits all sequences of up to depth letters that tell something, shorter ones before the longer ones that
// begin with them, until visit returns false.
func each(depth int, visit func(sequence) bool) bool {
	var walk func(sequence) bool
	walk = func(s sequence) bool {
		if len(s) > 0 && !visit(s) {
			return false
		}
		if len(s) == depth {
			return true
		}
		for _, l := range letters {
			if s.tells(l) && !walk(append(s[:len(s):len(s)], l)) {
				return false
			}
		}
		return true
	}
	return walk(nil)
}
