package ipset

import "time"

// add puts an entry in. One that is there already is replaced if exist is set.
func (o *Overlay) add(s *set, k key, e entry, exist bool) error {
	if s.kind == bitmapIPMAC {
		return o.addMAC(s, k, e, exist)
	}
	e.stored = 0
	k, old := o.find(s, k)
	switch {
	case old == nil && s.kind.hash():
		if err := o.admit(s, k); err != nil {
			return err
		}
	case old == nil:
	case s.live(old) && !exist:
		return errElemExists
	default:
		e.wildcard = old.wildcard
	}
	o.put(s, k, e)
	return nil
}

// admit says whether there is a place for another entry.
func (o *Overlay) admit(s *set, k key) error {
	if o == nil {
		return s.table.admit(s, k)
	}
	if o.size(s) >= int(s.options.maxElem) {
		o.expire(s)
		if o.size(s) >= int(s.options.maxElem) {
			return errFull
		}
	}
	return nil
}

// expire removes the entries whose time is over.
func (o *Overlay) expire(s *set) {
	if !s.options.hasTimeout {
		return
	}
	for k := range s.entries {
		o.expireOne(s, k)
	}
	for at := o; at != nil; at = at.below {
		if c := at.changed[s]; c != nil {
			for k := range c.entries {
				o.expireOne(s, k)
			}
		}
	}
}

func (o *Overlay) expireOne(s *set, k key) {
	if e := o.entry(s, k); e != nil && !s.live(e) {
		o.remove(s, k)
	}
}

// addMAC is add of bitmap:ip,mac (net/netfilter/ipset/ip_set_bitmap_ipmac.c): the timeout of an entry begins to run with its MAC address,
// which the entry gets with -exist, or from the first packet.
func (o *Overlay) addMAC(s *set, k key, e entry, exist bool) error {
	old := o.entry(s, k)
	given := e.filled
	switch {
	case old == nil:
	case !old.filled && given:
		if e.stored == s.options.timeout {
			e.stored = old.stored
		}
	case s.settled(old) && !exist:
		return errElemExists
	case old.filled:
		e.filled = true
		if !given || !exist {
			e.mac = old.mac
		}
	}
	seconds := e.stored
	e.stored, e.expires = 0, time.Time{}
	switch {
	case !e.filled:
		e.stored = seconds
	case seconds == 0:
	case given:
		e.expires = s.expiry(true, seconds)
	default:
		// The kernel takes the seconds for the time at which the entry ends.
		e.expires = s.clock.Now()
	}
	o.put(s, k, e)
	return nil
}
