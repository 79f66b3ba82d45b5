package live

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
)

// wholeMutation has every rule of the recorded nodes mutated, and not a few of the small cluster's.
var wholeMutation = os.Getenv("CHAINWALK_MUTATE_RULES") == "1"

// fewRules is the share of the rules that are mutated otherwise.
const fewRules = 61

// mutant is a rule of a node that is made another one, or gets another before it.
type mutant struct {
	Rule
	what string
	// lines take the place of the rule.
	lines []string
}

// idle are the rules that may go without a packet meeting anything else, and why.
var idle = []struct{ rule, why string }{
	{`^-A KUBE-NODEPORTS -d 127\.0\.0\.0/8 .*--nfacct-name`, "it only counts: the next rule does the same with the packet"},
	{`^-A KUBE-FW-\S+ -m comment --comment "other traffic to`, "it has no target"},
	{`^-A KUBE-FW-\S+ -s 203\.0\.113\.1[01]/32`, "nothing sends from a load balancer's own address"},
	{`^-A KUBE-FORWARD .*-j ACCEPT`, "the policy accepts what is left"},
	{`^-A KUBE-NODEPORTS .*health check node port" .*-j ACCEPT`, "the policy accepts what is left"},
	{`^-A INPUT .*-j KUBE-NODEPORTS`, "the chain only accepts, and so does the policy"},
	{`^-A KUBE-POSTROUTING -j MARK --set-xmark 0x4000/0x0`, "no packet is encapsulated here and comes by a second time with its mark"},
	{`^-A OUTPUT -j KUBE-FIREWALL`, "a node's own packets to 127.0.0.0/8 are from 127.0.0.0/8"},
	{`^-A (INPUT|OUTPUT) .*-j KUBE-PROXY-FIREWALL`, "a node may use every load balancer here, and no node has a load balancer's address"},
}

// idleOn says why no packet is treated differently without the rule; empty if one may.
func idleOn(r Rule, chains ruleset) string {
	for _, i := range idle {
		if regexp.MustCompile(i.rule).MatchString(r.Text) {
			return i.why
		}
	}
	target := chains.factOf(r).Jump
	switch {
	case r.Family == netfilter.IPv6 && len(chains[r.Table+" "+target].texts) == 0 && strings.HasPrefix(target, "KUBE-"):
		return "the chain that it leads to is empty"
	case strings.Contains(r.Text, "--ctstate INVALID") && r.Node == "demo-control-plane",
		strings.HasPrefix(r.Text, "-A FORWARD") && target == "KUBE-FORWARD" && r.Node == "demo-control-plane":
		return "no two pods on the node, one of them serving: what is INVALID there is so on the other node before"
	case regexp.MustCompile(`^-A KUBE-SEP-\S+ -s \S+ .*-j KUBE-MARK-MASQ`).MatchString(r.Text):
		return "the endpoint's own packets come by another chain or by another node"
	case strings.Contains(r.Text, "default/kubernetes") && r.Node == "demo-control-plane" && target == "KUBE-MARK-MASQ":
		return "the endpoint is the node itself, and what is for it passes no POSTROUTING"
	case strings.Contains(r.Text, "masquerade LOCAL traffic") && r.Family == netfilter.IPv6:
		return "the node's own address is that of the packet already"
	}
	return ""
}

// sameEndpoints says that a service's chain and that of its local endpoints come to the same on the node.
func sameEndpoints(r Rule, chains ruleset) bool {
	if !strings.Contains(r.Text, "route LOCAL traffic") {
		return false
	}
	target := chains.factOf(r).Jump
	svc, svl := chains["nat "+target], chains["nat "+strings.Replace(target, "KUBE-SVC-", "KUBE-SVL-", 1)]
	return len(svl.texts) == 1 && len(svc.texts) == 2 && svl.Fact(0).Jump == svc.Fact(1).Jump
}

func TestEveryRuleThatIsMissedIsNamed(t *testing.T) {
	tools := []string{"legacy", "nft"}
	if !wholeMutation {
		tools = tools[:1]
	}
	for _, tool := range tools {
		t.Run(tool, func(t *testing.T) {
			m := newMutations(t, tool)
			for place, r := range m.rules {
				if !wholeMutation && place%fewRules != 0 {
					continue
				}
				for _, one := range mutantsOf(r) {
					m.check(t, one)
				}
			}
			t.Logf("%d rules changed, %d of them without a packet that suffers", m.tried, m.idle)
		})
	}
}

// mutantsOf are the mutants of a rule.
func mutantsOf(r Rule) []mutant {
	out := []mutant{{r, "deleted", nil}}
	for _, edit := range []struct{ what, old, now string }{
		{"another port", `(--to-destination \S+:)\d+`, "${1}9999"},
		{"another port", `--dport \d+`, "--dport 9999"},
		{"another endpoint", `--to-destination 10\.244\.\d+\.\d+:`, "--to-destination 10.244.9.9:"},
		{"another endpoint", `--to-destination \[[^]]*\]:`, "--to-destination [fd00:10:244:9::9]:"},
		{"another address", `-d 10\.96\.\S+/32`, "-d 10.96.77.77/32"},
		{"another address", `-d fd00:10:96:\S+/128`, "-d fd00:10:96::7777/128"},
		{"another chance", `--probability \S+`, "--probability 0.87500000000"},
	} {
		if changed := regexp.MustCompile(edit.old).ReplaceAllString(r.Text, edit.now); changed != r.Text {
			out = append(out, mutant{r, edit.what, []string{changed}})
		}
	}
	if foreign := regexp.MustCompile(`^-A KUBE-SERVICES -d \S+ .*--dport \d+`).FindString(r.Text); foreign != "" && r.Table == "nat" {
		foreign = regexp.MustCompile(` -m comment --comment "[^"]*"`).ReplaceAllString(foreign, "")
		out = append(out, mutant{r, "a foreign ACCEPT before it", []string{foreign + " -j ACCEPT", r.Text}})
	}
	return out
}

// mutations are what the sound nodes do, to compare with.
type mutations struct {
	sound       *exam
	meets       map[Rule][]errand // the errands that meet a rule
	rules       []Rule
	chains      map[string]ruleset // by node and family
	tried, idle int
}

func newMutations(t *testing.T, tools string) *mutations {
	m := &mutations{meets: map[Rule][]errand{}, chains: map[string]ruleset{}}
	var err error
	of := small
	if wholeMutation {
		of = recorded
	}
	m.sound, err = of(t, tools, dumpNodes...).exam()
	require.NoError(t, err)
	errands := m.sound.split(m.sound.errands())
	require.Empty(t, m.sound.report.Unjudged)
	for _, p := range errands {
		wrong, told, err := m.sound.lab.try(m.sound.spec, p, true)
		require.NoError(t, err)
		require.Empty(t, wrong, p)
		met := map[Rule]bool{}
		eachMet(told, func(string) bool { return true }, func(r *Rule) { met[*r] = true })
		for r := range met {
			m.meets[r] = append(m.meets[r], p)
		}
	}
	for _, node := range dumpNodes {
		for _, family := range []netfilter.Family{netfilter.IPv4, netfilter.IPv6} {
			m.add(node, family)
		}
	}
	return m
}

// add adds kube-proxy's rules of a node, in their order.
func (m *mutations) add(node string, family netfilter.Family) {
	host := m.sound.lab.Network.Host(node)
	rules := host.Rulesets(family)[0]
	chains := rulesetOf(rules)
	m.chains[fmt.Sprint(node, family)] = chains
	for _, table := range []string{"filter", "nat"} {
		for chain := range rules.Table(table).Chains() {
			for _, text := range chains[table+" "+chain.Name].texts {
				if strings.Contains(text, "KUBE-") && !strings.Contains(text, "KUBE-FIREWALL") || strings.HasPrefix(text, "-A KUBE-FIREWALL") {
					m.rules = append(m.rules, Rule{Node: node, Family: family, Table: table, Chain: chain.Name, Text: text})
				}
			}
		}
	}
}

// check holds the doctor to finding a mutant, among the packets that meet its rule on the sound nodes.
func (m *mutations) check(t *testing.T, one mutant) {
	m.tried++
	c := &Cluster{Objects: m.sound.cluster.Objects, Config: m.sound.cluster.Config}
	for _, taken := range m.sound.cluster.Snapshots {
		if taken.Hostname == one.Node {
			taken = replaced(t, taken, one.Rule, one.lines)
		}
		c.Snapshots = append(c.Snapshots, taken)
	}
	e, err := c.exam()
	require.NoError(t, err, one.Text)
	suffer, err := e.look(t.Context(), m.meets[one.Rule])
	require.NoError(t, err)
	chains := m.chains[fmt.Sprint(one.Node, one.Family)]
	if suffer == 0 {
		m.idle++
		assert.True(t, idleOn(one.Rule, chains) != "" || sameEndpoints(one.Rule, chains), "%s, and nothing suffers: %s", one.what, one.Rule)
		return
	}
	missing, foreign := named(e.report)
	if len(one.lines) == 0 || one.what != "a foreign ACCEPT before it" {
		assert.Contains(t, missing, one.Rule, "%s, and not named as missing: %s", one.what, one.Rule)
	} else {
		own := one.Rule
		own.Text = one.lines[0]
		assert.Contains(t, foreign, own, "%s, and not named as foreign: %s", one.what, own)
	}
	for _, f := range e.report.Findings {
		assert.NotEmpty(t, f.Clauses)
		assert.True(t, f.Heals, "%s, and kube-proxy would not fix it: %s", one.what, one.Rule)
	}
}

// named are the rules that a report names.
func named(r *Report) (missing, foreign []Rule) {
	for _, f := range r.Findings {
		missing, foreign = append(missing, f.Missing...), append(foreign, f.Foreign...)
	}
	for _, list := range [][]Rule{missing, foreign} {
		for i := range list {
			list[i].Why = ""
		}
	}
	return missing, foreign
}

// replaced is a snapshot with other lines in the place of a rule.
func replaced(t *testing.T, taken *snapshot.NodeSnapshot, r Rule, lines []string) *snapshot.NodeSnapshot {
	own := *taken
	own.IPTables = slices.Clone(taken.IPTables)
	for i := range own.IPTables {
		if own.IPTables[i].Family != r.Family {
			continue
		}
		var out []string
		table, found := "", false
		for line := range strings.Lines(own.IPTables[i].Save) {
			line = strings.TrimRight(line, "\n")
			if name, ok := strings.CutPrefix(line, "*"); ok {
				table = name
			}
			_, text, counted := strings.Cut(line, "] ")
			if counted && text == r.Text && table == r.Table {
				found = true
				out = append(out, lines...)
				continue
			}
			out = append(out, line)
		}
		require.True(t, found, r)
		own.IPTables[i].Save = strings.Join(out, "\n") + "\n"
	}
	return &own
}
