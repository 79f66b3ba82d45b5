package page

import (
	"slices"

	"github.com/chainwalk/chainwalk/internal/dom"
	"github.com/chainwalk/chainwalk/scenarios/explain/story"
)

// lanes are the hosts beside one another, and what passes them, a row for each direction.
type lanes struct {
	Columns []column
	Rows    []row
	// Grid are the widths of the columns, with those of the arrows between them.
	Grid dom.Declaration
}

// column is a lane.
type column struct {
	Host string
	Role story.Role
	// Walked says that the host is in a passage; otherwise no more than its address is known.
	Walked bool
	At     dom.Declaration
}

// row are the passages of one direction.
type row struct {
	Direction story.Direction
	Title     string
	Backward  bool // it goes from the right to the left
	Cells     []cell
}

// cell is one of a passage, an end that was not walked, and an arrow.
type cell struct {
	Passage *passage
	End     *end
	Arrow   string // the device that the packet left by
	Point   string // the arrow's head: right, left
	At      dom.Declaration
}

// end is a peer that was not walked.
type end struct{ Address, Name string }

// layout puts passages into lanes.
type layout struct {
	columns []column
	places  []int // the column of each passage
	// first and last say that an end that was not walked has the first column, and the last.
	first, last bool
}

func lanesOf(passages []passage) lanes {
	l := &layout{places: make([]int, len(passages))}
	l.thereAndEnds(passages)
	for i := range passages {
		if p := &passages[i]; p.Direction != story.There {
			l.place(passages, i)
		}
	}
	out := lanes{Columns: l.columns, Grid: l.grid()}
	for i := range out.Columns {
		out.Columns[i].At = at(i)
	}
	for _, direction := range []story.Direction{story.There, story.Back, story.Answer, story.Copy} {
		if r := l.row(passages, direction); len(r.Cells) > 0 {
			out.Rows = append(out.Rows, r)
		}
	}
	return out
}

// thereAndEnds gives each host on the way from the client a lane, and one to each end that was not walked.
func (l *layout) thereAndEnds(passages []passage) {
	var last *passage
	for i := range passages {
		p := &passages[i]
		if p.Direction != story.There {
			continue
		}
		if last == nil && p.In != Local {
			l.first = true
			l.columns = append(l.columns, column{Role: story.Client})
		}
		l.places[i] = len(l.columns)
		l.columns = append(l.columns, column{Host: p.Host, Role: p.Role, Walked: true})
		last = p
	}
	if last != nil && last.Out != "" && last.Out != Local {
		l.last = true
		l.columns = append(l.columns, column{Role: story.Server})
	}
}

// Local is the device of a packet that a host made, or that one of its sockets took.
const Local = "local"

// place finds the lane of a passage that is not on the way from the client: that of its host, the next one from where the packet was
// before.
func (l *layout) place(passages []passage, i int) {
	p := &passages[i]
	from := len(l.columns)
	continued := i > 0 && passages[i-1].Direction == p.Direction && p.In != Local
	if continued {
		from = l.places[i-1]
	}
	if p.Direction == story.Copy {
		from = 0
	}
	column, ok := l.lane(p.Host, from, p.Direction == story.Copy)
	if !ok {
		column = l.insert(p, min(from, len(l.columns)))
	}
	l.places[i] = column
}

// lane is that of a host, the nearest one to the left, or to the right.
func (l *layout) lane(host string, from int, right bool) (int, bool) {
	if right {
		i := slices.IndexFunc(l.columns[from:], func(c column) bool { return c.Host == host })
		return from + i, i >= 0
	}
	for i := min(from, len(l.columns)) - 1; i >= 0; i-- {
		if l.columns[i].Host == host {
			return i, true
		}
	}
	return 0, false
}

// insert gives a passage's host a lane of its own.
func (l *layout) insert(p *passage, before int) int {
	l.columns = slices.Insert(l.columns, before, column{Host: p.Host, Role: p.Role, Walked: true})
	for i := range l.places {
		if l.places[i] >= before {
			l.places[i]++
		}
	}
	return before
}

var titles = map[story.Direction]string{story.There: "there", story.Back: "back", story.Answer: "answer", story.Copy: "copy"}

// row are the cells of one direction.
func (l *layout) row(passages []passage, direction story.Direction) row {
	r := row{Direction: direction, Title: titles[direction], Backward: direction == story.Back || direction == story.Answer}
	var of []int
	for i := range passages {
		if passages[i].Direction == direction {
			of = append(of, i)
		}
	}
	if len(of) == 0 {
		return r
	}
	first, last := &passages[of[0]], &passages[of[len(of)-1]]
	if direction == story.There && l.first {
		r.Cells = append(r.Cells, cell{End: &end{address(first.Came.Src), first.Came.SrcName}, At: at(0)}, arrow(0, 1, first.In))
	}
	for n, i := range of {
		p := &passages[i]
		r.Cells = append(r.Cells, cell{Passage: p, At: at(l.places[i])})
		if n+1 < len(of) {
			r.Cells = append(r.Cells, arrow(l.places[i], l.places[of[n+1]], p.Out))
		}
	}
	if last.Out == "" || last.Out == Local {
		return r
	}
	from := l.places[of[len(of)-1]]
	switch {
	case direction == story.There && l.last:
		to := len(l.columns) - 1
		r.Cells = append(r.Cells, arrow(from, to, last.Out), cell{End: &end{address(last.Left.Dst), last.Left.DstName}, At: at(to)})
	case r.Backward && from > 0:
		r.Cells = append(r.Cells, arrow(from, 0, last.Out), cell{End: &end{address(last.Left.Dst), last.Left.DstName}, At: at(0)})
	}
	return r
}

// arrow goes from one lane to another.
func arrow(from, to int, device string) cell {
	c := cell{Arrow: device, Point: "right"}
	if from > to {
		from, to, c.Point = to, from, "left"
	}
	c.At = dom.Declare("grid-column:%d/%d", 2*from+2, max(2*to+1, 2*from+3))
	return c
}

// at is the place of a lane in the grid.
func at(column int) dom.Declaration { return dom.Declare("grid-column:%d", 2*column+1) }

// grid are the widths: nodes need most of the room, ends that were not walked least.
func (l *layout) grid() dom.Declaration {
	widths := dom.Declare[int]("grid-template-columns:")
	for i := range l.columns {
		if i > 0 {
			widths = widths.And(" minmax(3.4rem,7rem) ")
		}
		switch c := &l.columns[i]; {
		case !c.Walked:
			widths = widths.And("minmax(8.5rem,1fr)")
		case c.Role == story.Node:
			widths = widths.And("minmax(15rem,3fr)")
		default:
			widths = widths.And("minmax(10.5rem,1.4fr)")
		}
	}
	return widths
}
