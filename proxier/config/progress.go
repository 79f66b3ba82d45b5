package config

import (
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

// progress says when a handler has had an event of each object that was there
// first. client-go's own answer (v0.36 and v0.37) rarely comes too early. Its
// synctrack.SingleFileTracker counts the objects that are on their way. Finished
// takes one off, and if none is left, it looks whether all were handed over. If it
// is held up between the two, the rest can be handed over in the meantime: then it
// says synced, though the handler has had none of the rest.
type progress struct {
	complete chan struct{} // closed when nothing is missing

	lock sync.Mutex
	// seen are the keys of objects that came before await, which ends it.
	seen    map[string]struct{}
	missing map[string]struct{}
}

func newProgress() *progress {
	return &progress{complete: make(chan struct{}), seen: map[string]struct{}{}}
}

// await says what to wait for, once: the keys that the store has after the handler
// was registered. Each of them was handed over or is about to be.
func (p *progress) await(keys []string) {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.missing = make(map[string]struct{}, len(keys))
	for _, key := range keys {
		if _, has := p.seen[key]; !has {
			p.missing[key] = struct{}{}
		}
	}
	p.seen = nil
	p.close()
}

// delivered takes note that the handler has had an event of an object.
func (p *progress) delivered(obj metav1.Object) {
	p.lock.Lock()
	defer p.lock.Unlock()
	if p.seen == nil && p.missing == nil {
		return
	}
	key := cache.MetaObjectToName(obj).String()
	if p.seen != nil {
		p.seen[key] = struct{}{}
		return
	}
	delete(p.missing, key)
	p.close()
}

// close tells who waits when nothing is missing.
func (p *progress) close() {
	if len(p.missing) == 0 {
		p.missing = nil
		close(p.complete)
	}
}
