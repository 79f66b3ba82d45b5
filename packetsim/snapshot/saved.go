package snapshot

import (
	"cmp"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"sync"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/fakeipt/match"
	"github.com/chainwalk/chainwalk/fakeipt/target"
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/fakekernel"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// Saved are rules that iptables-save, ip6tables-save and nft have printed, read once, so that many packets can be walked through them.
type Saved struct {
	kernel *fakekernel.Kernel
	known  RulesOptions
	native *listing // what nft has printed; nil without any
	text   string
	places func() map[RulePlace]int // the lines of the rules of iptables, which few ask for
}

// ReadSaved reads what iptables-save and ip6tables-save have printed, of both families and backends one after the other: their head lines
// say which. Beside it, or alone, may stand what "nft list ruleset" has printed, or as a text of its own what it prints with -j. Errors
// name the text and its line; that of a NodeSnapshot, which Read reads, is ErrIsSnapshot.
func ReadSaved(name string, r io.Reader, o RulesOptions) (*Saved, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	native, rest := splitListing(string(text))
	saves := native == "" || IsSave([]byte(rest))
	saved := &Saved{kernel: fakekernel.New(fakekernel.Options{Dialect: o.Dialect}), text: string(text),
		places: func() map[RulePlace]int { return nil }}
	if saves {
		texts, err := textsOf(name, rest, o.Family)
		if err != nil {
			return nil, err
		}
		texts = OfBackend(texts, o.Dialect)
		family := cmp.Or(o.Family, netfilter.IPv4)
		if saved.kernel, err = fakekernel.LoadTexts(name, texts, family); err != nil {
			return nil, err
		}
		saved.places = sync.OnceValue(func() map[RulePlace]int { return placesIn(saved.kernel, texts, family) })
	}
	if native != "" {
		o.Devices = append(slices.Clone(o.Devices), devicesIn(native)...)
		if saved.native, err = addListing(saved.kernel, name, native, o.Devices); err != nil {
			return nil, err
		}
		saved.native.alone = !saves
	}
	saved.known = o
	return saved, nil
}

// Host is a new host with the rules, by whose device a packet can come.
func (s *Saved) Host(in inet.Input) (*packetsim.Host, error) { return s.host(in, s.known.Local) }

func (s *Saved) host(in inet.Input, local []netip.Addr) (*packetsim.Host, error) {
	known := s.known
	known.Local = local
	if in.In != "" {
		known.Devices = append(slices.Clone(known.Devices), in.In)
	}
	return hostOfRules(s.kernel.Namespace(), known)
}

// IsEmpty says whether there is no table of a family.
func (s *Saved) IsEmpty(family netfilter.Family) bool {
	return len(s.kernel.Rules(family).Tables) == 0 && !hasNative(s.kernel.Namespace(), family)
}

// hangsOnLocal says whether the rules would do something else with a packet if its destination were an address of the node's own, as that
// of a node port is: they would translate or stop it, and do not so in these outcomes. False if somebody has said which addresses are.
func (s *Saved) hangsOnLocal(in inet.Input, outcomes []packetsim.Outcome) bool {
	if len(s.known.Local) > 0 || in.Dst.IsMulticast() {
		return false
	}
	local, err := s.host(in, []netip.Addr{in.Dst})
	if err != nil {
		return false
	}
	others, err := local.Walk(in)
	return err == nil && slices.ContainsFunc(others, ruled) && !slices.ContainsFunc(outcomes, ruled)
}

// LacksOwn says whether rules ask if an address is one of the node's own (addrtype, fib), or masquerade with one, and nobody has said which
// addresses are. Then no packet but those to loopback is for the node itself, as those to node ports are, and none can be masqueraded.
func (s *Saved) LacksOwn() bool {
	if len(s.known.Local) > 0 {
		return false
	}
	for _, tools := range fakeipt.Kernels(s.kernel.Namespace()) {
		for _, family := range netfilter.Families() {
			for r := range tools.Ruleset(family).Rules {
				if _, masquerades := r.Target.(*target.Masquerade); masquerades || slices.ContainsFunc(r.Matches, isAddrtype) {
					return true
				}
			}
		}
	}
	kernel := nftables.In(s.kernel.Namespace())
	return kernel != nil && slices.ContainsFunc(kernel.State().Tables(), func(t *nftables.Table) bool {
		return slices.ContainsFunc(t.Chains(), func(c *nftables.Chain) bool {
			return slices.ContainsFunc(c.Rules, func(r *nftables.Rule) bool { return slices.ContainsFunc(r.Exprs, asksOwn) })
		})
	})
}

func isAddrtype(m xtables.Match) bool {
	_, is := m.(*match.Addrtype)
	return is
}

func asksOwn(e expr.Expr) bool {
	switch e := e.(type) {
	case *expr.Fib:
		return e.Result == expr.FibType
	case *expr.Masq:
		return true
	}
	return false
}

// OwnDoubts are the doubts about the node's own addresses, if nobody has said which they are: whether the destination of a packet is one,
// as that of a node port is, with which the rules do something else; and with which one the packet is masqueraded. see is where to name
// them.
func (s *Saved) OwnDoubts(in inet.Input, outcomes []packetsim.Outcome, see string) (out []packetsim.Doubt) {
	doubt := func(unless string) {
		out = append(out, packetsim.Doubt{Kind: packetsim.DoubtUnread, Unless: unless, See: see})
	}
	if s.hangsOnLocal(in, outcomes) {
		doubt(in.Dst.String() + " is the node's own address")
	}
	if s.LacksOwn() && slices.ContainsFunc(outcomes, lacksSource) {
		doubt("the node has an address to masquerade with")
	}
	return out
}

func lacksSource(o packetsim.Outcome) bool { return o.Reason == packetsim.ReasonNoMasqueradeAddress }

// ruled says whether rules have translated or stopped a packet.
func ruled(o packetsim.Outcome) bool { return o.DNAT != "" || o.Verdict != packetsim.Accept }
