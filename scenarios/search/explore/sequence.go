package explore

import "strings"

// Letter is one thing that happens.
type Letter byte

// The letters.
const (
	// Datagram: the client sends: its first packet, or the next one from the same port.
	Datagram Letter = 'd'
	// Answer: the first endpoint's server stops to answer, or answers again. The API does not know.
	Answer Letter = 'a'
	// Endpoint: the first endpoint goes, or comes again.
	Endpoint Letter = 'e'
	// Service: the service goes, or comes again.
	Service Letter = 's'
	// Restart: the proxier starts anew.
	Restart Letter = 'r'
	// Crash: the proxier starts anew before it has synced what has just happened.
	Crash Letter = 'c'
	// Time: some time passes, longer than conntrack remembers a datagram without an answer.
	Time Letter = 't'
)

// letters are all of them, in the order in which sequences are tried.
var letters = []Letter{Datagram, Answer, Endpoint, Service, Restart, Crash, Time}

// Sequence is what happens one after the other.
type Sequence []Letter

// String is a letter for each.
func (s Sequence) String() string {
	var b strings.Builder
	for _, l := range s {
		b.WriteByte(byte(l))
	}
	return b.String()
}

// tells says whether a sequence tells something that a shorter one does not: a crash comes after something that is not
// synced yet; twice the same thing that has no effect the second time is told by once; what happens before the first
// packet matters only for what the first endpoint and the service are then.
func (s Sequence) tells(next Letter) bool {
	if len(s) == 0 {
		return next != Crash && next != Restart && next != Time
	}
	switch last := s[len(s)-1]; next {
	case Crash:
		return last == Endpoint || last == Service
	case Restart:
		return last != Restart && last != Crash
	case Answer:
		return last != Answer
	}
	return true
}

// each visits all sequences of up to depth letters that tell something, shorter ones before the longer ones that
// begin with them, until visit returns false.
func each(depth int, visit func(Sequence) bool) bool {
	var walk func(Sequence) bool
	walk = func(s Sequence) bool {
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
