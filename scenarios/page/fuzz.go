package page

import (
	"io"
	"strconv"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/fuzz"
)

// Fuzz writes the page of a search: what it found, made small, and the ways of the packets. Replayed is what came of each failure's
// scenario, in the order of the failures; nil of one that was not run.
func Fuzz(w io.Writer, r *fuzz.Result, replayed []*scenarios.Result) error {
	s := searchOf(r, replayed)
	return write(w, content{Title: s.Sentence, Fuzz: s})
}

// search is a search as the page shows it.
type search struct {
	*fuzz.Result
	Sentence string
	Figures  []figure
	Findings []finding
	LeftOut  int
}

// finding is a failure with what came of its scenario when it was run again.
type finding struct {
	*fuzz.Failure
	ID    string
	Where string
	Again string
	// Replay is nil if the scenario was not run.
	Replay *scenario
}

func searchOf(r *fuzz.Result, replayed []*scenarios.Result) *search {
	s := &search{Result: r, Sentence: "no clause of the specification was broken"}
	if n := len(r.Failures); n > 0 {
		s.Sentence = plural(n, "finding") + " against the specification"
	}
	f := &r.Figures
	s.Figures = []figure{
		figureOf(r.Cases, "case"), figureOf(f.States, "state"), figureOf(f.Connections, "connection"), {f.Packets, "packets of kept ones"},
		figureOf(len(r.Failures), "finding"),
	}
	room := &run{lines: roomLines, bytes: roomSource}
	for i := range r.Failures {
		failure := &r.Failures[i]
		one := finding{
			Failure: failure, ID: "f" + strconv.Itoa(i+1), Where: failure.Where(),
			Again: failure.Again(r.Program),
		}
		if result := replayed[i]; result != nil {
			told := scenarios.WaysOne.Told([]*scenarios.Result{result})[0]
			one.Replay = room.scenario(result, told, one.ID, RunOptions{Source: func(*scenarios.Result) string { return failure.File }})
		}
		s.Findings = append(s.Findings, one)
	}
	s.LeftOut = room.LeftOut
	return s
}
