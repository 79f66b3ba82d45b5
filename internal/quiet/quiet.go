package quiet

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// statistics is where the kernel shows its queues, a line for each CPU.
const statistics = "/proc/net/softnet_stat"

// queueColumn is the number of packets in a CPU's queue (net/core/net-procfs.c), from 0.
const queueColumn = 11

// errNoLengths says that the kernel does not show its queues.
var errNoLengths = errors.New("no lengths of queues: want Linux 5.10 or later")

// queuesEmpty says whether no packet is in a queue.
func queuesEmpty() (bool, error) {
	text, err := os.ReadFile(statistics)
	if err != nil {
		return false, err
	}
	queued, err := queued(string(text))
	if err != nil {
		return false, fmt.Errorf("%s: %w", statistics, err)
	}
	return queued == 0, nil
}

// queued is the number of packets in all queues.
func queued(text string) (uint64, error) {
	sum := uint64(0)
	for line := range strings.Lines(text) {
		columns := strings.Fields(line)
		if len(columns) <= queueColumn {
			return 0, errNoLengths
		}
		n, err := strconv.ParseUint(columns[queueColumn], 16, 32)
		if err != nil {
			return 0, fmt.Errorf("length of a queue: %w", err)
		}
		sum += n
	}
	return sum, nil
}

// longest is how long packets may stay in the queues: a machine that takes longer is not fit for the comparison.
const longest = 20 * time.Second

// Patience measures how long nothing was seen to happen.
type Patience struct {
	// Least is how long nothing must have happened for the machine to be looked at.
	Least time.Duration
	idle  time.Duration
}

// Restart begins anew, since something has happened.
func (p *Patience) Restart() { p.idle = 0 }

// Over adds a time in which nothing was seen to happen. It says whether nothing more will: that took long enough, and no packet is in
// a queue. It is an error if the queues do not get empty.
func (p *Patience) Over(idle time.Duration) (bool, error) {
	if p.idle += idle; p.idle < p.Least {
		return false, nil
	}
	quiet, err := queuesEmpty()
	if err == nil && !quiet && p.idle > longest {
		return false, fmt.Errorf("packets are in the kernel's queues after %s: the machine is too busy", p.idle)
	}
	return quiet, err
}
