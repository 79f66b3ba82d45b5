package api

import (
	"maps"
	"slices"
	"sync"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/chainwalk/chainwalk/proxier/config"
)

// ranges are the ServiceCIDRs of an API. Proxiers are told of all ranges at each change, and before the change returns: a watch of their
// own (config.WatchServiceCIDRs) is not part of what is simulated. The zero value has none.
type ranges struct {
	lock    sync.Mutex
	objects map[string]*networkingv1.ServiceCIDR
	told    []*rangesFeed
}

// rangesFeed is one proxier's place. It is a pointer, so that one proxier can have several.
type rangesFeed struct{ config.ServiceCIDRHandler }

// cidrs are the ranges of all objects, in the order of their names.
func (r *ranges) cidrs() []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(r.objects)) {
		out = append(out, r.objects[name].Spec.CIDRs...)
	}
	return out
}

func (r *ranges) put(o *networkingv1.ServiceCIDR) {
	r.lock.Lock()
	defer r.lock.Unlock()
	if r.objects == nil {
		r.objects = map[string]*networkingv1.ServiceCIDR{}
	}
	r.objects[o.Name] = o
	r.tell()
}

// remove reports whether the object was there.
func (r *ranges) remove(name string) bool {
	r.lock.Lock()
	defer r.lock.Unlock()
	if r.objects[name] == nil {
		return false
	}
	delete(r.objects, name)
	r.tell()
	return true
}

func (r *ranges) tell() {
	for _, p := range r.told {
		p.OnServiceCIDRsChanged(r.cidrs())
	}
}

// feed tells a proxier the ranges, and from then on their changes, until remove is called. One that does not listen to
// ranges is told nothing.
func (r *ranges) feed(proxy config.Handler) (remove func()) {
	listens, is := proxy.(config.ServiceCIDRHandler)
	if !is {
		return func() {}
	}
	r.lock.Lock()
	defer r.lock.Unlock()
	feed := &rangesFeed{listens}
	r.told = append(r.told, feed)
	if len(r.objects) > 0 {
		feed.OnServiceCIDRsChanged(r.cidrs())
	}
	return func() {
		r.lock.Lock()
		defer r.lock.Unlock()
		r.told = slices.DeleteFunc(slices.Clone(r.told), func(f *rangesFeed) bool { return f == feed })
	}
}
