package nft

import (
	"errors"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/chainwalk/chainwalk/internal/mark"
	"github.com/chainwalk/chainwalk/proxier/internal/model"
	"github.com/chainwalk/chainwalk/proxier/nftables"
)

// Config is what a Writer works with.
type Config struct {
	// Tools run nft for the address family.
	Tools nftables.Interface
	// Metrics counts what nft refuses.
	Metrics Metrics
	// MasqueradeMark is the bit of the packet mark that asks for masquerading.
	MasqueradeMark uint32
	// RetryPeriod is how long to wait with the deletion of chains that are out of use, after nft has refused one.
	RetryPeriod time.Duration
	Clock       clock.PassiveClock
	Logger      klog.Logger
	// Marks counts what is done. Nil: nobody counts.
	Marks *mark.Recorder
}

// Metrics counts what is particular to nftables.
type Metrics interface {
	// TransactionFailed counts a transaction with rules that nft did not take.
	TransactionFailed()
	// CleanupFailed counts one that deletes chains out of use.
	CleanupFailed()
}

// Writer makes the kernel hold the rules of one address family. It is not safe for concurrent use, but for Monitor.
type Writer struct {
	config   Config
	renderer *renderer
	// nextDeletion is when chains out of use may be deleted again.
	nextDeletion time.Time
	// written says that the kernel holds rules, as far as is known.
	written atomic.Bool
}

// New returns a Writer that has written nothing yet.
func New(config Config) *Writer {
	return &Writer{
		config:   config,
		renderer: newRenderer(config.Tools.Family(), config.MasqueradeMark, config.Tools.Comments(), config.Marks),
	}
}

// Full makes the kernel hold the rules for the Model, whatever it held before. It asks what there is to keep, so that a restart interrupts
// nothing.
func (w *Writer) Full(m *model.Model) (model.Totals, error) {
	there := w.found()
	err := w.apply(w.renderer.full(m, there, w.config.Clock.Now()))
	if err != nil && there != nil {
		w.config.Logger.Error(err, "The table cannot be filled again and is made anew", "family", w.config.Tools.Family())
		err = w.apply(w.renderer.full(m, nil, w.config.Clock.Now()))
	}
	if err != nil {
		return model.Totals{}, err
	}
	w.written.Store(true)
	return w.renderer.book.totals, nil
}

// Partial makes the kernel hold the rules for the last Model with the changes, if it holds those of the last Full or Partial. It runs no
// tool if nothing has changed. After an error Full must follow.
func (w *Writer) Partial(c *model.Changes) (model.Totals, error) {
	w.deleteStale()
	transaction := w.renderer.partial(c, w.config.Clock.Now())
	if len(transaction) > 0 {
		if err := w.apply(transaction); err != nil {
			return model.Totals{}, err
		}
	}
	return w.renderer.book.totals, nil
}

// apply gives the transaction to nft.
func (w *Writer) apply(transaction []byte) error {
	err := w.config.Tools.Apply(transaction)
	if err != nil {
		w.config.Marks.Hit(mark.SyncRestoreFailed)
		w.config.Metrics.TransactionFailed()
		clear(w.renderer.stale) // nothing was emptied
	}
	return err
}

// deleteStale deletes chains that have been out of use for long enough. They do no harm, so an error does not hold up the sync.
func (w *Writer) deleteStale() {
	now := w.config.Clock.Now()
	if now.Before(w.nextDeletion) {
		return
	}
	due := w.renderer.stale.due(now)
	if len(due) == 0 {
		return
	}
	var transaction []byte
	for _, name := range due {
		transaction = w.renderer.speller.line(transaction, "delete chain ", name, "")
	}
	if err := w.config.Tools.Apply(transaction); err != nil {
		w.config.Metrics.CleanupFailed()
		w.config.Logger.Error(err, "Could not delete unused chains; the next try comes later",
			"family", w.config.Tools.Family(), "chains", len(due))
		w.nextDeletion = now.Add(w.config.RetryPeriod)
		return
	}
	w.config.Marks.Hit(mark.RenderUnusedDeleted)
	for _, name := range due {
		delete(w.renderer.stale, name)
	}
}

// Intact says whether the table holds what the last Full and Partial wrote, as far as one can tell by one chain: nothing is translated
// without what leads to it.
func (w *Writer) Intact() (bool, error) {
	if !w.written.Load() {
		return true, nil
	}
	used, err := w.config.Tools.InUse(table, servicesChain)
	if err != nil {
		return true, err
	}
	w.config.Marks.HitIf(mark.SyncJumpGone, !used)
	return used, nil
}

// Monitor calls lost each time somebody else removed the rules, until stop is closed. It looks for that once in every interval.
func (w *Writer) Monitor(lost func(), interval time.Duration, stop <-chan struct{}) {
	w.config.Tools.Monitor(table, servicesChain, func() {
		if w.written.Load() {
			w.config.Logger.Info("Somebody removed the rules: loading them again", "family", w.config.Tools.Family())
			lost()
		}
	}, interval, stop)
}

// Cleanup removes the table, whoever wrote it. Errors are logged.
func (w *Writer) Cleanup() (failed bool) {
	family := w.config.Tools.Family()
	err := w.config.Tools.Apply([]byte("delete table " + nftables.Word(family) + " " + table + "\n"))
	if err == nil || errors.Is(err, nftables.ErrNotFound) {
		return false
	}
	w.config.Logger.Error(err, "Rules of the proxy are left", "family", family)
	return true
}
