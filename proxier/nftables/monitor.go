package nftables

import (
	"time"

	"k8s.io/klog/v2"
)

// Monitor implements Interface.
func (r *Runner) Monitor(table, chain string, lost func(), interval time.Duration, stop <-chan struct{}) {
	logger := klog.LoggerWithValues(r.logger, "table", table, "family", r.family)
	for r.pause(interval, stop) {
		used, err := r.InUse(table, chain)
		switch {
		case err != nil:
			logger.Error(err, "Could not look for the rules, will try again")
		case !used:
			lost()
		}
	}
}

// pause waits. False means stop, at once if stop is closed already.
func (r *Runner) pause(d time.Duration, stop <-chan struct{}) bool {
	timer := r.clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-stop:
		return false
	case <-timer.C():
	}
	select {
	case <-stop:
		return false
	default:
		return true
	}
}
