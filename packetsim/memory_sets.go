package packetsim

import "github.com/chainwalk/chainwalk/netfilter/ipset"

// rememberedSets are the sets that rules name. Others use them too, so what packets change of them lies over them in overlays, in
// the layers of memory, and is written to them when the outermost checkpoint is kept.
type rememberedSets struct {
	memory *memory
	table  *ipset.Table
	layers []setsLayer

	freezes bool // a look that is under way sees the sets as it found them first
	frozen  *ipset.Overlay
	thaw    func()
}

// setsLayer is the sets under the checkpoint of that depth.
type setsLayer struct {
	depth int
	sets  *ipset.Overlay
}

func (r *rememberedSets) begin(m *memory) { r.memory = m }

// now is the sets as the innermost checkpoint sees them, to be asked and to be changed.
func (r *rememberedSets) now() *ipset.Overlay {
	last := len(r.layers) - 1
	if last >= 0 && r.layers[last].depth == r.memory.depth {
		return r.layers[last].sets
	}
	var sets *ipset.Overlay
	switch {
	case last >= 0:
		sets = r.layers[last].sets.Overlay()
	case r.freezes:
		if r.frozen == nil {
			r.frozen, r.thaw = r.table.Freeze()
		}
		sets = r.frozen.Overlay()
	default:
		sets = r.table.Overlay()
	}
	r.layers = append(r.layers, setsLayer{r.memory.depth, sets})
	r.memory.layers++
	return sets
}

func (r *rememberedSets) freeze() { r.freezes = true }

func (r *rememberedSets) release() {
	r.freezes = false
	if r.frozen != nil {
		r.thaw()
		r.frozen, r.thaw = nil, nil
	}
}

func (r *rememberedSets) keep(depth int) {
	last := len(r.layers) - 1
	switch {
	case last < 0 || r.layers[last].depth < depth:
	case depth == 1 || last > 0 && r.layers[last-1].depth == depth-1:
		r.layers[last].sets.Commit()
		r.pop()
	default:
		r.layers[last].depth--
	}
}

func (r *rememberedSets) rollback(depth int) {
	if last := len(r.layers) - 1; last >= 0 && r.layers[last].depth == depth {
		r.pop()
	}
}

func (r *rememberedSets) pop() {
	last := len(r.layers) - 1
	r.layers[last] = setsLayer{}
	r.layers = r.layers[:last]
	r.memory.layers--
}
