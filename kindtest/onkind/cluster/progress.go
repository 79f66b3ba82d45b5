package cluster

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/kind/pkg/log"
)

// progress tells a user what happens, line by line. It is kind's logger as well.
type progress struct {
	lock  sync.Mutex
	out   io.Writer
	clock clock.PassiveClock
}

// step tells what was done, and how long it took.
func (p *progress) step(what string, do func() error) error {
	begin := p.clock.Now()
	if err := do(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	p.line("%s (%.1fs)", what, p.clock.Since(begin).Round(100*time.Millisecond).Seconds())
	return nil
}

func (p *progress) line(format string, values ...any) {
	p.lock.Lock()
	defer p.lock.Unlock()
	fmt.Fprintln(p.out, strings.TrimRight(fmt.Sprintf(format, values...), "\n"))
}

// Warn implements kind's logger, as what follows does. Its steps are told by step, so only warnings are left.
func (p *progress) Warn(message string)                 { p.line("kind: %s", message) }
func (p *progress) Warnf(format string, values ...any)  { p.line("kind: "+format, values...) }
func (p *progress) Error(message string)                { p.line("kind: %s", message) }
func (p *progress) Errorf(format string, values ...any) { p.line("kind: "+format, values...) }
func (p *progress) V(log.Level) log.InfoLogger          { return log.NoopInfoLogger{} }
