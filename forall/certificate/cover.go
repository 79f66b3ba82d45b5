package certificate

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// cover verifies that boxes are disjoint and have all packets.
type cover struct {
	six     bool
	devices []string // all, Host too
	cells   []cell
	point   [fields]value // the first values of the parts that are looked at
	left    int           // how much may be looked at
}

// effort is how much is looked at for each box: boxes that lie as they should are looked at once for each field.
const effort = 64

// errTangled says that boxes lie so that to compare them would take too long.
var errTangled = errors.New("the boxes overlap too much to be compared")

// gap is packets that are in no box.
type gap struct{ where string }

func (g *gap) Error() string { return "no box has the packets with " + g.where }

// overlap is packets that are in two boxes.
type overlap struct {
	a, b  int32
	where string
}

func (o *overlap) Error() string {
	return fmt.Sprintf("box %d overlaps box %d: both have the packets with %s", o.b, o.a, o.where)
}

// check is a gap, an overlap or errTangled.
func (c *cover) check() error {
	all := make([]int32, len(c.cells))
	for i := range all {
		all[i] = int32(i)
	}
	c.left = effort * (len(all) + 1<<10)
	return c.by(dst, all)
}

// by compares cells that have the same packets as far as the fields before f go.
func (c *cover) by(f field, ids []int32) error {
	if f == fields {
		return c.byDevice(ids)
	}
	if c.left -= len(ids) + 1; c.left < 0 {
		return errTangled
	}
	ids = slices.Clone(ids)
	slices.SortFunc(ids, func(a, b int32) int { return c.cells[a].spans[f].first.compare(c.cells[b].spans[f].first) })
	at, last := value{}, f.whole(c.six).last
	var active []int32
	for next := 0; ; {
		for next < len(ids) && c.cells[ids[next]].spans[f].first == at {
			active, next = append(active, ids[next]), next+1
		}
		if c.point[f] = at; len(active) == 0 {
			return &gap{c.where(f)}
		}
		end := last
		if next < len(ids) {
			end = c.cells[ids[next]].spans[f].first.prev()
		}
		for _, id := range active {
			if l := c.cells[id].spans[f].last; l.less(end) {
				end = l
			}
		}
		if err := c.by(f+1, active); err != nil || end == last {
			return err
		}
		at = end.next()
		active = slices.DeleteFunc(active, func(id int32) bool { return c.cells[id].spans[f].last == end })
	}
}

// byDevice compares cells that have the same packets but for the devices.
func (c *cover) byDevice(ids []int32) error {
	slices.Sort(ids)
	known := make(map[string]int32, len(c.devices))
	for _, id := range ids {
		for _, d := range c.cells[id].in {
			if other, is := known[d]; is {
				return &overlap{other, id, c.where(srcPort) + ", by " + cmp.Or(d, "the host itself")}
			}
			known[d] = id
		}
	}
	for _, d := range c.devices {
		if _, is := known[d]; !is {
			return &gap{c.where(srcPort) + ", by " + cmp.Or(d, "the host itself")}
		}
	}
	return nil
}

// where is the point up to a field.
func (c *cover) where(upTo field) string {
	text := ""
	for f := dst; f <= upTo; f++ {
		if f > dst {
			text += ", "
		}
		text += fieldNames[f] + " " + f.text(c.point[f], c.six)
	}
	return text
}
