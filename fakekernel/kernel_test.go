package fakekernel

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "github.com/chainwalk/chainwalk/internal/garbage"
	"github.com/chainwalk/chainwalk/netfilter"
)

func ExampleNew() {
	kernel := New(Options{Dialect: netfilter.NFT})
	out, err := kernel.Exec().Command("iptables", "-A", "INPUT", "-p", "tcp", "--dport", "22", "-j", "ACCEPT").CombinedOutput()
	fmt.Println(string(out), err)
	rules := kernel.Rules(netfilter.IPv4)
	for chain := range rules.Table("filter").Chains() {
		for _, rule := range chain.All() {
			fmt.Println(rule.Text, rule.Fact.Conditions.DstPorts, rule.Fact.Verdict)
		}
	}
	// Output:
	//  <nil>
	// -A INPUT -p tcp -m tcp --dport 22 -j ACCEPT {22 22} ACCEPT
}

func run(t *testing.T, k *Kernel, line string) string {
	t.Helper()
	words := strings.Fields(line)
	out, err := k.Exec().Command(words[0], words[1:]...).CombinedOutput()
	require.NoError(t, err, "%s: %s", line, out)
	return string(out)
}

func TestToolsOfBothDialectsHaveRulesOfTheirOwn(t *testing.T) {
	for _, first := range netfilter.Dialects() {
		k := New(Options{Dialect: first, Both: true})
		assert.Equal(t, first, k.Dialect())
		run(t, k, "iptables -N FIRST")
		run(t, k, fmt.Sprintf("iptables-%s -N OTHER", first.Other()))
		assert.Contains(t, run(t, k, fmt.Sprintf("iptables-%s -S", first)), "-N FIRST\n")
		assert.NotContains(t, run(t, k, "iptables -S"), "OTHER")
		rules := k.Rules(netfilter.IPv4)
		_, there := rules.Table("filter").Chain("FIRST")
		assert.True(t, there)
		assert.Equal(t, first, rules.Dialect)
	}
}

func TestAKernelOfANamespaceIsTheOneThatCameFirst(t *testing.T) {
	assert.Nil(t, Of(netfilter.New(nil)))
	assert.Nil(t, Of(nil))
	k := New(Options{Dialect: netfilter.NFT})
	run(t, k, "iptables -N MINE")
	k.Add(netfilter.NFT)
	k.Add(netfilter.Legacy)
	k.Add(netfilter.Legacy)
	assert.Len(t, k.Namespace().Tools(), 2)
	again := Of(k.Namespace())
	assert.Equal(t, netfilter.NFT, again.Dialect())
	assert.Contains(t, run(t, again, "iptables -S"), "-N MINE\n")
}

func TestToolsWaitInVainForALockThatIsHeld(t *testing.T) {
	lock := &Lock{}
	k := New(Options{Lock: lock})
	release, err := lock.Hold()
	require.NoError(t, err)
	out, err := k.Exec().Command("iptables", "-w", "5", "-N", "MINE").CombinedOutput()
	require.EqualError(t, err, "exit status 4")
	assert.Contains(t, string(out), "Another app is currently holding the xtables lock. Stopped waiting after 5s.\n")
	run(t, k, "iptables -w -N ENDLESS") // it would never come back
	release()
	run(t, k, "iptables -w 5 -N MINE")
}

func TestSavesAreRead(t *testing.T) {
	const save = "*filter\n:INPUT DROP [3:180]\n:MINE - [0:0]\n[2:120] -A MINE -j RETURN\nCOMMIT\n"
	for _, family := range netfilter.Families() {
		for _, dialect := range netfilter.Dialects() {
			rules, err := ReadSave("rules", save, family, dialect)
			require.NoError(t, err)
			filter := rules.Table("filter")
			assert.Equal(t, netfilter.Counted{Packets: 3, Bytes: 180}, filter.PolicyCounted("INPUT"))
			assert.Zero(t, filter.PolicyCounted("MINE"))
			assert.Zero(t, filter.PolicyCounted("NONE"))
			mine, there := filter.Chain("MINE")
			require.True(t, there)
			assert.Equal(t, netfilter.Counted{Packets: 2, Bytes: 120}, mine.Counted(0))
			assert.Equal(t, "-A OTHER -j RETURN", AppendedRule("OTHER", mine.Args(0, true)))
		}
	}
	_, err := ReadSave("rules", "*filter\n-A INPUT --nosuch\nCOMMIT\n", netfilter.IPv4, netfilter.Legacy)
	require.ErrorContains(t, err, "rules:2:")
	k, err := LoadTexts("rules", SaveTexts(save), netfilter.IPv6)
	require.NoError(t, err)
	assert.Empty(t, k.Rules(netfilter.IPv4).Tables)
	assert.Len(t, k.Rules(netfilter.IPv6).Tables, 1)
	_, err = LoadTexts("rules", SaveTexts("*filter\n-A INPUT --nosuch\nCOMMIT\n"), netfilter.IPv4)
	require.ErrorContains(t, err, "rules:2:")
}

func TestSavesAreRestoredOneAfterTheOther(t *testing.T) {
	saves := []string{"*filter\n:MINE - [0:0]\n-A MINE -j ACCEPT\nCOMMIT\n", "*filter\n-A MINE -j DROP\nCOMMIT\n"}
	for _, family := range netfilter.Families() {
		rules, err := RestoreSaves(saves, family)
		require.NoError(t, err)
		mine, there := rules.Table("filter").Chain("MINE")
		require.True(t, there)
		assert.Equal(t, 2, mine.Len())
	}
	_, err := RestoreSaves(saves[1:], netfilter.IPv6)
	require.ErrorContains(t, err, "ip6tables-restore: exit status 1: ")
}

func TestLinesSayWhatTheyMean(t *testing.T) {
	const save = "# head\n*nat\n:PREROUTING ACCEPT [0:0]\n:MINE - [0:0]\n-A PREROUTING -j MINE\n" +
		"[1:60] -A MINE -p tcp -j DNAT --to-destination 10.0.0.1:80\n" +
		"-A MINE -j RETURN\nCOMMIT\n"
	lines, err := Lines("rules", save, netfilter.IPv4, netfilter.NFT)
	require.NoError(t, err)
	var said []string
	for _, l := range lines {
		what := "nothing"
		if l.Fact != nil {
			what = fmt.Sprint(l.Fact.Jump, l.Fact.Verdict, l.Fact.Translation.Kind)
		}
		said = append(said, strings.Join([]string{l.Table, l.Chain, what}, "|"))
	}
	assert.Equal(t, []string{
		"||nothing", "nat||nothing", "nat|PREROUTING|nothing", "nat|MINE|nothing", "nat|PREROUTING|MINE", "nat|MINE|dnat", "nat|MINE|RETURN",
		"nat||nothing",
	}, said)
	assert.Equal(t, "[1:60] -A MINE -p tcp -j DNAT --to-destination 10.0.0.1:80", lines[5].Text)
	_, err = Lines("rules", "*nat\n-A NONE -j RETURN\nCOMMIT\n", netfilter.IPv4, netfilter.NFT)
	require.ErrorContains(t, err, "rules:2:")
}

func TestNftIsOneOfTheTools(t *testing.T) {
	k := New(Options{})
	run(t, k, "iptables -N MINE")
	run(t, k, "nft add table ip t")
	assert.Equal(t, "table ip t\n", run(t, k, "/usr/sbin/nft list tables"))
	assert.Equal(t, "table ip t\n", run(t, Of(k.Namespace()), "nft list tables"), "what it has made is the namespace's")
	path, err := k.Exec().LookPath("nft")
	require.NoError(t, err)
	assert.Equal(t, "/usr/sbin/nft", path)
}
