package fakeipt_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// factOf is what a rule in the chain A of a table means.
func factOf(t *testing.T, table, rule string) netfilter.Fact {
	t.Helper()
	text := fmt.Sprintf("*%s\n:A - [0:0]\n:B - [0:0]\n-A A %s\nCOMMIT\n", table, rule)
	kernel, err := fakeipt.LoadSave(netfilter.IPv4, netfilter.Legacy, "rules", strings.NewReader(text))
	require.NoError(t, err)
	rules := kernel.Ruleset(netfilter.IPv4).View()
	chain, there := rules.Table(table).Chain("A")
	require.True(t, there)
	require.Equal(t, 1, chain.Len())
	assert.Equal(t, kernel.Ruleset(netfilter.IPv4).Table(table).Chain("A").Rules[0], chain.Handle(0))
	return chain.Fact(0)
}

func TestFactOfARule(t *testing.T) {
	address := netip.MustParseAddr
	for _, row := range []struct {
		name, table, rule string
		want              netfilter.Fact
	}{
		{"no target", "filter", "", netfilter.Fact{}},
		{"a verdict", "filter", "-j DROP", netfilter.Fact{Verdict: netfilter.Drop}},
		{"the end of a chain", "filter", "-j RETURN", netfilter.Fact{Verdict: netfilter.Return}},
		{"a jump", "filter", "-j B", netfilter.Fact{Jump: "B"}},
		{"a goto", "filter", "-g B", netfilter.Fact{Jump: "B", Goto: true}},
		{"a comment that looks like a target", "filter", `-m comment --comment "moved from -j DROP" -j ACCEPT`,
			netfilter.Fact{Comment: "moved from -j DROP", Verdict: netfilter.Accept}},
		{"a comment with quotes", "filter", `-m comment --comment "say \"-j ACCEPT\" \\ here" -j DROP`,
			netfilter.Fact{Comment: `say "-j ACCEPT" \ here`, Verdict: netfilter.Drop}},
		{"two comments", "filter", `-m comment --comment cali:abc -m comment --comment "of a pod"`, netfilter.Fact{Comment: "cali:abc of a pod"}},
		{"an empty comment is a condition", "filter", `-m comment --comment ""`, netfilter.Fact{
			Conditions: netfilter.Conditions{Others: []string{"comment"}}}},
		{"plain conditions", "filter", "-s 10.0.0.0/8 -d 10.1.0.1 -i eth0 -o eth1 -p tcp -m tcp --dport 22 " +
			"-m conntrack --ctstate ESTABLISHED,RELATED",
			netfilter.Fact{Conditions: netfilter.Conditions{
				Src: netip.MustParsePrefix("10.0.0.0/8"), Dst: netip.MustParsePrefix("10.1.0.1/32"), In: "eth0", Out: "eth1", Protocol: 6,
				DstPorts: netfilter.PortRange{Min: 22, Max: 22}, States: []string{"RELATED", "ESTABLISHED"},
			}}},
		{"a range of ports", "filter", "-p udp --dport 53:60", netfilter.Fact{Conditions: netfilter.Conditions{
			Protocol: 17, DstPorts: netfilter.PortRange{Min: 53, Max: 60}}}},
		{"port 0 is a port", "filter", "-p udp --dport 0", netfilter.Fact{
			Conditions: netfilter.Conditions{Protocol: 17, Others: []string{"ports"}}}},
		{"conditions the other way round", "filter", "! -s 10.0.0.0/8 ! -d 10.1.0.1 ! -i eth0 ! -o eth1 ! -p tcp ! -f", netfilter.Fact{
			Conditions: netfilter.Conditions{Others: []string{"source", "destination", "in", "out", "protocol", "fragment"}}}},
		{"odd conditions", "filter", "-s 10.0.0.1/255.0.0.255 -i eth+ -p tcp --syn", netfilter.Fact{
			Conditions: netfilter.Conditions{Protocol: 6, Others: []string{"source", "in", "tcp"}}}},
		{"states that a connection must not have", "filter", "-m conntrack ! --ctstate NEW -m state ! --state NEW", netfilter.Fact{
			Conditions: netfilter.Conditions{Others: []string{"conntrack", "state"}}}},
		{"chance", "filter", "-m statistic --mode random --probability 0.5", netfilter.Fact{
			Conditions: netfilter.Conditions{Chance: true, Others: []string{"statistic"}}}},
		{"one of some is no chance", "filter", "-m statistic --mode nth --every 2 --packet 0", netfilter.Fact{
			Conditions: netfilter.Conditions{Others: []string{"statistic"}}}},
		{"a list that is read", "filter", "-m recent --rcheck --seconds 10 --name L --rsource", netfilter.Fact{
			Conditions: netfilter.Conditions{Others: []string{"recent"}},
			Memories:   []netfilter.Memory{{Kind: netfilter.Recent, Name: "L", Reads: true, Within: 10 * time.Second}}}},
		{"a list that is written", "filter", "-m recent --set --name L", netfilter.Fact{
			Conditions: netfilter.Conditions{Others: []string{"recent"}},
			Memories:   []netfilter.Memory{{Kind: netfilter.Recent, Name: "L", Writes: true}}}},
		{"a list that is renewed", "filter", "-m recent --update --name L", netfilter.Fact{
			Conditions: netfilter.Conditions{Others: []string{"recent"}},
			Memories:   []netfilter.Memory{{Kind: netfilter.Recent, Name: "L", Reads: true, Writes: true}}}},
		{"a list that loses", "filter", "-m recent --remove --name L", netfilter.Fact{
			Conditions: netfilter.Conditions{Others: []string{"recent"}},
			Memories:   []netfilter.Memory{{Kind: netfilter.Recent, Name: "L", Reads: true, Removes: true}}}},
		{"accounting", "filter", "-m nfacct --nfacct-name x", netfilter.Fact{
			Conditions: netfilter.Conditions{Others: []string{"nfacct"}},
			Memories:   []netfilter.Memory{{Kind: netfilter.Accounting, Name: "x", Writes: true}}}},
		{"DNAT", "nat", "-p tcp -j DNAT --to-destination 10.0.0.1-10.0.0.2:80-90", netfilter.Fact{
			Conditions: netfilter.Conditions{Protocol: 6}, Translation: netfilter.Translation{Kind: netfilter.DNAT, Of: netfilter.Destination,
				MinAddr: address("10.0.0.1"), MaxAddr: address("10.0.0.2"), MinPort: 80, MaxPort: 90}}},
		{"SNAT", "nat", "-j SNAT --to-source 10.0.0.1", netfilter.Fact{Translation: netfilter.Translation{
			Kind: netfilter.SNAT, Of: netfilter.Source, MinAddr: address("10.0.0.1"), MaxAddr: address("10.0.0.1")}}},
		{"masquerade", "nat", "-j MASQUERADE --random-fully", netfilter.Fact{
			Translation: netfilter.Translation{Kind: netfilter.Masquerade, Of: netfilter.Source}}},
		{"redirect", "nat", "-p tcp -j REDIRECT --to-ports 81", netfilter.Fact{Conditions: netfilter.Conditions{Protocol: 6},
			Translation: netfilter.Translation{Kind: netfilter.Redirect, Of: netfilter.Destination, MinPort: 81, MaxPort: 81}}},
		{"NETMAP", "nat", "-j NETMAP --to 10.7.0.0/16", netfilter.Fact{Translation: netfilter.Translation{
			Kind: netfilter.Netmap, MinAddr: address("10.7.0.0"), MaxAddr: address("10.7.255.255")}}},
		{"REJECT", "filter", "-p tcp -j REJECT --reject-with tcp-reset", netfilter.Fact{
			Conditions: netfilter.Conditions{Protocol: 6}, Reject: "tcp-reset"}},
		{"a mark", "mangle", "-j MARK --set-xmark 0x4000/0x4000", netfilter.Fact{Mark: &netfilter.Mark{Value: 0x4000, Mask: 0x4000}}},
		{"another target and another match", "filter", "-m limit --limit 1/s -j LOG", netfilter.Fact{
			Conditions: netfilter.Conditions{Others: []string{"limit"}}, Other: "LOG"}},
		{"unknown extensions", "filter", "-m nowhere --odd 1 -j NOBODY", netfilter.Fact{
			Conditions: netfilter.Conditions{Others: []string{"nowhere"}}, Other: "NOBODY", Opaque: true}},
	} {
		t.Run(row.name, func(t *testing.T) { assert.Equal(t, row.want, factOf(t, row.table, row.rule)) })
	}
}

// TestFactOfSets reads a rule that asks a set, and one that changes it: sets have to be there first.
func TestFactOfSets(t *testing.T) {
	kernel := fakeipt.New(fakeipt.Options{})
	require.NoError(t, kernel.LoadSets("sets", strings.NewReader("create s hash:ip\n")))
	text := "*filter\n-A INPUT -m set --match-set s src -j SET --add-set s src\n-A INPUT -j SET --del-set s src\nCOMMIT\n"
	require.NoError(t, kernel.Load(netfilter.IPv4, "rules", strings.NewReader(text)))
	rules := kernel.Ruleset(netfilter.IPv4).View()
	input, _ := rules.Table("filter").Chain("INPUT")
	assert.Equal(t, netfilter.Fact{Conditions: netfilter.Conditions{Others: []string{"set"}}, Other: "SET", Memories: []netfilter.Memory{
		{Kind: netfilter.Set, Name: "s", Reads: true}, {Kind: netfilter.Set, Name: "s", Writes: true}}}, input.Fact(0))
	assert.Equal(t, []netfilter.Memory{{Kind: netfilter.Set, Name: "s", Removes: true}}, input.Fact(1).Memories)
}

// TestViewOfARuleset looks at tables and chains in netfilter's words, and finds out what a commit has left alone.
func TestViewOfARuleset(t *testing.T) {
	kernel, err := fakeipt.LoadSave(netfilter.IPv4, netfilter.NFT, "rules", strings.NewReader(
		"*filter\n:FORWARD DROP [0:0]\n:A - [0:0]\n:B - [0:0]\n[3:180] -A FORWARD -j B\n-A A -j ACCEPT\nCOMMIT\n*nat\n:C - [0:0]\nCOMMIT\n"))
	require.NoError(t, err)
	before := kernel.Ruleset(netfilter.IPv4).View()
	assert.Equal(t, netfilter.NFT, before.Dialect)
	filter := before.Table("filter")
	assert.Nil(t, before.Table("raw"))
	var chains []string
	for c := range filter.Chains() {
		chains = append(chains, strings.TrimSpace(fmt.Sprintf("%s %s %s", c.Name, c.Hook, c.Policy)))
		for _, rule := range c.All() {
			chains = append(chains, rule.Text)
		}
	}
	want := []string{"INPUT INPUT ACCEPT", "FORWARD FORWARD DROP", "-A FORWARD -j B", "OUTPUT OUTPUT ACCEPT", "A", "-A A -j ACCEPT", "B"}
	assert.Equal(t, want, chains)
	assert.Equal(t, []int{0, 1}, []int{filter.References("A"), filter.References("B")})
	forward, _ := filter.Chain("FORWARD")
	assert.Equal(t, netfilter.Counted{Packets: 3, Bytes: 180}, forward.Counted(0))

	require.Zero(t, kernel.Run([]string{"iptables", "-A", "A", "-j", "DROP"}, nil, nil, nil))
	after := kernel.Ruleset(netfilter.IPv4).View()
	assert.Equal(t, []bool{false, true}, []bool{before.Table("filter") == after.Table("filter"), before.Table("nat") == after.Table("nat")})
	same := func(name string) bool {
		was, _ := filter.Chain(name)
		is, _ := after.Table("filter").Chain(name)
		return was == is
	}
	assert.Equal(t, []bool{true, false, true}, []bool{same("FORWARD"), same("A"), same("B")})
	_, there := filter.Chain("C")
	assert.False(t, there)
}

// TestArgsOfARule has a rule as a command would, and then once more as a line.
func TestArgsOfARule(t *testing.T) {
	kernel, err := fakeipt.LoadSave(netfilter.IPv4, netfilter.Legacy, "rules", strings.NewReader("*filter\n"+
		`-A INPUT -s 10.0.0.0/8 -p tcp -m comment --comment "-j \"DROP\"" -m tcp --dport 22 `+
		`-m comment --comment x -j LOG --log-prefix "a \"b\" "`+"\nCOMMIT\n"))
	require.NoError(t, err)
	rules := kernel.Ruleset(netfilter.IPv4).View()
	input, _ := rules.Table("filter").Chain("INPUT")
	args := input.Args(0, false)
	assert.Equal(t, []string{"-s", "10.0.0.0/8", "-p", "tcp", "-m", "tcp", "--dport", "22", "-j", "LOG", "--log-prefix", `a "b" `}, args)
	assert.Equal(t, ` -s 10.0.0.0/8 -p tcp -m tcp --dport 22 -j LOG --log-prefix "a \"b\" "`, xtables.QuoteArgs(args))
}
