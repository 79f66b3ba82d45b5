package scenarios

import (
	"context"

	"github.com/chainwalk/chainwalk/internal/document"
)

// Fault is something that goes wrong on a node without kube-proxy's doing.
type Fault struct {
	document.Located
	Node         string   `json:"node" doc:"The node; every node if not given."`
	Flush        []string `json:"flush" doc:"Tables whose rules and chains are all removed, in every family that the cluster has."`
	Run          []string `json:"run" doc:"Command lines run on the node, such as: iptables -t nat -F KUBE-SERVICES."`
	RestoreFails int      `json:"restoreFails" doc:"The next N calls of iptables-restore and ip6tables-restore fail."`
}

func (c *checker) fault(s *Step) {
	f := s.Fault
	if f.Node != "" {
		c.nodes(f.Pos, []string{f.Node})
	}
	for _, table := range f.Flush {
		c.word(f.Pos, "flush", table, "raw", "mangle", "nat", "filter", "security")
	}
	if len(f.Flush)+len(f.Run)+f.RestoreFails == 0 || f.RestoreFails < 0 {
		c.errorf(f.Pos, "fault: nothing goes wrong (want flush, run or restoreFails)")
	}
}

func (r *runner) fault(ctx context.Context, s *Step) error {
	f := s.Fault
	names := []string{f.Node}
	if f.Node == "" {
		names = r.cluster.nodeNames()
	}
	for _, name := range names {
		one := *f
		one.Node = name
		if err := r.session.Fault(ctx, one); err != nil {
			return err
		}
	}
	return nil
}
