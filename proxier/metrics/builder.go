package metrics

import (
	"fmt"

	"k8s.io/component-base/metrics"
)

// builder makes metrics and registers each at once. A metric that is not
// registered takes values and forgets them.
type builder struct {
	registry Registry
	errs     []error
}

func (b *builder) register(metric metrics.Registerable) {
	if b.registry == nil {
		return
	}
	if err := b.registry.Register(metric); err != nil {
		b.errs = append(b.errs, fmt.Errorf("%s: %w", metric.FQName(), err))
	}
}

func (b *builder) histogram(name, help string, buckets []float64, labels ...string) *metrics.HistogramVec {
	vec := metrics.NewHistogramVec(&metrics.HistogramOpts{
		Subsystem: subsystem, Name: name, Help: help, Buckets: buckets, StabilityLevel: metrics.ALPHA,
	}, labels)
	b.register(vec)
	return vec
}

func (b *builder) gauge(name, help string, labels ...string) *metrics.GaugeVec {
	vec := metrics.NewGaugeVec(&metrics.GaugeOpts{Subsystem: subsystem, Name: name, Help: help, StabilityLevel: metrics.ALPHA}, labels)
	b.register(vec)
	return vec
}

func (b *builder) pending(name, help string) *pending {
	gauge := metrics.NewGauge(&metrics.GaugeOpts{Subsystem: subsystem, Name: name, Help: help, StabilityLevel: metrics.ALPHA})
	b.register(gauge)
	return newPending(gauge)
}

func (b *builder) counter(name, help string) *metrics.Counter {
	counter := metrics.NewCounter(&metrics.CounterOpts{Subsystem: subsystem, Name: name, Help: help, StabilityLevel: metrics.ALPHA})
	b.register(counter)
	return counter
}

func (b *builder) counterVec(name, help string, labels ...string) *metrics.CounterVec {
	vec := metrics.NewCounterVec(&metrics.CounterOpts{Subsystem: subsystem, Name: name, Help: help, StabilityLevel: metrics.ALPHA}, labels)
	b.register(vec)
	return vec
}

// syncBuckets are kube-proxy's: 1 ms doubled up to 16 s.
func syncBuckets() []float64 {
	return metrics.ExponentialBuckets(0.001, 2, 15)
}

// programmingBuckets are kube-proxy's: a quarter and a half of a second, seconds of
// the first minute, then wider up to five minutes. MergeBuckets puts a bucket
// that ends at 0 before them, in kube-proxy too.
func programmingBuckets() []float64 {
	return metrics.MergeBuckets(
		metrics.LinearBuckets(0.25, 0.25, 2),
		metrics.LinearBuckets(1, 1, 59),
		metrics.LinearBuckets(60, 5, 12),
		metrics.LinearBuckets(120, 30, 7),
	)
}
