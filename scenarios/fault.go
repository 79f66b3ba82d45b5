package scenarios

import (
	"context"
	"path"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/chainwalk/chainwalk/internal/document"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios/explain/provenance"
)

// Fault is something that goes wrong on a node without kube-proxy's doing.
type Fault struct {
	document.Located
	Node    string     `json:"node" doc:"The node; every node if not given."`
	Family  IPFamily   `json:"family" enum:"ipv4 ipv6" doc:"Only the tools, entries and tables of this family: ipv4 or ipv6. All that the cluster has if not given."`
	Dialect DialectRef `json:"tool" enum:"legacy nft other" doc:"The iptables tools of flush and run: legacy, nft, or other: the variant that kube-proxy does not use in the run. Kube-proxy's variant if not given."`
	Flush   []string   `json:"flush" doc:"Tables whose rules and chains are all removed."`
	Run     []string   `json:"run" doc:"Command lines run on the node, such as: iptables -t nat -F KUBE-SERVICES."`

	RestoreFails   int              `json:"restoreFails" doc:"The next N calls of iptables-restore and ip6tables-restore fail."`
	Commits        []string         `json:"commits" doc:"With restoreFails: the tables that a restore commits before it fails, in the order of its input."`
	SaveFails      int              `json:"saveFails" doc:"The next N calls of iptables-save and ip6tables-save fail."`
	ConntrackFails int              `json:"conntrackFails" doc:"The next N times that conntrack is listed or its entries are deleted fail."`
	LockHeld       int              `json:"lockHeld" doc:"The next N calls of iptables, iptables-restore and their IPv6 twins wait for the lock in vain, as long as they are told to: exit status 4. Only the legacy tools have a lock."`
	RestoreTakes   *metav1.Duration `json:"restoreTakes" doc:"How long each restore takes from here on: the clock moves while it runs."`
	Heal           bool             `json:"heal" doc:"Nothing goes wrong any more: what earlier faults left to come does not."`
}

func (c *checker) fault(s *Step) {
	f := s.Fault
	if f.Node != "" {
		c.nodes(f.Pos, []string{f.Node})
	}
	c.tables(f.Pos, "flush", f.Flush)
	c.tables(f.Pos, "commits", f.Commits)
	c.family(f.Pos, f.Family)
	if slices.ContainsFunc(f.Run, func(line string) bool { return strings.TrimSpace(line) == "" }) {
		c.errorf(f.Pos, "run: a command line is empty")
	}
	for _, count := range []struct {
		name string
		n    int
	}{{"restoreFails", f.RestoreFails}, {"saveFails", f.SaveFails}, {"conntrackFails", f.ConntrackFails}, {"lockHeld", f.LockHeld}} {
		if count.n < 0 {
			c.errorf(f.Pos, "%s: want at least 1, got %d", count.name, count.n)
		}
	}
	switch {
	case f.Heal && !f.only(&Fault{Heal: true}):
		c.errorf(f.Pos, "heal: nothing else goes with it (write one step for each)")
	case f.only(&Fault{}):
		c.errorf(f.Pos, "fault: nothing goes wrong (want flush, run, restoreFails, saveFails, conntrackFails, lockHeld, restoreTakes or heal)")
	case f.Dialect != "" && len(f.Flush)+len(f.Run) == 0:
		c.errorf(f.Pos, "tool says nothing without flush or run")
	case len(f.Commits) > 0 && f.RestoreFails == 0:
		c.errorf(f.Pos, "commits says nothing without restoreFails")
	case f.RestoreTakes != nil && f.RestoreTakes.Duration <= 0:
		c.errorf(f.Pos, "restoreTakes: want more than 0s (heal ends it)")
	}
}

func (c *checker) tables(pos document.Position, field string, names []string) {
	for _, name := range names {
		c.word(pos, field, name, "raw", "mangle", "nat", "filter", "security")
	}
}

// only reports whether a fault is another one but for its place and its node.
func (f *Fault) only(other *Fault) bool {
	bare := *f
	bare.Located, bare.Node, bare.Family, bare.Dialect = other.Located, "", "", ""
	return reflect.DeepEqual(&bare, other)
}

// Flushes reports whether a fault takes away rules beyond those of single chains of the proxy.
func (f *Fault) Flushes() bool {
	return len(f.Flush) > 0 || slices.ContainsFunc(f.Run, func(command string) bool {
		words := strings.Fields(command)
		i := slices.Index(words, "-F")
		return i >= 0 && (i+1 == len(words) || !provenance.WriterOf(words[i+1]).IsKubernetes())
	})
}

// toolsRun are the tools that command lines name by their variant, such as iptables-nft.
func (f *Fault) dialectsRun() (named []DialectRef) {
	for _, line := range f.Run {
		program, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		for _, tool := range []netfilter.Dialect{netfilter.Legacy, netfilter.NFT} {
			if slices.Contains(strings.Split(path.Base(program), "-"), string(tool)) {
				named = append(named, DialectRef(tool))
			}
		}
	}
	return named
}

// family refuses a family that the cluster does not have.
func (c *checker) family(pos document.Position, family IPFamily) {
	if family != "" && c.cluster.IPFamily != FamilyDual && family != c.cluster.IPFamily {
		c.errorf(pos, "family: the cluster is %s only", c.cluster.IPFamily)
	}
}

func (r *runner) fault(ctx context.Context, s *Step) error {
	f := s.Fault
	names := r.cluster.nodeNames()
	if f.Node != "" {
		names = []string{f.Node}
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
