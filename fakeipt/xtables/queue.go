package xtables

import (
	"syscall"

	"github.com/chainwalk/chainwalk/netfilter"
)

// Queue is -j QUEUE, a verdict of the legacy tools: the packet waits for a program on queue 0. The nft tools take
// it for an extension, which the kernel does not have.
type Queue struct{}

// Name is "QUEUE".
func (*Queue) Name() string { return QueueName }

// QueueName is the name of the verdict.
const QueueName = "QUEUE"

// ListName is "standard" with the nft tools.
func (t *Queue) ListName(d netfilter.Dialect) string {
	if d == netfilter.NFT {
		return StandardTarget
	}
	return t.Name()
}

func (*Queue) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return dst
}

func (*Queue) AppendList(dst []byte, _ ListStyle) []byte { return dst }

func (t *Queue) Check(c *CheckContext) syscall.Errno { return t.absent(c.Dialect) }

func (*Queue) absent(d netfilter.Dialect) syscall.Errno {
	if d == netfilter.NFT {
		return syscall.ENOENT
	}
	return 0
}

func (*Queue) AddFact(f *netfilter.Fact) { f.Verdict = netfilter.Queue }
