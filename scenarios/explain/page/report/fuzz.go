package report

import (
	"io"
	"strconv"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/explain/page"
)

// Search is what a search came to, as its page tells it.
type Search struct {
	Seed          uint64
	Shard, Shards int    // which part of the search it is; 0 of one that was joined
	Commit        string // empty: unknown
	// Cases were judged: States by Connections there and back, and by single Packets of connections that were kept.
	Cases, States, Connections, Packets int
	Findings                            []Finding
}

// Finding is what a search found, made small.
type Finding struct {
	Clause, Law, Text string // the clause that is broken, and what it promises
	Cause             string // empty: nobody looked for one
	Where             string // when and where it was seen
	Again             string // the command that finds it again
	Also              []Again
	Want, Got         string
	File              string // the scenario with the expectation that fails
	// Replayed is what came of the scenario when it was run once more; nil of one that was not run.
	Replayed *scenarios.Result
}

// Again is another clause that the same thing seems to break, with the command that shows it.
type Again struct{ Clause, Command string }

// Fuzz writes the page of a search: what it found, and the ways of the packets.
func Fuzz(w io.Writer, found *Search) error {
	s := searchOf(found)
	return page.Write(w, &page.Page{Title: s.Sentence, What: "fuzz", Body: s.body()})
}

// search is a search as the page shows it.
type search struct {
	*Search
	Sentence string
	Figures  []figure
	Sections []section
	LeftOut  int
}

// section is a finding with what came of its scenario when it was run again.
type section struct {
	*Finding
	ID string
	// Replay is nil if the scenario was not run.
	Replay *scenario
}

func searchOf(found *Search) *search {
	s := &search{Search: found, Sentence: "no clause of the specification was broken"}
	if n := len(found.Findings); n > 0 {
		s.Sentence = plural(n, "finding") + " against the specification"
	}
	s.Figures = []figure{
		figureOf(found.Cases, "case"), figureOf(found.States, "state"), figureOf(found.Connections, "connection"),
		{found.Packets, "packets of kept ones"}, figureOf(len(found.Findings), "finding"),
	}
	room := &run{lines: roomLines, bytes: roomSource}
	for i := range found.Findings {
		f := &found.Findings[i]
		one := section{Finding: f, ID: "f" + strconv.Itoa(i+1)}
		if result := f.Replayed; result != nil {
			told := scenarios.WaysOne.Told([]*scenarios.Result{result})[0]
			one.Replay = room.scenario(result, told, one.ID, RunOptions{Source: func(*scenarios.Result) string { return f.File }})
		}
		s.Sections = append(s.Sections, one)
	}
	s.LeftOut = room.LeftOut
	return s
}
