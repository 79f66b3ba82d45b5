package ipt

import (
	"bytes"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/chainwalk/chainwalk/internal/mark"
	"github.com/chainwalk/chainwalk/proxier/internal/changes"
	"github.com/chainwalk/chainwalk/proxier/internal/model"
	"github.com/chainwalk/chainwalk/proxier/iptables"
	"github.com/chainwalk/chainwalk/proxier/nfacct"
)

// Config is what a Writer works with.
type Config struct {
	// Tools are the tools of the address family.
	Tools iptables.Interface
	// Counters may be nil: no rule then counts.
	Counters Counters
	// Metrics counts what is written.
	Metrics Metrics
	// MasqueradeMark is the bit of the packet mark that asks for masquerading.
	MasqueradeMark uint32
	// LargeCluster is a number of endpoints. With more of them, rules for
	// endpoints are written without comments, and chains that are out of use may
	// stay for UnusedPeriod.
	LargeCluster int
	UnusedPeriod time.Duration
	Clock        clock.PassiveClock
	Logger       klog.Logger
	// Marks counts what is done. Nil: nobody counts.
	Marks *mark.Recorder
}

// Counters keeps the kernel's accounting objects.
type Counters interface {
	// Ensure makes the object if it is not there.
	Ensure(name string) error
}

// Metrics counts what is particular to iptables.
type Metrics interface {
	// RestoreFailed counts an input that iptables-restore did not take.
	RestoreFailed()
	// PartialSyncFailed counts a Partial that failed.
	PartialSyncFailed()
	// SetRules says how many rules the table has, and how many of them the last
	// input has written.
	SetRules(table string, total, written int)
}

// Writer makes the kernel hold the rules of one address family. It is not safe
// for concurrent use, but for Monitor.
type Writer struct {
	config   Config
	jumps    []jumpRule
	renderer *renderer
	// lastDeletion is when the last deletion of all unused chains ended well.
	lastDeletion time.Time
	// savedSize is about how large table nat is as text.
	savedSize int
	// canaries says that Intact made them.
	canaries bool
}

// New returns a Writer that has written nothing yet.
func New(config Config) *Writer {
	return &Writer{
		config: config,
		jumps:  jumps(),
		renderer: newRenderer(options{
			MasqueradeMark: config.MasqueradeMark,
			RandomFully:    config.Tools.HasRandomFully(),
			LargeCluster:   config.LargeCluster,
			Marks:          config.Marks,
		}),
	}
}

// Full makes the kernel hold the rules for the Model, whatever it held before.
func (w *Writer) Full(m *model.Model) (model.Totals, error) {
	if err := w.ensureJumps(); err != nil {
		return model.Totals{}, err
	}
	w.renderer.setCounters(w.ensureCounter(nfacct.InvalidPackets), w.ensureCounter(nfacct.LocalhostPackets))
	if err := w.restore(w.renderer.fullInput(m, w.savedNAT())); err != nil {
		return model.Totals{}, err
	}
	w.lastDeletion = w.config.Clock.Now()
	return w.renderer.totals, nil
}

// Partial makes the kernel hold the rules for the last Model with the changes,
// if it holds those of the last Full or Partial. After an error Full must follow.
func (w *Writer) Partial(c *model.Changes) (model.Totals, error) {
	deleteUnused := w.config.Clock.Since(w.lastDeletion) >= w.config.UnusedPeriod
	w.config.Marks.HitIf(mark.SyncDeleteUnused, deleteUnused)
	if err := w.restore(w.renderer.partialInput(w.gone(c), c.Ports, c.NodePorts, deleteUnused)); err != nil {
		w.config.Metrics.PartialSyncFailed()
		return model.Totals{}, err
	}
	if deleteUnused || !w.renderer.large() {
		w.lastDeletion = w.config.Clock.Now()
	}
	return w.renderer.totals, nil
}

// gone returns the service ports that the kernel holds something for and that
// the Services do not have any longer.
func (w *Writer) gone(c *model.Changes) []changes.ServicePortName {
	var gone []changes.ServicePortName
	for _, service := range c.Services {
		for _, name := range w.renderer.portsOf(service) {
			if !c.Has(&name) {
				gone = append(gone, name)
			}
		}
	}
	return gone
}

// ensureJumps leads the kernel's own chains to ours.
func (w *Writer) ensureJumps() error {
	type tableChain struct {
		table iptables.Table
		chain iptables.Chain
	}
	ensured := make(map[tableChain]bool, len(w.jumps))
	for _, jump := range w.jumps {
		if chain := (tableChain{jump.Table, jump.target}); !ensured[chain] {
			if _, err := w.config.Tools.EnsureChain(chain.table, chain.chain); err != nil {
				return err
			}
			ensured[chain] = true
		}
		if _, err := w.config.Tools.EnsureRule(iptables.Prepend, jump.Table, jump.Chain, jump.Args...); err != nil {
			return err
		}
	}
	return nil
}

// ensureCounter returns the name if there is such an object now, else "". A
// rule that refers to an object that is not there would fail the restore.
func (w *Writer) ensureCounter(name string) string {
	if w.config.Counters == nil {
		return ""
	}
	if err := w.config.Counters.Ensure(name); err != nil {
		w.config.Marks.Hit(mark.SyncCounterMissing)
		w.config.Logger.Error(err, "No packets are counted", "counter", name)
		return ""
	}
	return name
}

// savedNAT returns the nat table, in which stale chains are looked for. Stale
// chains do no harm, so an error does not hold up the sync. The memory is not
// kept: a full sync is rare and the table may be large.
func (w *Writer) savedNAT() []byte {
	var saved bytes.Buffer
	saved.Grow(w.savedSize)
	if err := w.config.Tools.SaveInto(iptables.TableNAT, &saved); err != nil {
		w.config.Marks.Hit(mark.SyncSaveFailed)
		w.config.Logger.Error(err, "Stale chains are not deleted")
		return nil
	}
	w.savedSize = saved.Len() + bytes.MinRead
	return saved.Bytes()
}

// restore gives the input to the tool; nil is nothing to do.
func (w *Writer) restore(input []byte) error {
	if input != nil {
		if err := w.config.Tools.RestoreAll(input, iptables.NoFlushTables, iptables.RestoreCounters); err != nil {
			w.config.Marks.Hit(mark.SyncRestoreFailed)
			w.config.Metrics.RestoreFailed()
			return err
		}
	}
	total, written := w.renderer.rules, countRules(input)
	w.config.Metrics.SetRules("filter", total.filter, written.filter)
	w.config.Metrics.SetRules("nat", total.nat, written.nat)
	return nil
}
