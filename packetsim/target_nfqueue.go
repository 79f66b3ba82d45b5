package packetsim

import (
	"fmt"

	"github.com/chainwalk/chainwalk/fakeipt/target"
)

// nfqueue is -j NFQUEUE: no program of a Host listens on a queue, so that the packet is lost, or with --queue-bypass goes on to the next
// hook's rules (nf_queue in net/netfilter/nf_queue.c).
func (tg *targets) nfqueue(t *target.NFQUEUE) fate {
	if t.Bypass {
		tg.bypassed = true
		return accepted
	}
	if t.Queues > 1 {
		tg.dropSaying(ReasonNobodyOnQueue,
			fmt.Sprintf("queued for a program on queues %d to %d, where none listens", t.Queue, t.Queue+t.Queues-1))
	} else {
		tg.dropSaying(ReasonNobodyOnQueue, fmt.Sprintf("queued for a program on queue %d, where none listens", t.Queue))
	}
	return stopped
}
