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

// table is the name of the table in each family, which is kube-proxy's.
const table = "kube-proxy"

// Config is what a Writer works with.
type Config struct {
	// Tools run nft for the address family.
	Tools nftables.Interface
	// MasqueradeMark is the bit of the packet mark that asks for masquerading.
	MasqueradeMark uint32
	Clock          clock.PassiveClock
	Logger         klog.Logger
	// Marks counts what is done. Nil: nobody counts.
	Marks *mark.Recorder
}

// Writer makes the kernel hold the rules of one address family. It is not safe for concurrent use, but for Monitor.
type Writer struct {
	config Config
	// written says that the kernel holds rules, as far as is known.
	written atomic.Bool
}

// New returns a Writer that has written nothing yet.
func New(config Config) *Writer {
	return &Writer{config: config}
}

// Full makes the kernel hold the rules for the Model, whatever it held before.
func (w *Writer) Full(*model.Model) (model.Totals, error) {
	return model.Totals{}, w.config.Tools.Apply([]byte("add table " + nftables.Word(w.config.Tools.Family()) + " " + table + "\n"))
}

// Partial makes the kernel hold the rules for the last Model with the changes, if it holds those of the last Full or Partial. After an
// error Full must follow.
func (w *Writer) Partial(*model.Changes) (model.Totals, error) {
	return model.Totals{}, nil
}

// watched is the rule that Intact and Monitor look for: without it nothing is translated.
func watched() nftables.Jump {
	return nftables.Jump{Table: table, Chain: "nat-prerouting", Target: "services"}
}

// Intact says whether the table holds what the last Full and Partial wrote, as far as one can tell by one rule.
func (w *Writer) Intact() (bool, error) {
	jump := watched()
	return w.config.Tools.Jumps(jump.Table, jump.Chain, jump.Target)
}

// Monitor calls lost each time somebody else removed the rules, until stop is closed. It looks for that once in every interval.
func (w *Writer) Monitor(lost func(), interval time.Duration, stop <-chan struct{}) {
	w.config.Tools.Monitor(watched(), func() {
		if w.written.Load() {
			w.config.Logger.Info("Somebody removed the rules: loading them again", "family", w.config.Tools.Family())
			lost()
		}
	}, interval, stop)
}

// Cleanup removes the table. Errors are logged.
func (w *Writer) Cleanup() (failed bool) {
	family := w.config.Tools.Family()
	err := w.config.Tools.Apply([]byte("delete table " + nftables.Word(family) + " " + table + "\n"))
	if err == nil || errors.Is(err, nftables.ErrNotFound) {
		return false
	}
	w.config.Logger.Error(err, "Rules of the proxy are left", "family", family)
	return true
}
