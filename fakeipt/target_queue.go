package fakeipt

import (
	"syscall"

	"github.com/chainwalk/chainwalk/netfilter"
)

// TargetQueue is -j QUEUE, a verdict of the legacy tools: the packet waits for a program on queue 0. The nft tools take
// it for an extension, which the kernel does not have.
type TargetQueue struct{}

// Name is "QUEUE".
func (*TargetQueue) Name() string { return queueName }

const queueName = "QUEUE"

func (*TargetQueue) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return dst
}

func (*TargetQueue) appendList(dst []byte, _ listStyle) []byte { return dst }

func (t *TargetQueue) check(c *checkContext) syscall.Errno { return t.absent(c.dialect) }

func (*TargetQueue) absent(d netfilter.Dialect) syscall.Errno {
	if d == netfilter.NFT {
		return syscall.ENOENT
	}
	return 0
}

// isVerdict says that the target is one of the kernel's own that end the way through the chain.
func isVerdict(t Target) bool {
	switch t.(type) {
	case *Verdict, *TargetQueue:
		return true
	}
	return false
}

func (*TargetQueue) addFact(f *netfilter.Fact) { f.Verdict = netfilter.Queue }
