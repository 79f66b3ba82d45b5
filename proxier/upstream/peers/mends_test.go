package peers

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestServicesInOrder has two orders of the same services come to the same rules, with the jumps to node ports last: one for each address
// of the node, which come out of a Go map too.
func TestServicesInOrder(t *testing.T) {
	const (
		head = "*nat\n:KUBE-SERVICES - [0:0]\n"
		a    = "-A KUBE-SERVICES -m comment --comment \"default/a cluster IP\" -m tcp -p tcp -d 10.0.0.1 -j KUBE-SVC-A\n"
		b    = "-A KUBE-SERVICES -m comment --comment \"default/b cluster IP\" -m tcp -p tcp -d 10.0.0.1 -j KUBE-SVC-B\n"
		own  = "-A KUBE-SVC-A -j KUBE-SEP-A\n"
		to1  = "-A KUBE-SERVICES -m comment --comment \"NOTE: this must be the last rule in this chain\" -d 192.0.2.1 -j KUBE-NODEPORTS\n"
		to2  = "-A KUBE-SERVICES -m comment --comment \"NOTE: this must be the last rule in this chain\" -d 192.0.2.2 -j KUBE-NODEPORTS\n"
		end  = "COMMIT\n"
	)
	want := head + a + own + b + to1 + to2 + end
	assert.Equal(t, want, string(inOrder([]byte(want))))
	assert.Equal(t, want, string(inOrder([]byte(head+b+own+a+to2+to1+end))))
}
