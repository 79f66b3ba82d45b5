package forall

import (
	"cmp"
	"slices"
)

// If commits have made one table of another one, only the chains and sets that they have written are compared. Which chains lead there is
// remembered from one comparison to the next. A chain that is the same leads to the same ones in both tables, so that it is enough to know
// the ways of one.

// spot is a chain of a table, or a set that has a name.
type spot struct{ chain, set string }

func (s spot) compare(other spot) int {
	return cmp.Or(cmp.Compare(s.chain, other.chain), cmp.Compare(s.set, other.set))
}

// ways are which spots lead to which. Some may not do so any more: what is noted too much costs time only.
type ways struct {
	chains, sets map[string]int32 // numbers of spots
	spots        []spot
	from         []int32 // of each spot: the last of its notes; 0: none
	notes        []note  // from 1 on
	atFirst      int     // how many notes there were when all were noted
}

// note is that a spot leads to the one that the note belongs to.
type note struct {
	from int32
	next int32 // another note of the same spot; 0: none
}

// fewWays is up to how many ways more nothing is forgotten.
const fewWays = 4096

// newWays are none yet, of a table of so many chains.
func newWays(chains int) ways {
	return ways{chains: make(map[string]int32, chains), sets: map[string]int32{}, notes: make([]note, 1, 2*chains+1)}
}

// stale says whether many ways may not be there any more.
func (w *ways) stale() bool { return len(w.notes) > 2*w.atFirst+fewWays }

// numberIn is the number of a spot by its name.
func (w *ways) numberIn(names map[string]int32, name string, of spot) int32 {
	id, known := names[name]
	if !known {
		id = int32(len(w.spots))
		names[name] = id
		w.spots, w.from = append(w.spots, of), append(w.from, 0)
	}
	return id
}

func (w *ways) chain(name string) int32 { return w.numberIn(w.chains, name, spot{chain: name}) }

func (w *ways) set(name string) int32 { return w.numberIn(w.sets, name, spot{set: name}) }

// note notes that a spot leads to another one.
func (w *ways) note(to, from int32) { w.add(&w.from[to], from) }

// add puts a note before others.
func (w *ways) add(notes *int32, from int32) {
	w.notes = append(w.notes, note{from, *notes})
	*notes = int32(len(w.notes) - 1)
}

// all are the spots of a note and of those behind it.
func (w *ways) all(notes int32) (from []int32) {
	for ; notes != 0; notes = w.notes[notes].next {
		from = append(from, w.notes[notes].from)
	}
	return from
}

// to are some spots and all that lead to them.
func (w *ways) to(ids []int32) map[spot]bool {
	all := map[spot]bool{}
	open := slices.Clone(ids)
	for len(open) > 0 {
		id := open[len(open)-1]
		open = open[:len(open)-1]
		if !all[w.spots[id]] {
			all[w.spots[id]] = true
			open = append(open, w.all(w.from[id])...)
		}
	}
	return all
}
