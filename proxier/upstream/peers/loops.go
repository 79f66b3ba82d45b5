package peers

import (
	"time"

	"k8s.io/kubernetes/pkg/proxy/runner"
	utiliptables "k8s.io/kubernetes/pkg/util/iptables"
)

// kube-proxy has two loops: of the runner of syncs, and of the monitor of the canary chains. Both go by the machine's clock and by
// goroutines of their own, so here they are made one turn at a time. Tests hold the turns against the real loops.

// syncLoop says when to sync, as kube-proxy's BoundedFrequencyRunner does (pkg/proxy/runner): when it was asked to, again after
// a sync of its own that failed, and after an hour. It does not see syncs that somebody else runs.
type syncLoop struct {
	asked      <-chan struct{} // the real runner's requests
	retry, max time.Duration
	due        time.Time
}

func newSyncLoop(real *runner.BoundedFrequencyRunner, now time.Time) *syncLoop {
	l := &syncLoop{
		asked: *field[chan struct{}](real, "run"),
		retry: *field[time.Duration](real, "retryInterval"), max: *field[time.Duration](real, "maxInterval"),
	}
	l.due = now.Add(l.max)
	return l
}

// turn syncs if there is a reason to now, or soon after.
func (l *syncLoop) turn(now time.Time, soon time.Duration, sync func() error) error {
	select {
	case <-l.asked:
	default:
		if now.Add(soon).Before(l.due) {
			return nil
		}
	}
	err := sync()
	if l.due = now.Add(l.max); err != nil && l.retry < l.max {
		l.due = now.Add(l.retry)
	}
	return err
}

// monitor looks whether somebody flushed the tables, as that of kube-proxy's runner of the tools does (pkg/util/iptables): at
// the canary of the first table alone. It does not wait for the other tables to be flushed too, as the real one does for five seconds.
type monitor struct {
	programs utiliptables.Interface
	look     utiliptables.Interface // for looks of mends, which meet no fault and nobody sees
	mends    Mends
	set      bool                 // the canaries were made
	ruled    []utiliptables.Table // had rules of kube-proxy's when it was looked at last, if emptied chains are looked for
	reload   func()
}

// canaryTables are the tables that have a canary.
var canaryTables = []utiliptables.Table{utiliptables.TableMangle, utiliptables.TableNAT, utiliptables.TableFilter}

const canary = utiliptables.Chain("KUBE-PROXY-CANARY")

// turn looks once.
func (m *monitor) turn() error {
	if m.set {
		if !m.flushed() && !m.emptied() {
			m.learn()
			return nil
		}
		m.set = false
		m.reload()
	}
	for _, table := range canaryTables {
		if _, err := m.programs.EnsureChain(table, canary); err != nil {
			return err
		}
	}
	m.set = true
	m.learn()
	return nil
}

// flushed says whether a canary is gone.
func (m *monitor) flushed() bool {
	there, err := m.programs.ChainExists(canaryTables[0], canary)
	return !there && m.gone(err) || m.otherFlushed()
}
