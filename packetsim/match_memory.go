package packetsim

import (
	"time"

	"github.com/chainwalk/chainwalk/fakeipt"
)

// hertz is CONFIG_HZ, the ticks per second that limits count in: the value of most distributions' kernels.
const hertz = 250

// ticks is the kernel's clock ("jiffies") at a time.
func ticks(t time.Time) int64 { return t.UnixNano() / (int64(time.Second) / hertz) }

// matchKey names a match that keeps a state of its own: a rule, the match's place in it, and with the legacy tools, whose commits
// begin every state of the table anew, the table.
type matchKey struct {
	rule  *fakeipt.Rule
	place int
	table *fakeipt.Table
}

func (w *walk) matchKey(s *packet) matchKey {
	key := matchKey{rule: w.rule.rule, place: w.rule.place}
	if s.plan.rules.Dialect() == fakeipt.Legacy {
		key.table = w.rule.table
	}
	return key
}
