package nft

import (
	"maps"
	"math/bits"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/internal/mark"
	"github.com/chainwalk/chainwalk/proxier/internal/model"
	"github.com/chainwalk/chainwalk/proxier/nftables"
)

// renderer writes transactions for one address family. It remembers what the kernel holds after its last one, so that partial can leave
// out the rest. It is not safe for concurrent use.
type renderer struct {
	speller speller
	marks   *mark.Recorder
	// common is the Model of the last full transaction without its services.
	common model.Model
	book   book
	// stale are chains in the kernel that nothing leads to any longer.
	stale stale
	// port writes a service port as it has to be.
	port    portText
	scratch scratch
}

func newRenderer(family v1.IPFamily, masqueradeMark uint32, comments bool, marks *mark.Recorder) *renderer {
	r := &renderer{speller: newSpeller(family, masqueradeMark, comments), marks: marks, book: newBook(0, 0), stale: stale{}}
	r.port = portText{speller: &r.speller, marks: marks}
	r.scratch.before.speller = &r.speller
	return r
}

// full returns the transaction after which the table holds the rules of the Model. It keeps the clients that stick to endpoints, if there
// are any: otherwise the table is made anew, whether it is there or not.
//
// Chains come before the rules and elements that lead to them: the kernel takes the commands in their order.
func (r *renderer) full(m *model.Model, there *found, now time.Time) []byte {
	r.marks.Hit(mark.RenderFull)
	r.marks.HitIf(mark.RenderLoopbackGuard, m.GuardLoopback)
	r.common = *m
	r.common.Services = nil
	r.port.local = m.LocalTraffic
	dst := make([]byte, 0, r.sizeOf(m))
	s := setup{speller: &r.speller, model: &r.common}
	if there == nil {
		dst = r.speller.appendNewTable(dst)
	} else {
		for _, name := range there.foreignBaseChains() {
			dst = r.speller.line(dst, "delete chain ", name, "")
		}
	}
	dst = s.append(dst)
	elements := r.enter(m)
	r.each(m, func() { dst = r.port.appendChains(dst, there) })
	dst = r.appendStale(dst, there, now)
	r.each(m, func() { dst = r.port.appendAllRules(dst) })
	return elements.appendTo(dst)
}

// each chooses every service port in turn.
func (r *renderer) each(m *model.Model, visit func()) {
	for i := range m.Services {
		r.port.set(&m.Services[i])
		visit()
	}
}

// sizeOf is about as large as the transaction will be: growing a buffer of many megabytes costs more than to fill it.
func (r *renderer) sizeOf(m *model.Model) int {
	const setup, perService, perChain, perEndpoint, perStickyEndpoint = 8 << 10, 200, 220, 32, 1100
	size := setup + len(m.Services)*perService
	for i := range m.Services {
		s := &m.Services[i]
		size += bits.OnesCount8(uint8(chainsOf(s)))*perChain + len(s.Endpoints.Reachable)*perEndpoint
		if s.Port.SessionAffinityClientIP {
			size += len(s.Endpoints.Reachable) * perStickyEndpoint
		}
	}
	return size
}

// enter begins a new book with the service ports, and returns their elements.
func (r *renderer) enter(m *model.Model) *elementLines {
	count := 2 * len(m.Services)
	for i := range m.Services {
		for j := range m.Services[i].Endpoints.Reachable {
			if masqueradedHairpin(&m.Services[i].Endpoints.Reachable[j]) {
				count++
			}
		}
	}
	r.book = newBook(len(m.Services), count)
	lines := newElementLines(&r.speller, "add element ", true, count)
	entries := make([]entry, len(m.Services))
	for i := range m.Services {
		e := &entries[i]
		e.service = &m.Services[i]
		r.book.add(e)
		r.book.totals.Add(e.totals(), 1)
		r.port.base = appendBase(r.port.base[:0], e.name())
		r.scratch.now = appendClaims(r.scratch.now[:0], e.service)
		for _, c := range r.scratch.now {
			if r.book.claim(e, c) {
				lines.add(c, e.name(), r.port.base)
			}
		}
	}
	return lines
}

// appendChains makes the chains of the service port and empties those that are there. A set of clients that is there and has to be another
// one now goes: it cannot be changed.
func (t *portText) appendChains(dst []byte, there *found) []byte {
	chains := chainsOf(t.service)
	for kind := range chainKinds {
		if chains.has(kind) {
			dst = t.appendChain(dst, kind.prefix(), t.base, there)
		}
	}
	for i := range t.ends {
		dst = t.appendChain(dst, endpointPrefix, t.endpointBase(i), there)
	}
	return dst
}

// appendChain makes one chain, and empties it if it is there. It takes the chain out of what was found.
func (t *portText) appendChain(dst []byte, prefix string, base []byte, there *found) []byte {
	dst = t.command(dst, "add chain ", prefix, base)
	name := dst[len(dst)-len(prefix)-len(base):]
	if there == nil {
		return append(dst, '\n')
	}
	delete(there.chains, string(name))
	return append(t.command(append(dst, "\n"...), "flush chain ", prefix, base), '\n')
}

// appendAllRules fills the chains of the service port, and declares the sets of clients that the rules need.
func (t *portText) appendAllRules(dst []byte) []byte {
	for i := range t.ends {
		dst = t.appendAffinitySet(dst, i)
	}
	chains := chainsOf(t.service)
	for kind := range chainKinds {
		if chains.has(kind) {
			dst = t.appendRules(dst, kind)
		}
	}
	for i := range t.ends {
		dst = t.appendEndpointRules(dst, i)
	}
	return dst
}

// appendNewTable makes the table anew, whether it is there or not.
func (s *speller) appendNewTable(dst []byte) []byte {
	for _, verb := range []string{"add table ", "delete table "} {
		dst = append(append(append(dst, verb...), s.family...), " "+table+"\n"...)
	}
	return dst
}

// appendStale empties the chains of service ports that were found and are not in use, and deletes the sets of clients that are not, or
// that have to be other ones. Chains are deleted by a later transaction.
func (r *renderer) appendStale(dst []byte, there *found, now time.Time) []byte {
	before := r.stale
	r.stale = stale{}
	if there == nil {
		return dst
	}
	for _, name := range slices.Sorted(maps.Keys(there.chains)) {
		if isServiceChain(name) {
			dst = r.speller.line(dst, "flush chain ", name, "")
			r.stale.addSince(name, before, now)
		}
	}
	if _, found := there.chains[formerMarkChain]; found { // only rules have led to it, which are gone at once
		dst = r.speller.line(dst, "delete chain ", formerMarkChain, "")
	}
	r.marks.HitIf(mark.RenderStaleDeleted, len(r.stale) > 0)
	for _, name := range r.staleSets(there) {
		dst = r.speller.line(dst, "delete set ", name, "")
	}
	return dst
}

// staleSets returns the sets of clients that were found and that no service port declares as they are.
func (r *renderer) staleSets(there *found) []string {
	kept := map[string]bool{}
	for _, ports := range r.book.ports {
		for _, e := range ports {
			if !e.service.Port.SessionAffinityClientIP {
				continue
			}
			wanted := nftables.Set{Type: r.speller.addressType, Timeout: e.service.Port.StickyMaxAgeSeconds, Timeouts: true}
			r.port.set(e.service)
			for i := range r.port.ends {
				name := affinityPrefix + string(r.port.endpointBase(i))
				kept[name] = there.sets[name] == wanted
			}
		}
	}
	var gone []string
	for name := range there.sets {
		if isAffinitySet(name) && !kept[name] {
			gone = append(gone, name)
		}
	}
	slices.Sort(gone)
	return gone
}
