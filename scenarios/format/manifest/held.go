package manifest

// Held are the objects that an API holds. The zero value holds none.
type Held struct {
	all    []Object // with gaps where one was replaced or removed
	places map[Ref]int
}

// Put adds objects, each in the place of one of its name.
func (h *Held) Put(objects ...Object) {
	if h.places == nil {
		h.places = map[Ref]int{}
	}
	for _, o := range objects {
		ref := o.Ref()
		h.Remove(ref)
		h.places[ref], h.all = len(h.all), append(h.all, o)
	}
}

// Remove takes objects away, if they are there.
func (h *Held) Remove(refs ...Ref) {
	for _, ref := range refs {
		if place, ok := h.places[ref]; ok {
			h.all[place] = Object{}
			delete(h.places, ref)
		}
	}
}

// List are the objects, those last that were put last.
func (h *Held) List() []Object {
	out := make([]Object, 0, len(h.places))
	for _, o := range h.all {
		if o.Object != nil {
			out = append(out, o)
		}
	}
	return out
}
