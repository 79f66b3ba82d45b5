package netns

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/chainwalk/chainwalk/fakekernel"
	"github.com/chainwalk/chainwalk/kindtest/internal/nftrace"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
)

// chainID names a chain of a node.
type chainID struct {
	dialect      netfilter.Dialect
	v6           bool
	table, chain string
}

// ruleBook knows a node's rules as they are now, as far as a trace needs them.
type ruleBook struct {
	host   *host
	err    error // the first that came while a step was read
	read   bool
	chains map[chainID]*savedChain
	// has says of which tools and family there are tables; of a chain's name, only these are filled in.
	has map[chainID]bool
	// numbers are the places of the nft tables' rules, by the kernel's handles.
	numbers map[chainID]map[uint64]int
	// native says that the node may have tables of nftables that are not of iptables; tables are these.
	native bool
	tables map[nativeID]*nativeTable
}

// savedChain is a chain as iptables-save prints it, and what its lines mean.
type savedChain struct {
	policy netfilter.Verdict
	rules  []netfilter.Rule
}

// forget makes the book be read anew: the rules have changed.
func (b *ruleBook) forget() { b.read = false }

func (b *ruleBook) load() {
	if b.read {
		return
	}
	b.read = true
	b.chains, b.has, b.numbers = map[chainID]*savedChain{}, map[chainID]bool{}, map[chainID]map[uint64]int{}
	for _, tool := range b.host.dialects {
		err := b.host.eachSave(tool, func(v6 bool, save string) error { return b.parse(v6, tool, save) })
		if err != nil {
			b.fail(err)
			return
		}
		if tool == netfilter.NFT {
			b.fail(b.number())
		}
	}
	if b.native {
		b.fail(b.loadNative())
	}
}

func (b *ruleBook) fail(err error) {
	if b.err == nil && err != nil {
		b.err = fmt.Errorf("read the rules of %s: %w", b.host.Name, err)
	}
}

// parse reads what iptables-save has printed: the lines as they are, and the rules that fakeipt makes of them.
func (b *ruleBook) parse(v6 bool, tool netfilter.Dialect, save string) error {
	family := netfilter.IPv4
	if v6 {
		family = netfilter.IPv6
	}
	rules, err := fakekernel.ReadSave("the saved rules", save, family, tool)
	if err != nil {
		return err
	}
	for _, table := range rules.Tables {
		b.has[chainID{dialect: tool, v6: v6}] = true
		for chain := range table.Chains() {
			saved := &savedChain{policy: chain.Policy}
			for _, fact := range chain.Facts() {
				saved.rules = append(saved.rules, netfilter.Rule{Fact: fact})
			}
			b.chains[chainID{tool, v6, table.Name(), chain.Name}] = saved
		}
	}
	return b.note(v6, tool, save)
}

// note notes the lines that the rules were read from.
func (b *ruleBook) note(v6 bool, tool netfilter.Dialect, save string) error {
	noted := map[chainID]int{}
	for table, line := range savedLines(save) {
		appended, isRule := strings.CutPrefix(line, "-A ")
		if !isRule {
			continue
		}
		name, _, _ := strings.Cut(appended, " ")
		id := chainID{tool, v6, table, name}
		if chain := b.chains[id]; chain == nil || noted[id] >= len(chain.rules) {
			return fmt.Errorf("table %s has a line that makes no rule: %s", table, line)
		}
		b.chains[id].rules[noted[id]].Text = line
		noted[id]++
	}
	return nil
}

// chain is a chain as it was saved; an empty one if there is none.
func (b *ruleBook) chain(id chainID) *savedChain {
	b.load()
	if chain := b.chains[id]; chain != nil {
		return chain
	}
	return &savedChain{}
}

// number reads the handles of the nft tables' rules in their order.
func (b *ruleBook) number() error {
	socket, err := b.host.ns.netfilter()
	if err != nil {
		return err
	}
	defer func() { _ = socket.Close() }()
	for _, family := range []uint8{unix.AF_INET, unix.AF_INET6} {
		err := nftrace.Rules(socket, family, func(table, chain string, handle uint64) {
			id := chainID{dialect: netfilter.NFT, v6: family == unix.AF_INET6, table: table, chain: chain}
			if b.numbers[id] == nil {
				b.numbers[id] = map[uint64]int{}
			}
			b.numbers[id][handle] = len(b.numbers[id]) + 1
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// step reads a step as the legacy tables spell it: table:chain:kind:number.
func (b *ruleBook) step(v6 bool, at string) packetsim.Step {
	parts := strings.Split(at, ":")
	if len(parts) < 4 {
		b.fail(fmt.Errorf("a trace says %q", at))
		return packetsim.Step{}
	}
	number, err := strconv.Atoi(parts[len(parts)-1])
	b.fail(err)
	id := chainID{dialect: netfilter.Legacy, v6: v6, table: parts[0], chain: strings.Join(parts[1:len(parts)-2], ":")}
	return b.met(id, packetsim.StepKind(parts[len(parts)-2]), number)
}

// traced is a step of the nft tables, spelled as the legacy tables would; false if
// those would say nothing.
func (b *ruleBook) traced(v6 bool, r *nftrace.Report) (packetsim.Step, bool) {
	if id := (nativeID{nativeFamilies[r.Family], r.Table}); !id.isOfIPTables() {
		return b.metNative(id, r)
	}
	id, kind := chainID{dialect: netfilter.NFT, v6: v6, table: r.Table, chain: r.Chain}, r.Kind
	saved := b.chain(id)
	number, isRule := b.numbers[id][r.Handle]
	isRule = isRule && number <= len(saved.rules) // not if it is in a table that somebody else gave this name
	if kind != packetsim.StepRule || !isRule {
		number = len(saved.rules) + 1
	}
	if kind == packetsim.StepRule && !isRule {
		kind = packetsim.StepReturn // the kernel says this of the end of a chain
		if saved.policy != "" {
			return packetsim.Step{}, false // the policy comes next
		}
	}
	if isRule && kind == packetsim.StepRule {
		kind = packetsim.RuleStepKind(&saved.rules[number-1].Fact, saved.policy != "")
	}
	return b.met(id, kind, number), true
}

// met is a step with the rule or the policy that it names. To the legacy tables a rule without a condition is the tail of its chain, so
// that its kind may be policy or return.
func (b *ruleBook) met(id chainID, kind packetsim.StepKind, number int) packetsim.Step {
	step := packetsim.Step{Table: id.table, Chain: id.chain, Kind: kind, Number: number}
	saved := b.chain(id)
	of := func(d netfilter.Dialect) bool { return b.has[chainID{dialect: d, v6: id.v6}] }
	if b.proxyTable(id.v6) != nil || of(netfilter.Legacy) && of(netfilter.NFT) {
		step.Dialect = id.dialect
	}
	switch {
	case number >= 1 && number <= len(saved.rules):
		step.Rule = &saved.rules[number-1]
	case kind == packetsim.StepPolicy:
		step.Policy = saved.policy
	}
	return step
}

// chancy reports whether chance had a part in a step: whether the chain's rules up
// to this one have some that match at random.
func (b *ruleBook) chancy(v6 bool, step *packetsim.Step) bool {
	if step.Family != "" {
		return step.Rule != nil && step.Rule.Fact.Conditions.Chance
	}
	tool := b.host.exec.dialect
	if step.Dialect != "" {
		tool = step.Dialect
	}
	rules := b.chain(chainID{tool, v6, step.Table, step.Chain}).rules
	if step.Kind == packetsim.StepRule && step.Number <= len(rules) {
		rules = rules[:step.Number]
	}
	return slices.ContainsFunc(rules, func(r netfilter.Rule) bool { return r.Fact.Conditions.Chance })
}

// memories are the memories of a kind that a rule has part in; none if there is no rule.
func memories(rule *netfilter.Rule, kind netfilter.MemoryKind) iter.Seq[netfilter.Memory] {
	return func(yield func(netfilter.Memory) bool) {
		if rule == nil {
			return
		}
		for _, m := range rule.Fact.Memories {
			if m.Kind == kind && !yield(m) {
				return
			}
		}
	}
}
