package nft

import (
	"bytes"
	"maps"
	"slices"
	"time"

	"github.com/chainwalk/chainwalk/internal/mark"
	"github.com/chainwalk/chainwalk/proxier/internal/model"
)

// scratch is what one partial transaction needs. Its memory is used again.
type scratch struct {
	// before writes a service port as the kernel has it.
	before portText
	// chains has the commands that make chains and empty them, sets those that delete sets, rules those that make sets and fill chains.
	chains, sets, rules []byte
	transaction         []byte
	now, old            []claim
	nowText, oldText    []byte
	// touched are the elements that may be other ones than before, with who had them then.
	touched map[key]claimant
	// held are the endpoints that the kernel has a chain for.
	held map[string]struct{}
}

func (s *scratch) begin() {
	s.chains, s.sets, s.rules, s.transaction = s.chains[:0], s.sets[:0], s.rules[:0], s.transaction[:0]
	if s.touched == nil {
		s.touched, s.held = map[key]claimant{}, map[string]struct{}{}
	}
	clear(s.touched)
}

// partial returns the transaction that turns what the kernel holds after the last one into what it must hold after the changes. It is
// empty if that is the same. Its cost is that of the changed service ports. It is valid until the next call. If the kernel does not take
// it, full must follow.
func (r *renderer) partial(c *model.Changes, now time.Time) []byte {
	s := &r.scratch
	s.begin()
	s.before.local = r.port.local
	r.changeCommon(c)
	for _, e := range r.book.gone(c) {
		r.marks.Hit(mark.RenderPortGone)
		r.replace(e, nil, now)
	}
	for i := range c.Ports {
		service := c.Ports[i] // the changes belong to the caller
		r.replace(r.book.find(&service.Port.Name), &service, now)
	}
	dst := append(append(append(s.transaction, s.chains...), s.sets...), s.rules...)
	dst = r.appendTouched(dst)
	r.marks.HitIf(mark.RenderNothing, len(dst) == 0)
	s.transaction = dst
	return dst
}

// changeCommon writes what does not depend on services and may be otherwise now.
func (r *renderer) changeCommon(c *model.Changes) {
	s := setup{speller: &r.speller, model: &r.common}
	if !c.NodePorts.Equal(r.common.NodePorts) {
		r.marks.Hit(mark.RenderNodePortsMoved)
		r.common.NodePorts = c.NodePorts
		r.scratch.rules = s.appendNodePortAddresses(r.scratch.rules)
	}
	if !slices.Equal(c.ServiceCIDRs, r.common.ServiceCIDRs) {
		r.common.ServiceCIDRs = c.ServiceCIDRs
		r.scratch.chains = r.speller.line(r.scratch.chains, "flush chain ", clusterIPsCheckChain, "")
		r.scratch.rules = s.appendClusterIPsCheck(r.scratch.rules)
	}
}

// replace turns a service port into what it is now. e is nil if it is new, and service if it is gone.
func (r *renderer) replace(e *entry, service *model.Service, now time.Time) {
	var old *model.Service
	if e != nil {
		old = e.service
		r.scratch.before.set(old)
		r.book.totals.Add(e.totals(), -1)
	}
	if service != nil {
		r.port.set(service)
	}
	newTimeout := old != nil && service != nil && old.Port.SessionAffinityClientIP && service.Port.SessionAffinityClientIP &&
		old.Port.StickyMaxAgeSeconds != service.Port.StickyMaxAgeSeconds
	r.changeChains(old, service, newTimeout, now)
	r.changeEndpoints(old, service, newTimeout, now)
	r.changeEntry(e, service)
}

// changeChains writes those chains of a service port that are other ones now, or that have to let go of the sets of clients.
func (r *renderer) changeChains(old, service *model.Service, rewrite bool, now time.Time) {
	s := &r.scratch
	had, has := chainsOf(old), chainsOf(service)
	for kind := range chainKinds {
		switch {
		case has.has(kind):
			s.nowText = r.port.appendRules(s.nowText[:0], kind)
			if had.has(kind) && !rewrite {
				s.oldText = s.before.appendRules(s.oldText[:0], kind)
				if bytes.Equal(s.nowText, s.oldText) {
					continue
				}
			}
			r.fill(kind.prefix(), r.port.base)
			s.rules = append(s.rules, s.nowText...)
		case had.has(kind):
			r.retire(kind.prefix(), s.before.base, now)
		}
	}
}

// fill makes a chain, or empties it: rules for it follow.
func (r *renderer) fill(prefix string, base []byte) {
	s := &r.scratch
	s.chains = append(r.speller.command(s.chains, "add chain ", prefix, base), '\n')
	s.chains = append(r.speller.command(s.chains, "flush chain ", prefix, base), '\n')
	if len(r.stale) == 0 {
		return
	}
	name := prefix + string(base)
	_, stale := r.stale[name]
	r.marks.HitIf(mark.RenderUsedAgain, stale)
	delete(r.stale, name)
}

// retire empties a chain that is not used any longer.
func (r *renderer) retire(prefix string, base []byte, now time.Time) {
	r.scratch.chains = append(r.speller.command(r.scratch.chains, "flush chain ", prefix, base), '\n')
	r.stale[prefix+string(base)] = now
}

// changeEndpoints writes what the endpoints of a service port need to have clients stick to them. A set with another timeout is made anew,
// and so forgets its clients: older kernels keep the timeout that a set has, and say nothing.
func (r *renderer) changeEndpoints(old, service *model.Service, newTimeout bool, now time.Time) {
	s := &r.scratch
	clear(s.held)
	if old != nil {
		for i := range s.before.ends {
			s.held[string(s.before.endpointBase(i))] = struct{}{}
		}
	}
	if service != nil {
		for i := range r.port.ends {
			r.changeEndpoint(i, newTimeout)
		}
	}
	for _, base := range slices.Sorted(maps.Keys(s.held)) {
		r.retire(endpointPrefix, []byte(base), now)
		s.sets = append(r.speller.command(s.sets, "delete set ", affinityPrefix, []byte(base)), '\n')
	}
}

// changeEndpoint writes one endpoint, if it is new or its set has another timeout. It takes it from those that are held.
func (r *renderer) changeEndpoint(i int, newTimeout bool) {
	s := &r.scratch
	base := r.port.endpointBase(i)
	_, held := s.held[string(base)]
	delete(s.held, string(base))
	if held && !newTimeout {
		r.marks.Hit(mark.RenderEndpointHeld)
		return
	}
	r.marks.HitIf(mark.RenderEndpointRestyled, held)
	r.fill(endpointPrefix, base)
	if held {
		s.sets = append(r.speller.command(s.sets, "delete set ", affinityPrefix, base), '\n')
	}
	s.sets = r.port.appendAffinitySet(s.sets, i)
	s.rules = r.port.appendEndpointRules(s.rules, i)
}

// changeEntry enters what the service port is now into the book.
func (r *renderer) changeEntry(e *entry, service *model.Service) {
	s := &r.scratch
	s.old, s.now = s.old[:0], s.now[:0]
	if e != nil {
		s.old = appendClaims(s.old, e.service)
	}
	if service != nil {
		s.now = appendClaims(s.now, service)
	}
	if slices.Equal(s.now, s.old) {
		s.now, s.old = s.now[:0], s.old[:0]
	}
	for _, c := range s.old {
		r.touch(c.key)
		r.book.release(e, c)
	}
	switch {
	case service == nil:
		r.book.remove(e)
		return
	case e == nil:
		e = &entry{service: service}
		r.book.add(e)
	default:
		e.service = service
	}
	r.book.totals.Add(e.totals(), 1)
	for _, c := range s.now {
		r.touch(c.key)
		r.book.claim(e, c)
	}
}

// touch notes who has an element, before that changes.
func (r *renderer) touch(k key) {
	if _, found := r.scratch.touched[k]; !found {
		r.scratch.touched[k] = r.book.held[k].claimant
	}
}

// appendTouched appends the elements that are other ones than before. Those that are deleted come first: a key cannot have two values.
func (r *renderer) appendTouched(dst []byte) []byte {
	s := &r.scratch
	if len(s.touched) == 0 {
		return dst
	}
	gone := newElementLines(&r.speller, "delete element ", false, 0)
	added := newElementLines(&r.speller, "add element ", true, 0)
	var base []byte
	for _, k := range slices.SortedFunc(maps.Keys(s.touched), compareKeys) {
		before, now := s.touched[k], r.book.held[k].claimant
		if now == before || k.isSet() && (now.entry != nil) == (before.entry != nil) {
			continue
		}
		if before.entry != nil {
			gone.add(claim{key: k}, nil, nil)
		}
		if now.entry != nil {
			base = appendBase(base[:0], now.entry.name())
			added.add(claim{k, now.verdict}, now.entry.name(), base)
		}
	}
	return added.appendTo(gone.appendTo(dst))
}

func (k key) isSet() bool { return !containerTexts[k.container].isMap }
