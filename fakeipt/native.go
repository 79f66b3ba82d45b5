package fakeipt

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/fakeipt/ruleset"
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// nativeTable is a table of nf_tables under a name of iptables', as iptables-nft sees it: nft has made it, or changed one of iptables-nft.
type nativeTable struct {
	kind   *ruleset.Kind
	family netfilter.Family
	native ruleset.Native
	// ours says that iptables-nft could have made all of it.
	ours bool
	// others says that it has base chains that are none of iptables', which the tools pass over.
	others bool
	// strange are the rules that nft wrote.
	strange map[*xtables.Rule]strangeRule
	// table is what the tools see; nil if they could not have made it.
	table *ruleset.Table
	// lacks is what is not known of how the tools see it, and unread the rule of which that is so; empty if all is known.
	lacks, unread string
}

// strangeRule is what the tools make of a rule that nft wrote.
type strangeRule struct {
	// incompatible says that the rule has an expression by which the tools refuse to list the chain (nft_is_expr_compatible).
	incompatible bool
	// failure is what they say where they compare it with another one; empty if they read it, be it in part.
	failure string
	// read says that the rule is what they read.
	read bool
}

// familyOfNative is the family of a table that may be one of iptables'; 0 if it is none.
func familyOfNative(t *nftables.Table) netfilter.Family {
	switch t.Family {
	case nftables.IPv4:
		return netfilter.IPv4
	case nftables.IPv6:
		return netfilter.IPv6
	}
	return 0
}

// nativeNamed is a table of nf_tables under a name of iptables' that is not the tools' own; nil if there is none.
func (k *Kernel) nativeNamed(f netfilter.Family, kind *ruleset.Kind) *nativeTable {
	nft := nftables.In(k.namespace)
	if k.dialect != netfilter.NFT || nft == nil || kind == nil {
		return nil
	}
	t := nft.State().Table(nftFamily(f), kind.Name)
	if t == nil {
		return nil
	}
	k.guests.lock.Lock()
	seen := k.guests.seen[t]
	k.guests.lock.Unlock()
	if seen != nil && seen.native.Last == t.LastHandle() {
		return seen
	}
	n := k.readNative(t, kind, f)
	if n.lacks == "" {
		n.table = ruleset.New(f, k.dialect).FromNative(kind, &n.native, &k.surroundings)
	}
	if n.lacks == "" && n.table == nil {
		n.lacks = "its chains"
	}
	k.guests.lock.Lock()
	defer k.guests.lock.Unlock()
	if k.guests.seen == nil || len(k.guests.seen) == manySeen {
		k.guests.seen = map[*nftables.Table]*nativeTable{}
	}
	k.guests.seen[t] = n
	return n
}

// manySeen is how many tables are kept in mind: most of them have changed since.
const manySeen = 16

// readNative reads a table as the tools do.
func (k *Kernel) readNative(t *nftables.Table, kind *ruleset.Kind, f netfilter.Family) *nativeTable {
	n := &nativeTable{kind: kind, family: f, strange: map[*xtables.Rule]strangeRule{}}
	n.ours = t.Flags == 0 && len(t.UserData) == 0 && len(t.Sets()) == 0 && len(t.Objects()) == 0 && len(t.Flowtables()) == 0
	n.native = ruleset.Native{Handle: t.Handle, Last: t.LastHandle()}
	reader := &ruleReader{kernel: k, table: n}
	for _, c := range t.Chains() {
		chain, is := n.chain(c)
		if !is {
			n.ours, n.others = false, n.others || c.Hooking != nil
			continue
		}
		if c.Flags != 0 || len(c.UserData) > 0 {
			n.ours = false
		}
		for _, r := range c.Rules {
			reader.read(chain, c.Name, r)
		}
		n.native.Chains = append(n.native.Chains, *chain)
	}
	if err := reader.finish(); err != nil {
		n.ours, n.lacks = false, err.Error()
	}
	return n
}

// chain is a chain without its rules, if it is one of iptables': one that is no base chain, or a built-in one at its place.
func (n *nativeTable) chain(c *nftables.Chain) (*ruleset.NativeChain, bool) {
	hook, priority, builtin := n.kind.Hooking(c.Name)
	chain := &ruleset.NativeChain{Name: c.Name, Handle: c.Handle, Turn: c.Turn}
	switch {
	case c.Hooking == nil && builtin:
		n.lacks = fmt.Sprintf("chain %s, which is no base chain", c.Name)
		return nil, false
	case c.Hooking == nil:
		return chain, true
	case !builtin || c.Hooking.Type != hookingType(n.kind.Name, hook) || c.Hooking.Hook != uint32(hook) ||
		c.Hooking.Priority != int32(priority):
		return nil, false
	}
	chain.Policy = ruleset.PolicyAccept
	if c.Policy != nil && *c.Policy == expr.Drop {
		chain.Policy = ruleset.PolicyDrop
	}
	return chain, true
}

// ruleReader reads the rules of a table.
type ruleReader struct {
	kernel *Kernel
	table  *nativeTable
	lines  []string // rules to be read, as a restore has them
	of     []*nftables.Rule
	chains []*ruleset.NativeChain
}

// read appends a rule to its chain: that from which it was made, what the tools read into it, or one that stands for it.
func (p *ruleReader) read(chain *ruleset.NativeChain, name string, r *nftables.Rule) {
	switch from := r.Origin.(type) {
	case *origin:
		chain.Rules = append(chain.Rules, from.in(r))
		return
	case nftables.SavedOrigin:
		words := string(from)
		if to, leads := jumpOf(r).(*xtables.Jump); leads {
			words = words[:strings.LastIndexByte(words, ' ')+1] + to.Chain // it may have another name since
		}
		p.note(chain, r, words)
		return
	}
	p.table.ours = false
	if words, ok := optionsOf(r, p.table.family); ok {
		p.note(chain, r, words)
		return
	}
	stands := &xtables.Rule{Counters: &netfilter.Counters{}, Handle: r.Handle, Target: jumpOf(r)}
	strange := strangeRule{incompatible: !compatible(r), failure: failureOf(r)}
	if !strange.incompatible {
		p.table.unread = fmt.Sprintf("what iptables-nft reads into the rule with the handle %d of chain %s", r.Handle, name)
	}
	p.table.strange[stands] = strange
	chain.Rules = append(chain.Rules, stands)
}

// note keeps a place for a rule that is read from its words.
func (p *ruleReader) note(chain *ruleset.NativeChain, r *nftables.Rule, words string) {
	chain.Rules = append(chain.Rules, nil)
	p.lines, p.of, p.chains = append(p.lines, "-A "+readingChain+words+"\n"), append(p.of, r), append(p.chains, chain)
}

// readingChain is the chain in which rules are read.
const readingChain = "chainwalk-reads"

// finish reads the rules that were noted.
func (p *ruleReader) finish() error {
	if len(p.lines) == 0 {
		return nil
	}
	f := p.table.family
	r := newRestorer(f, caller{kernel: p.kernel}, xtables.FactsOf(f).Tool+"-restore", io.Discard)
	defer r.close()
	heads := []string{"*" + p.table.kind.Name + "\n", ":" + readingChain + " - [0:0]\n"}
	for _, c := range p.table.native.Chains {
		if c.Policy == ruleset.PolicyNone {
			heads = append(heads, ":"+c.Name+" - [0:0]\n")
		}
	}
	for _, line := range append(heads, p.lines...) {
		if err := r.one([]byte(line)); err != nil {
			return err
		}
	}
	if r.late != nil {
		return r.late
	}
	read := slices.Clone(r.x.edit.SlotOf(readingChain).CurrentRules())
	if len(read) != len(p.of) {
		return fmt.Errorf("%d of its rules", len(p.of)-len(read))
	}
	// The rules come into the places that were kept for them, chain by chain in their order.
	for i, rule := range read {
		native := p.of[i]
		rule.Handle = native.Handle
		if c := counterOf(native); c != nil {
			rule.Counters = c
		}
		place(p.table.native.Chains, p.chains[i].Name, rule)
		if _, saved := native.Origin.(nftables.SavedOrigin); !saved {
			p.table.strange[rule] = strangeRule{read: true}
		}
	}
	return nil
}

// place puts a rule into the first place of a chain that is kept for one.
func place(chains []ruleset.NativeChain, name string, rule *xtables.Rule) {
	for _, c := range chains {
		if at := slices.Index(c.Rules, nil); c.Name == name && at >= 0 {
			c.Rules[at] = rule
		}
	}
}

// origin is a rule of iptables-nft's, as the Origin of a rule of nf_tables.
type origin struct {
	rule   *xtables.Rule
	family netfilter.Family
}

// String is the rule as iptables-save has it behind the chain.
func (o *origin) String() string { return string(o.rule.AppendOptions(nil, o.family, netfilter.NFT)) }

// in is the rule as the kernel has it now: the chain that it leads to may have another name.
func (o *origin) in(r *nftables.Rule) *xtables.Rule {
	jump, leads := o.rule.Target.(*xtables.Jump)
	now := jumpOf(r)
	if to, is := now.(*xtables.Jump); leads && is && to.Chain != jump.Chain {
		changed := *o.rule
		changed.Target = to
		return &changed
	}
	return o.rule
}

// jumpOf is the jump of a rule; nil if it has none.
func jumpOf(r *nftables.Rule) xtables.Target {
	for _, e := range r.Exprs {
		if x, is := e.(*expr.Immediate); is && x.Data.Verdict != nil {
			switch v := x.Data.Verdict; v.Code {
			case expr.Jump, expr.Goto:
				return &xtables.Jump{Chain: v.Chain, Goto: v.Code == expr.Goto}
			}
		}
	}
	return nil
}

// counterOf is the counter of a rule; nil if it has none.
func counterOf(r *nftables.Rule) *netfilter.Counters {
	for _, e := range r.Exprs {
		if c, is := e.(*expr.Counter); is {
			return c.Counters
		}
	}
	return nil
}
