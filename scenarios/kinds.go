package scenarios

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// subject is what an expectation is about.
type subject uint8

const (
	ofConnection   subject = iota // a connect or cases step
	ofClientPacket                // a flow step, from the client
	ofServerPacket                // a flow step, from the server
	ofSinglePacket                // a send step
	subjects
)

// String is the subject in words.
func (s subject) String() string {
	switch s {
	case ofConnection:
		return "connection"
	case ofSinglePacket:
		return "single packet"
	}
	return "packet of a connection"
}

// expectKind is something that can be expected, and all that follows from it.
type expectKind struct {
	name string
	// of says about which subjects it says something: which one it is of the kinds that
	// errors list there, from 1; 0 if it says nothing.
	of [subjects]int
	// word says that its name alone can stand for the expectation: which one it is of the
	// words that errors and the schema list, from 1; 0 if it cannot.
	word int
	// arrives says that a server sees the packet, whose source can be asked for then.
	arrives bool
	// answered says that something comes back, so that oneWay can leave it out.
	answered bool
	given    func(*Expect) bool
	// set makes it the expectation, for a word.
	set func(*Expect)
	// judge says what is wrong with one way; the chances of all ways are compared after it. Nil for anyOf, which is judged by what it holds.
	judge func(*judge, *Way) string
	print func(*Expect) string
}

// expectKinds are all kinds, in the order in which they are listed.
func expectKinds() []expectKind {
	return []expectKind{
		{
			name: "endpoints", of: [subjects]int{ofConnection: 1, ofClientPacket: 6, ofSinglePacket: 1}, arrives: true, answered: true,
			given: func(e *Expect) bool { return len(e.Endpoints) > 0 },
			judge: (*judge).reached,
			print: func(e *Expect) string { return fmt.Sprintf("endpoints {%s}", e.Endpoints) },
		},
		{
			name: "sameAs", of: [subjects]int{ofConnection: 2, ofClientPacket: 9}, arrives: true, answered: true,
			given: func(e *Expect) bool { return e.SameAs != "" },
			judge: (*judge).reached,
			print: func(e *Expect) string { return "the same endpoint as " + e.SameAs },
		},
		{
			name: "answeredBy", of: [subjects]int{ofConnection: 3}, arrives: true, answered: true,
			given: func(e *Expect) bool { return e.AnsweredBy != "" },
			judge: (*judge).answered,
			print: func(e *Expect) string { return "answered by " + e.AnsweredBy + ", untouched" },
		},
		{
			name: "refusedBy", of: [subjects]int{ofConnection: 4, ofClientPacket: 7}, arrives: true, answered: true,
			given: func(e *Expect) bool { return e.RefusedBy != "" },
			judge: (*judge).refused,
			print: func(e *Expect) string { return "refused by " + e.RefusedBy },
		},
		{
			name: "untouched", of: [subjects]int{ofConnection: 5, ofClientPacket: 8, ofSinglePacket: 2}, word: 3, arrives: true,
			given: func(e *Expect) bool { return e.Untouched },
			set:   func(e *Expect) { e.Untouched = true },
			judge: (*judge).untouched,
			print: func(*Expect) string { return "untouched" },
		},
		{
			name: "reject", of: [subjects]int{ofConnection: 6, ofClientPacket: 3, ofServerPacket: 3, ofSinglePacket: 3}, word: 1, answered: true,
			given: func(e *Expect) bool { return e.Reject.Wanted },
			set:   func(e *Expect) { e.Reject.Wanted = true },
			judge: (*judge).rejected,
			print: func(e *Expect) string { return "rejected" + withText(" with ", e.Reject.Text) },
		},
		{
			name: "drop", of: [subjects]int{ofConnection: 7, ofClientPacket: 4, ofServerPacket: 4, ofSinglePacket: 4}, word: 2, answered: true,
			given: func(e *Expect) bool { return e.Drop.Wanted },
			set:   func(e *Expect) { e.Drop.Wanted = true },
			judge: (*judge).dropped,
			print: func(e *Expect) string { return "dropped" + withText(" by ", e.Drop.Text) },
		},
		{
			name: "noReply", of: [subjects]int{ofConnection: 8, ofClientPacket: 5, ofServerPacket: 5}, word: 4,
			given: func(e *Expect) bool { return e.NoReply },
			set:   func(e *Expect) { e.NoReply = true },
			judge: (*judge).unanswered,
			print: func(*Expect) string { return "no reply" },
		},
		{
			name: "delivered", of: [subjects]int{ofClientPacket: 1, ofServerPacket: 1}, word: 5, arrives: true, answered: true,
			given: func(e *Expect) bool { return e.Delivered },
			set:   func(e *Expect) { e.Delivered = true },
			judge: (*judge).delivered,
			print: func(*Expect) string { return "delivered" },
		},
		{
			name: "stray", of: [subjects]int{ofClientPacket: 2, ofServerPacket: 2}, word: 6,
			given: func(e *Expect) bool { return e.Stray },
			set:   func(e *Expect) { e.Stray = true },
			judge: (*judge).stray,
			print: func(*Expect) string { return "stray" },
		},
		{
			name: "anyOf", of: [subjects]int{ofConnection: 9, ofClientPacket: 10, ofServerPacket: 6, ofSinglePacket: 5},
			given: func(e *Expect) bool { return len(e.AnyOf) > 0 },
			print: func(e *Expect) string {
				out := make([]string, len(e.AnyOf))
				for i := range e.AnyOf {
					out[i] = e.AnyOf[i].String()
				}
				return strings.Join(out, "; or ")
			},
		},
	}
}

// kindsOf are the kinds that say something about a subject, as they are listed there.
func kindsOf(s subject) []expectKind { return listed(func(k *expectKind) int { return k.of[s] }) }

// wordKinds are the kinds whose names can stand for an expectation, as they are listed.
var wordKinds = sync.OnceValue(func() []expectKind { return listed(func(k *expectKind) int { return k.word }) })

func listed(rank func(*expectKind) int) []expectKind {
	kinds := slices.DeleteFunc(expectKinds(), func(k expectKind) bool { return rank(&k) == 0 })
	slices.SortFunc(kinds, func(a, b expectKind) int { return cmp.Compare(rank(&a), rank(&b)) })
	return kinds
}

func kindNames(kinds []expectKind) []string {
	names := make([]string, len(kinds))
	for i := range kinds {
		names[i] = kinds[i].name
	}
	return names
}

// kinds returns the kinds of expectations that e has.
func (e *Expect) kinds() []expectKind {
	return slices.DeleteFunc(expectKinds(), func(k expectKind) bool { return !k.given(e) })
}

// kind is the one that is given; a file with none or several is refused when it is read.
func (e *Expect) kind() expectKind { return e.kinds()[0] }

func withText(before, text string) string {
	if text == "" {
		return ""
	}
	return before + text
}
