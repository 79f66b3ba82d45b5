package peers

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"k8s.io/kubernetes/pkg/proxy/runner"
	utiliptables "k8s.io/kubernetes/pkg/util/iptables"
	"pgregory.net/rapid"

	"github.com/chainwalk/chainwalk/fakekernel"
	"github.com/chainwalk/chainwalk/scenarios"
	simtools "github.com/chainwalk/chainwalk/scenarios/world/tools"
)

// life is what happens to a runner of syncs: when it is asked for one, and how its syncs end.
type life struct {
	asked []time.Duration // in their order; never at the moment of another sync, of which it is open which comes first
	fails []bool
}

const loopRetry, loopMax, loopEnd = 30 * time.Second, 200 * time.Second, 700 * time.Second

// syncs returns a function to sync with, and when it was called.
func (l *life) syncs() (sync func() error, when func() []time.Duration) {
	began, fails := time.Now(), l.fails
	var out []time.Duration
	return func() error {
		out = append(out, time.Since(began))
		if len(fails) == 0 {
			return nil
		}
		var fail bool
		if fail, fails = fails[0], fails[1:]; fail {
			return errors.New("no")
		}
		return nil
	}, func() []time.Duration { return out }
}

// real has kube-proxy's own loop live it.
func (l *life) real() []time.Duration {
	sync, when := l.syncs()
	r := runner.NewBoundedFrequencyRunner("real", sync, 0, loopRetry, loopMax)
	stop, began := make(chan struct{}), time.Now()
	go r.Loop(stop)
	for _, at := range l.asked {
		time.Sleep(at - time.Since(began))
		r.Run()
		synctest.Wait()
	}
	time.Sleep(loopEnd - time.Since(began))
	close(stop)
	synctest.Wait()
	return when()
}

// turns lives it turn by turn.
func (l *life) turns() []time.Duration {
	sync, when := l.syncs()
	r, began := runner.NewBoundedFrequencyRunner("turns", sync, 0, loopRetry, loopMax), time.Now()
	loop := newSyncLoop(r, began)
	until := func(end time.Time) {
		for loop.due.Before(end) {
			time.Sleep(time.Until(loop.due))
			_ = loop.turn(time.Now(), 0, sync)
		}
		time.Sleep(time.Until(end))
	}
	for _, at := range l.asked {
		until(began.Add(at))
		r.Run()
		_ = loop.turn(time.Now(), 0, sync)
	}
	until(began.Add(loopEnd))
	return when()
}

// TestSyncLoopIsAsTheRealOne has both live the same.
func TestSyncLoopIsAsTheRealOne(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l := life{fails: rapid.SliceOfN(rapid.Bool(), 0, 8).Draw(rt, "fails")}
		for i, at := range rapid.SliceOfN(rapid.IntRange(0, 698), 0, 12).Draw(rt, "asked") {
			l.asked = append(l.asked, time.Duration(at)*time.Second+time.Duration(i+1)*time.Millisecond)
		}
		slices.Sort(l.asked)
		var real, turns []time.Duration
		synctest.Test(t, func(*testing.T) { real, turns = l.real(), l.turns() })
		if !slices.Equal(real, turns) {
			rt.Fatalf("the real loop syncs at %v, ours at %v", real, turns)
		}
	})
}

// flushes are what somebody does to the tables while a monitor watches, in its order, and how often it reloads then.
var flushes = []struct {
	name    string
	do      func(*simtools.Proxied)
	reloads int
}{
	{"nothing", func(*simtools.Proxied) {}, 0},
	{"table nat alone", flushing("nat"), 0},
	{"table filter alone", flushing("filter"), 0},
	{"table mangle alone", flushing("mangle"), 1},
	{"all tables", flushing("mangle", "nat", "filter"), 1},
	// The monitor means to look again if the lock was held, and takes it for a flush (isResourceError knows no wrapped error).
	{"the lock is held", func(p *simtools.Proxied) { p.Faults.Add(scenarios.Fault{LockHeld: 1}) }, 1},
}

func flushing(tables ...string) func(*simtools.Proxied) {
	return func(p *simtools.Proxied) {
		for _, table := range tables {
			for _, option := range []string{"-F", "-X"} {
				if _, err := simtools.Run(p.Interface, "", "iptables", "-t", table, option); err != nil {
					panic(err)
				}
			}
		}
	}
}

// watch has a monitor look at what happens, and counts its reloads after each; every look is past when turn returns.
func watch(begin func(programs utiliptables.Interface, reload func()) (look, stop func())) (counts []int) {
	lock := &fakekernel.Lock{}
	kernel := fakekernel.New(fakekernel.Options{Lock: lock})
	proxied := &simtools.Proxied{
		Interface: kernel.Exec(), Faults: &simtools.Faults{}, Watch: simtools.NewWatch("node"), HoldLock: lock.Hold,
	}
	count := 0
	look, stop := begin(newKubeRunner(proxied, utiliptables.ProtocolIPv4), func() { count++ })
	look()
	for _, flush := range flushes {
		count = 0
		flush.do(proxied)
		look()
		look()
		counts = append(counts, count)
	}
	stop()
	return counts
}

// TestMonitorIsAsTheRealOne has kube-proxy's own monitor and the turns of ours watch the same.
func TestMonitorIsAsTheRealOne(t *testing.T) {
	var want []int
	for _, flush := range flushes {
		want = append(want, flush.reloads)
	}
	synctest.Test(t, func(t *testing.T) {
		assert.Equal(t, want, watch(func(programs utiliptables.Interface, reload func()) (look, stop func()) {
			ended := make(chan struct{})
			go programs.Monitor(canary, canaryTables, reload, loopRetry, ended)
			return func() { time.Sleep(loopRetry + 6*time.Second); synctest.Wait() }, func() { close(ended); synctest.Wait() }
		}), "the real one")
	})
	assert.Equal(t, want, watch(func(programs utiliptables.Interface, reload func()) (look, stop func()) {
		m := monitor{programs: programs, reload: reload}
		return func() { assert.NoError(t, m.turn()) }, func() {}
	}), "ours")
}
