package fakeipt

import (
	"bytes"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// lostInState are extensions of which some odd rules are not kept as they are: iptables-save prints no words from which the real tools
// could make them again either. docs/tools.md says so.
var lostInState = []string{
	"dccp",      // --dccp-types "": no word is printed for it
	"hashlimit", // names with blanks have no quotes, and --hashlimit-rate-interval is left out without --hashlimit-rate-match
	"policy",    // --pol none does not print its element
	"rt",        // --rt-segsleft of all numbers is left out
	"sctp",      // flags of types beyond SHUTDOWN_COMPLETE, and the order of types with flags, are left out
	"tcp",       // nft: ! --tcp-flags NONE NONE is left out
	"time",      // lists without a day print no word, and --datestop of 1970 is left out
	"udp",       // nft: an inverted range from or to an end is printed as another one
	"CT",        // of --zone mark and --zone-reply 6 one word is printed
	"NFLOG",     // nft: --nflog-range is left out
	"SNPT",      // prefixes of length 0 are left out
}

// TestStateKeepsRules holds that a rule of testdata/rules which was written with the state and read again is the same rule, also in what
// iptables-save does not print: -D and -C compare that.
func TestStateKeepsRules(t *testing.T) {
	kept, lost := 0, map[string]int{}
	datadriven.Walk(t, "testdata/rules", func(t *testing.T, path string) {
		machines := [2]machine{newFakeMachine(Legacy), newFakeMachine(NFT)}
		datadriven.RunTest(t, path, func(t *testing.T, td *datadriven.TestData) string {
			tool, ok := map[string]string{"rules": "iptables", "rules6": "ip6tables"}[td.Cmd]
			if !ok {
				runCase(t, machines[Legacy], Legacy, td)
				runCase(t, machines[NFT], NFT, td)
				return td.Expected
			}
			at := ruleAt{tool: tool, table: td.CmdArgs[0].Key, chain: td.CmdArgs[1].Key}
			for line := range strings.Lines(td.Input) {
				for _, m := range machines {
					k := m.(*fakeMachine).kernel
					if !at.run(k, "-A", savedWords(t, line)...) {
						continue
					}
					if rule := at.rule(k); slices.ContainsFunc([]*Rule{at.again(t, k)}, rule.same) {
						kept++
					} else {
						name := rule.lostName()
						assert.Contains(t, lostInState, name, line)
						lost[name]++
					}
					at.run(k, "-F")
				}
			}
			return td.Expected
		})
	})
	assert.Greater(t, kept, 3000)
	for _, name := range lostInState {
		assert.NotZero(t, lost[name], "%s is kept by now", name)
	}
}

// ruleAt is where a rule is tried.
type ruleAt struct{ tool, table, chain string }

func (at ruleAt) run(k *Kernel, command string, words ...string) bool {
	return k.Run(append([]string{at.tool, "-t", at.table, command, at.chain}, words...), nil, io.Discard, io.Discard) == 0
}

func (at ruleAt) family() Family {
	if at.tool == "ip6tables" {
		return IPv6
	}
	return IPv4
}

// rule is the last rule there.
func (at ruleAt) rule(k *Kernel) *Rule {
	rules := k.Ruleset(at.family()).Table(at.table).Chain(at.chain).Rules
	return rules[len(rules)-1]
}

// again is the rule as it is read from the state; nil if that cannot be read.
func (at ruleAt) again(t *testing.T, k *Kernel) *Rule {
	var objects, rules bytes.Buffer
	require.NoError(t, k.WriteObjects(&objects))
	require.NoError(t, k.WriteState(at.family(), &rules))
	again := New(Options{Dialect: k.Dialect()})
	require.NoError(t, again.ReadObjects("objects", &objects))
	if err := again.ReadState(at.family(), "rules", &rules); err != nil {
		return nil
	}
	return at.rule(again)
}

// same says that two rules hold the same.
func (r *Rule) same(other *Rule) bool {
	return other != nil && reflect.DeepEqual(r.Matches, other.Matches) && reflect.DeepEqual(r.Target, other.Target)
}

// lostName is the extension of a rule that has one.
func (r *Rule) lostName() string {
	if len(r.Matches) > 0 {
		return r.Matches[len(r.Matches)-1].Name()
	}
	return r.Target.Name()
}

// TestToolsFindWhatIsNotPrinted gives rules to tools that keep their state in text, and deletes them by the same words.
func TestToolsFindWhatIsNotPrinted(t *testing.T) {
	at := ruleAt{tool: "iptables", table: "mangle", chain: "PREROUTING"}
	for _, d := range []Dialect{Legacy, NFT} {
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
				var state bytes.Buffer
				require.NoError(t, k.WriteState(IPv4, &state))
				again := New(Options{Dialect: d})
				require.NoError(t, again.ReadState(IPv4, "state", &state))
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
