package fakeipt

import (
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/fakeipt/ruleset"
	"github.com/chainwalk/chainwalk/internal/race"
	"github.com/chainwalk/chainwalk/netfilter"
)

// TestStateKeepsRules holds that every rule of testdata/rules which was written with the state and read again is the same rule, also in
// what iptables-save does not print: -D and -C compare that.
func TestStateKeepsRules(t *testing.T) {
	race.OneGoroutine(t)
	kept := 0
	unmet := map[string]bool{}
	for _, v := range ruleset.StateParts() {
		unmet[fmt.Sprintf("%T", v)] = true
	}
	datadriven.Walk(t, "testdata/rules", func(t *testing.T, path string) {
		machines := newFakeMachines()
		datadriven.RunTest(t, path, func(t *testing.T, td *datadriven.TestData) string {
			tool, ok := map[string]string{"rules": "iptables", "rules6": "ip6tables"}[td.Cmd]
			if !ok {
				runCase(t, machines[netfilter.Legacy], netfilter.Legacy, td)
				runCase(t, machines[netfilter.NFT], netfilter.NFT, td)
				return td.Expected
			}
			at := ruleAt{tool: tool, table: td.CmdArgs[0].Key, chain: td.CmdArgs[1].Key}
			for _, m := range machines {
				k := m.(*fakeMachine).kernel
				for line := range strings.Lines(td.Input) {
					if at.run(k, "-A", savedWords(t, line)...) {
						kept++
					}
				}
				requireSame(t, k, readBack(t, k))
				forgetTypes(unmet, k)
				at.run(k, "-F")
			}
			return td.Expected
		})
	})
	assert.Greater(t, kept, 3000)
	// The tools refuse the first two, and a kernel without SELinux the last one.
	assert.Equal(t, map[string]bool{"*xtables.OpaqueMatch": true, "*xtables.OpaqueTarget": true, "*target.Secmark": true}, unmet)
}

// forgetTypes takes out the types that rules of the kernel have.
func forgetTypes(types map[string]bool, k *Kernel) {
	for _, rs := range k.allRulesets() {
		for _, table := range rs.Tables() {
			for c := range table.Chains() {
				for _, r := range c.Rules {
					delete(types, fmt.Sprintf("%T", r.Target))
					for _, m := range r.Matches {
						delete(types, fmt.Sprintf("%T", m))
					}
				}
			}
		}
	}
}

// ruleAt is where a rule is tried.
type ruleAt struct{ tool, table, chain string }

func (at ruleAt) run(k *Kernel, command string, words ...string) bool {
	return k.Run(append([]string{at.tool, "-t", at.table, command, at.chain}, words...), nil, io.Discard, io.Discard) == 0
}

// requireSame holds that two kernels have the same tables and objects.
func requireSame(t require.TestingT, want, got *Kernel) {
	for _, f := range []netfilter.Family{netfilter.IPv4, netfilter.IPv6} {
		tables, others := want.Ruleset(f).Tables(), got.Ruleset(f).Tables()
		require.Len(t, others, len(tables))
		for i, table := range tables {
			other := others[i]
			require.Equal(t, table.Name(), other.Name())
			require.Len(t, slices.Collect(other.Chains()), len(slices.Collect(table.Chains())))
			for c := range table.Chains() {
				requireSameChain(t, table, other, c)
			}
		}
	}
	require.Equal(t, want.Namespace().Accounts().List(), got.Namespace().Accounts().List())
	require.Equal(t, want.Namespace().Sets().AppendState(nil), got.Namespace().Sets().AppendState(nil))
}

func requireSameChain(t require.TestingT, table, other *ruleset.Table, want *ruleset.Chain) {
	name := want.Name
	got := other.Chain(name)
	require.NotNil(t, got)
	said := func(t *ruleset.Table, c *ruleset.Chain) []any {
		return []any{c.Policy, c.Counters, t.References(name), t.Reached(name), t.Made(name), t.CountsPolicy(name)}
	}
	require.Equal(t, said(table, want), said(other, got))
	require.Len(t, got.Rules, len(want.Rules))
	for i, r := range want.Rules {
		require.True(t, reflect.DeepEqual(r, got.Rules[i]), "%v and not %v", r, got.Rules[i])
	}
}

// TestToolsFindWhatIsNotPrinted gives rules to tools that keep their state, and deletes them by the same words.
func TestToolsFindWhatIsNotPrinted(t *testing.T) {
	at := ruleAt{tool: "iptables", table: "mangle", chain: "PREROUTING"}
	for _, d := range []netfilter.Dialect{netfilter.Legacy, netfilter.NFT} {
		for _, row := range []struct{ rule, unlike string }{
			{"-m recent --set", "-m recent --set --mask 255.255.255.255"},
			{"-m recent --update --rttl --name x --rdest", "-m recent --update --rttl --name x --mask 255.255.255.255 --rdest"},
			{"-m connlimit --connlimit-above 3", "-m connlimit --connlimit-above 3 --connlimit-mask 32"},
			{"-j HMARK --hmark-tuple src,dst,ct --hmark-mod 10 --hmark-rnd 5",
				"-j HMARK --hmark-src-prefix 32 --hmark-dst-prefix 32 --hmark-tuple ct --hmark-mod 10 --hmark-rnd 5"},
			{"-j HMARK --hmark-tuple src --hmark-mod 10 --hmark-rnd 5", "-j HMARK --hmark-src-prefix 32 --hmark-mod 10 --hmark-rnd 5"},
		} {
			for _, words := range []string{row.rule, row.unlike} {
				k := New(Options{Dialect: d})
				require.True(t, at.run(k, "-A", strings.Fields(words)...), words)
				again := readBack(t, k)
				other := row.unlike
				if words == other {
					other = row.rule
				}
				assert.False(t, at.run(again, "-C", strings.Fields(other)...), "%v %s by %s", d, words, other)
				assert.True(t, at.run(again, "-D", strings.Fields(words)...), "%v %s", d, words)
			}
		}
	}
}
