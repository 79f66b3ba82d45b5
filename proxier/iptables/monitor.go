package iptables

import (
	"errors"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// A flush of all tables takes several commands. This is how often Monitor looks whether it is over, and how long it waits.
const (
	flushPoll  = 200 * time.Millisecond
	flushLimit = 5 * time.Second
)

// Monitor implements Interface.
func (r *Runner) Monitor(canary Chain, tables []Table, rules []Rule, reloadFunc func(), interval time.Duration, stopCh <-chan struct{}) {
	if len(tables) == 0 {
		r.logger.Error(nil, "No tables to monitor", "chain", canary)
		return
	}
	m := &monitor{
		iptables: r,
		canary:   canary,
		tables:   tables,
		rules:    rules,
		reload:   reloadFunc,
		interval: interval,
		stop:     stopCh,
		clock:    r.clock,
		logger:   klog.LoggerWithValues(r.logger, "canary", canary, "family", r.protocol),
	}
	m.run()
}

// monitor is one call of Monitor.
type monitor struct {
	iptables *Runner
	canary   Chain
	tables   []Table
	rules    []Rule
	reload   func()
	interval time.Duration
	stop     <-chan struct{}
	clock    clock.Clock
	logger   klog.Logger
}

// run returns when stop is closed.
func (m *monitor) run() {
	defer m.remove()
	if !m.placeAll() {
		return
	}
	for m.pause(m.interval) {
		if !m.flushed() {
			if m.emptied() {
				m.logger.Info("Somebody emptied the chains: loading the rules again")
				m.reload()
			}
			continue
		}
		m.logger.Info("Somebody flushed the tables: loading the rules again")
		if !m.awaitFlushEnd() || !m.restart() {
			return
		}
	}
}

// restart makes the canaries anew and reloads. The canaries come first, so that the next poll sees a flush that happens
// during the reload. The reload is not held up by a canary that cannot be made now; it is then done again afterwards,
// since a flush in between went unseen. False means stop.
func (m *monitor) restart() bool {
	placed := m.place()
	m.reload()
	if placed {
		return true
	}
	if !m.pause(m.interval) || !m.placeAll() {
		return false
	}
	m.reload()
	return true
}

// placeAll tries until all canaries are there. False means stop.
func (m *monitor) placeAll() bool {
	for !m.place() {
		if !m.pause(m.interval) {
			return false
		}
	}
	return true
}

// place makes the canaries that are missing.
func (m *monitor) place() bool {
	for _, table := range m.tables {
		if _, err := m.iptables.EnsureChain(table, m.canary); err != nil {
			m.logger.Error(err, "Could not make the canary, will try again", "table", table)
			return false
		}
	}
	return true
}

// flushed says whether the canary of the first table is gone. Not knowing is no.
func (m *monitor) flushed() bool {
	return m.gone(m.tables[0])
}

// emptied says whether one of the rules is known to be gone.
func (m *monitor) emptied() bool {
	for _, rule := range m.rules {
		exists, err := m.iptables.RuleExists(rule.Table, rule.Chain, rule.Args...)
		if err != nil {
			m.logger.Error(err, "Could not look for a rule, will try again", "table", rule.Table, "chain", rule.Chain)
		} else if !exists {
			return true
		}
	}
	return false
}

// awaitFlushEnd waits until the canaries of the other tables are gone too. False means stop.
func (m *monitor) awaitFlushEnd() bool {
	for start := m.clock.Now(); m.anyLeft(m.tables[1:]); {
		if m.clock.Since(start) >= flushLimit {
			m.logger.Info("Only some of the tables were flushed")
			return true
		}
		if !m.pause(flushPoll) {
			return false
		}
	}
	return true
}

// anyLeft says whether one of the tables may still have its canary.
func (m *monitor) anyLeft(tables []Table) bool {
	for _, table := range tables {
		if !m.gone(table) {
			return true
		}
	}
	return false
}

// gone says whether the canary of the table is known to be gone.
func (m *monitor) gone(table Table) bool {
	exists, err := m.iptables.ChainExists(table, m.canary)
	if err != nil {
		m.logger.Error(err, "Could not look for the canary, will try again", "table", table)
		return false
	}
	return !exists
}

// remove deletes the canaries.
func (m *monitor) remove() {
	for _, table := range m.tables {
		if err := m.iptables.DeleteChain(table, m.canary); err != nil && !errors.Is(err, errNotFound) {
			m.logger.Error(err, "Could not delete the canary", "table", table)
		}
	}
}

// pause waits. False means stop, at once if stop is closed already.
func (m *monitor) pause(d time.Duration) bool {
	timer := m.clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-m.stop:
		return false
	case <-timer.C():
	}
	select {
	case <-m.stop:
		return false
	default:
		return true
	}
}
