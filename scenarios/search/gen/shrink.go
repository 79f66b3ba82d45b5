package gen

import (
	"bytes"
	"crypto/sha256"
	"slices"

	"github.com/chainwalk/chainwalk/internal/ddmin"
	"github.com/chainwalk/chainwalk/scenarios"
)

// Shrink makes a scenario that fails as small as it can be: the fewest steps, objects,
// nodes and fields, and the plainest values. It asks fails at most budget times, of
// scenarios that are in order and that an API server could hand out, and ends when nothing
// alone can go, or with the budget. The same scenario shrinks to the same one.
//
// A scenario that cannot be written is returned as it is.
func Shrink(s *scenarios.Scenario, fails func(*scenarios.Scenario) bool, budget int) *scenarios.Scenario {
	root, err := asTree(s)
	if err != nil {
		return s
	}
	sh := &shrinking{tree: root, best: s, fails: fails, budget: budget, tried: map[[sha256.Size]byte]bool{}}
	for before := -1; before != sh.found && sh.budget > 0; {
		before = sh.found
		sh.steps()
		sh.services()
		sh.nodes()
		sh.family()
		sh.merge()
		sh.everyVersion()
		sh.types()
		sh.everything()
		sh.values()
	}
	return sh.best
}

// shrinking is a scenario on its way to a small one.
type shrinking struct {
	tree   ddmin.Tree
	best   *scenarios.Scenario
	fails  func(*scenarios.Scenario) bool
	budget int
	found  int
	tried  map[[sha256.Size]byte]bool
}

// try keeps a tree that still fails.
func (s *shrinking) try(t ddmin.Tree) bool {
	if s.budget <= 0 || nodeCount(t) > nodeCount(s.tree) {
		return false
	}
	file := text(t)
	sum := sha256.Sum256(file)
	if s.tried[sum] {
		return false
	}
	s.tried[sum] = true
	candidate, err := scenarios.Read("shrunk.yaml", bytes.NewReader(file))
	if err != nil || !handedOut(candidate) {
		return false
	}
	s.budget--
	if !s.fails(candidate) {
		return false
	}
	s.tree, s.best = t, candidate
	s.found++
	return true
}

// list drops what it can from the list at a path.
func (s *shrinking) list(p ddmin.Path) {
	list, _ := ddmin.At(s.tree, p).([]any)
	ddmin.List(len(list), func(from, size int) bool { return s.try(ddmin.WithoutItems(s.tree, p, from, size)) })
}

// steps drops steps, and has what is left do nothing but sync where that will do.
func (s *shrinking) steps() {
	s.list(ddmin.Path{"steps"})
	for i, step := range s.listAt("steps") {
		if m, ok := step.(map[string]any); ok && (len(m) > 1 || m["sync"] != true) {
			s.try(ddmin.Edit(s.tree, ddmin.Path{"steps", i}, func(any) any { return onlySync() }))
		}
	}
}

func onlySync() any { return map[string]any{"sync": true} }

// everything drops each item of a list and each field of a mapping that can go alone.
func (s *shrinking) everything() { ddmin.Parts(s.tree, s.try) }

// merge makes one step of two: what is applied first is there from the start, and what is
// applied after something else was is applied with it.
func (s *shrinking) merge() {
	for i := 0; i < len(s.listAt("steps")); i++ {
		step := ddmin.Path{"steps", i}
		objects, _ := ddmin.At(s.tree, step.With("apply")).([]any)
		if len(objects) == 0 {
			continue
		}
		into := ddmin.Path{"objects"}
		if i > 0 {
			into = ddmin.Path{"steps", i - 1, "apply"}
			if _, ok := ddmin.At(s.tree, into).([]any); !ok {
				continue
			}
		}
		before, _ := ddmin.At(s.tree, into).([]any)
		joined := ddmin.WithoutItems(ddmin.Edit(s.tree, into, func(any) any { return together(before, objects) }), ddmin.Path{"steps"}, i, 1)
		if len(ddmin.At(joined, ddmin.Path{"steps"}).([]any)) == 0 {
			joined = ddmin.Edit(joined, ddmin.Path{"steps"}, func(any) any { return []any{onlySync()} })
		}
		if s.try(joined) {
			i--
		}
	}
}

// together are objects as they are once others were applied after them.
func together(before, after []any) []any {
	out := slices.Clone(before)
	for _, o := range after {
		i := slices.IndexFunc(out, func(other any) bool { return refOf(other) == refOf(o) })
		if i < 0 {
			out = append(out, o)
		} else {
			out[i] = o
		}
	}
	return out
}

func (s *shrinking) listAt(key string) []any {
	list, _ := ddmin.At(s.tree, ddmin.Path{key}).([]any)
	return list
}
