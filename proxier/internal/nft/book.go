package nft

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/chainwalk/chainwalk/proxier/internal/changes"
	"github.com/chainwalk/chainwalk/proxier/internal/model"
)

// entry is a service port that the kernel holds something for. It stays the same while its service port does, whatever that changes to.
type entry struct {
	// service holds the decisions by which the kernel's chains and elements were written. What they were follows from it.
	service *model.Service
}

func (e *entry) name() *changes.ServicePortName { return &e.service.Port.Name }

// totals are what the entry adds to those of the kernel.
func (e *entry) totals() model.Totals {
	return model.Totals{Endpoints: e.service.Endpoints.Known, NoLocal: model.NoLocalOf(e.service)}
}

// book is what the kernel holds for all service ports.
type book struct {
	// ports has the entries of each Service.
	ports map[types.NamespacedName][]*entry
	owners
	totals model.Totals
}

func newBook(ports, elements int) book {
	return book{
		ports:  make(map[types.NamespacedName][]*entry, ports),
		owners: owners{held: make(map[key]holder, elements), contested: map[key][]claimant{}},
	}
}

// find returns the entry of the service port, or nil.
func (b *book) find(name *changes.ServicePortName) *entry {
	for _, e := range b.ports[name.NamespacedName] {
		if *e.name() == *name {
			return e
		}
	}
	return nil
}

func (b *book) add(e *entry) {
	service := e.name().NamespacedName
	b.ports[service] = append(b.ports[service], e)
}

func (b *book) remove(e *entry) {
	service := e.name().NamespacedName
	b.ports[service] = slices.DeleteFunc(b.ports[service], func(other *entry) bool { return other == e })
	if len(b.ports[service]) == 0 {
		delete(b.ports, service)
	}
}

// gone returns the service ports that the kernel holds something for and that their Services do not have any longer.
func (b *book) gone(c *model.Changes) []*entry {
	var gone []*entry
	for _, service := range c.Services {
		for _, e := range b.ports[service] {
			if !c.Has(e.name()) {
				gone = append(gone, e)
			}
		}
	}
	return gone
}

// owners says which service port each element is written for. Several may claim one element: all ports of a Service its cluster IP, two
// Services an endpoint, or by mistake an external address. Of those that claim an element of a map, the first by name has it, so that it
// does not change hands without a reason.
type owners struct {
	held map[key]holder
	// contested has all claimants of an element of a map, in order, where there are several.
	contested map[key][]claimant
}

// claimant is a service port that wants an element, and the value it wants for it. The zero value is nobody.
type claimant struct {
	entry   *entry
	verdict verdict
}

// holder is the claimant that has an element, and how many others want it.
type holder struct {
	claimant
	others int
}

// claim notes that an entry wants an element. It says whether nobody did before.
func (o *owners) claim(e *entry, c claim) (first bool) {
	h, found := o.held[c.key]
	if !found {
		o.held[c.key] = holder{claimant: claimant{e, c.verdict}}
		return true
	}
	if c.verdict != noVerdict {
		h.claimant = o.contest(h, c.key, claimant{e, c.verdict})
	}
	h.others++
	o.held[c.key] = h
	return false
}

// contest adds a claimant to those of an element, and returns the one that has it then.
func (o *owners) contest(h holder, k key, by claimant) claimant {
	all := o.contested[k]
	if len(all) == 0 {
		all = []claimant{h.claimant}
	}
	place := len(all)
	for place > 0 && by.entry.name().Compare(*all[place-1].entry.name()) < 0 {
		place--
	}
	all = slices.Insert(all, place, by)
	o.contested[k] = all
	return all[0]
}

// release takes a claim back.
func (o *owners) release(e *entry, c claim) {
	h := o.held[c.key]
	if h.others == 0 {
		delete(o.held, c.key)
		return
	}
	h.others--
	if c.verdict != noVerdict {
		all := o.contested[c.key]
		place := slices.Index(all, claimant{e, c.verdict})
		all = slices.Delete(all, place, place+1)
		o.contested[c.key] = all
		h.claimant = all[0]
		if h.others == 0 {
			delete(o.contested, c.key)
		}
	}
	o.held[c.key] = h
}
