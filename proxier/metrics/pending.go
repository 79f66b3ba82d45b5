package metrics

import (
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/component-base/metrics"
)

// pending is a gauge without a label for the family, though each family has
// its number. It shows the sum: with the last number set, one family's sync
// would hide what still waits in the other.
type pending struct {
	gauge *metrics.Gauge

	lock     sync.Mutex
	byFamily map[v1.IPFamily]int
}

func newPending(gauge *metrics.Gauge) *pending {
	return &pending{gauge: gauge, byFamily: map[v1.IPFamily]int{}}
}

func (p *pending) set(family v1.IPFamily, count int) {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.byFamily[family] = count
	sum := 0
	for _, n := range p.byFamily {
		sum += n
	}
	p.gauge.Set(float64(sum))
}
