package scenarios

import (
	"math/big"

	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
)

// ExpectOf is an answer of the oracle as an expectation. It is false where no expectation says it: where anything is
// allowed, also by chance, or endpoints end in several ways.
func ExpectOf(a *oracle.Answer) (Expect, bool) {
	first, ok := expectOne(a)
	if len(a.Others) == 0 {
		return first, ok
	}
	all := []Expect{first}
	for i := range a.Others {
		other, known := ExpectOf(&a.Others[i])
		all, ok = append(all, other), ok && known
	}
	return Expect{AnyOf: all}, ok
}

// expectOne is an answer without the others that are allowed as well.
func expectOne(a *oracle.Answer) (Expect, bool) {
	if a.Open || a.Loose {
		return Expect{}, false
	}
	switch a.Fate {
	case oracle.ToEndpoint:
		return expectEndpoints(a)
	case oracle.Reject:
		return Expect{Reject: Matched{Wanted: true}}, true
	case oracle.Drop:
		return Expect{Drop: Matched{Wanted: true}}, true
	case oracle.Untouched:
		if a.End == oracle.Dropped {
			return Expect{Drop: Matched{Wanted: true}}, true
		}
		if a.End == oracle.Delivered {
			return Expect{AnsweredBy: a.Host}, true
		}
		return Expect{Untouched: true}, true
	}
	return Expect{}, false
}

func expectEndpoints(a *oracle.Answer) (Expect, bool) {
	e := Expect{}
	host, end := a.At(0)
	heard, sources := true, map[oracle.Source]bool{}
	for i, endpoint := range a.Endpoints {
		at, this := a.At(i)
		if this != end || end == oracle.Lost || end == oracle.Refused && at != host {
			return Expect{}, false
		}
		heard = heard && a.Heard(i)
		sources[a.Source(i)] = true
		e.Endpoints = append(e.Endpoints, Share{Endpoint: endpoint, Chance: big.NewRat(1, int64(len(a.Endpoints)))})
	}
	if end == oracle.Dropped {
		return Expect{Drop: Matched{Wanted: true}}, true
	}
	if end == oracle.Refused {
		e.Endpoints, e.RefusedBy = nil, host
	}
	if len(sources) == 1 {
		e.Source = Source{Kept: sources[oracle.Kept], Masqueraded: sources[oracle.Masqueraded]}
	}
	e.OneWay = !heard
	return e, true
}
