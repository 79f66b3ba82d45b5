package ipset

// find is the entry that a key stands for, and the key that it is kept with: of an interface that may be an entry for the beginning of its
// name. The one that the kernel comes to first is meant, but for those whose time is over.
func (o *Overlay) find(s *set, k key) (key, *entry) {
	if !s.kind.has(partIface) {
		return k, o.entry(s, k)
	}
	found, best := k, (*entry)(nil)
	for n := len(k.name); n >= 0; n-- {
		at := k
		at.name = k.name[:n]
		e := o.entry(s, at)
		if e == nil || n < len(k.name) && !e.wildcard {
			continue
		}
		if best == nil || s.live(e) && !s.live(best) || s.live(e) == s.live(best) && e.at.index < best.at.index {
			found, best = at, e
		}
	}
	return found, best
}

// underNet is the entry of the net of so many bits around the key's address. over says that no shorter net is looked at: that is so once
// there is the net, with another interface.
func (o *Overlay) underNet(s *set, k key, bits uint8) (at key, e *entry, over bool) {
	if o.nets(s, bits) == 0 {
		return k, nil, false
	}
	if s.kind.net2() {
		k.addr2, k.bits2 = cutAddr(k.addr2, bits), bits
	} else {
		k.addr, k.bits = cutAddr(k.addr, bits), bits
	}
	at, e = o.find(s, k)
	if e == nil {
		return at, nil, s.kind.has(partIface) && o.hasNet(s, k)
	}
	if !s.live(e) {
		e = nil
	}
	return at, e, false
}

// hasNet says that there is the net of the key with some interface.
func (o *Overlay) hasNet(s *set, k key) bool {
	alike := func(other key) bool {
		return other.addr == k.addr && other.bits == k.bits && other.physdev == k.physdev && o.entry(s, other) != nil
	}
	if b := s.table.buckets[s.table.bucketOf(s.hashOf(k))]; b != nil {
		for _, p := range b.places {
			if p.used && alike(p.key) {
				return true
			}
		}
	}
	for ; o != nil; o = o.below {
		if c := o.changed[s]; c != nil {
			for other := range c.entries {
				if alike(other) {
					return true
				}
			}
		}
	}
	return false
}
