package tools

import "github.com/chainwalk/chainwalk/scenarios"

// Watch reports every point of a node's syncs.
type Watch struct {
	node  string
	tell  func(scenarios.Point) // nil: nobody
	count map[scenarios.Point]int
}

// NewWatch returns a node's watch that reports to nobody.
func NewWatch(node string) *Watch { return &Watch{node: node} }

// Tell has the function called at every point from the next Begin on; nil ends that.
func (w *Watch) Tell(tell func(scenarios.Point)) { w.tell, w.count = tell, nil }

// Begin begins a sync: commands are counted from one again.
func (w *Watch) Begin() {
	if w.tell != nil {
		w.count = map[scenarios.Point]int{}
	}
}

// End ends the sync.
func (w *Watch) End() { w.count = nil }

// watched says whether it reports the sync at this moment.
func (w *Watch) watched() bool { return w.count != nil }

// around does something, with the points before and after it.
func (w *Watch) around(command scenarios.Command, table string, do func() error) error {
	if !w.watched() {
		return do()
	}
	p := scenarios.Point{Node: w.node, Command: command, Table: table}
	w.count[p]++
	p.Nth = w.count[p]
	w.tell(p)
	err := do()
	p.After = true
	w.tell(p)
	return err
}
