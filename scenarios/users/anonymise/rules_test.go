package anonymise

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
)

// renamedNode is a snapshot with other names, and what renamed it.
func renamedNode(t require.TestingT, node *snapshot.NodeSnapshot) (*snapshot.NodeSnapshot, *Renamer, error) {
	node.Version, node.Hostname = snapshot.Version, "n"
	out, r, err := Of(Key{1}, &Dump{Nodes: []Node{{Name: "n", Snapshot: node, File: "n.yaml"}}})
	if err != nil {
		return nil, nil, err
	}
	var text strings.Builder
	require.NoError(t, out.Nodes[0].Snapshot.Write(&text, snapshot.YAML))
	read, err := snapshot.Read("n.yaml", strings.NewReader(text.String()))
	require.NoError(t, err)
	_, err = read.Rulesets()
	require.NoError(t, err, "%s", &text)
	return read, r, nil
}

// TestRulesBecomeOthers holds what becomes of the words of rules. Words in angle brackets are renamed.
func TestRulesBecomeOthers(t *testing.T) {
	for _, row := range []struct{ old, want string }{
		{"-s 10.1.2.3/32 ! -d 10.1.0.0/16 -i eth0 -p tcp -j DROP", "-s <10.1.2.3>/32 ! -d <10.1.0.0/16> -i eth0 -p tcp -j DROP"},
		{"-i acme0 -o cali+ -j ACCEPT", "-i <acme0> -o cali+ -j ACCEPT"},
		{"-m comment --comment \"acme only\" -j ACCEPT", "-m comment --comment comment1 -j ACCEPT"},
		{"-m comment --comment a -m comment --comment b -j ACCEPT", "-m comment --comment comment1 -j ACCEPT"},
		{"-j ACME", "-j CHAIN1"},
		{"-g ACME", "-g CHAIN1"},
		{"-j LOG --log-prefix \"acme: \" --log-level 4", "-j LOG --log-prefix text1"},
		{"-m string --string acme --algo bm --to 999 -j DROP", "-m string --string text1 --algo bm --to 999 -j DROP"},
		{"-m mac --mac-source 02:42:ac:12:00:03 -j DROP", "-m mac --mac-source <02:42:ac:12:00:03> -j DROP"},
		{"-m iprange --src-range 10.1.2.3-10.1.9.4 -j DROP", "-m iprange --src-range <10.1.2.3>-<10.1.9.4> -j DROP"},
		{"-m recent --set --name acme --mask 255.255.255.255 --rsource", "-m recent --set --name list1 --mask 255.255.255.255 --rsource"},
		{"-p tcp -m tcp --dport 80 --tcp-flags SYN,ACK SYN -j REJECT --reject-with tcp-reset",
			"-p tcp -m tcp --dport 80 --tcp-flags SYN,ACK SYN -j REJECT --reject-with tcp-reset"},
		{"-m geoip ! --source-country DE -j DROP", "-m geoip -j DROP"},
		{"-m conntrack --ctstate NEW --ctorigdst 10.1.2.3 -j DROP", "-m conntrack --ctstate NEW --ctorigdst <10.1.2.3> -j DROP"},
		{"-m hashlimit --hashlimit-upto 5/sec --hashlimit-burst 5 --hashlimit-mode srcip --hashlimit-name acme -j ACCEPT",
			"-m hashlimit --hashlimit-upto 5/sec --hashlimit-burst 5 --hashlimit-mode srcip --hashlimit-name name1 -j ACCEPT"},
	} {
		t.Run(row.old, func(t *testing.T) {
			out, r, err := renamedNode(t, &snapshot.NodeSnapshot{IPTables: []snapshot.Rules{{Dialect: netfilter.Legacy, Family: netfilter.IPv4,
				Save: "*filter\n:FORWARD ACCEPT [1:2]\n:ACME - [0:0]\n[3:4] -A FORWARD " + row.old + "\nCOMMIT\n"}}})
			require.NoError(t, err)
			words := strings.FieldsFunc(row.want, func(c rune) bool { return c == '<' || c == '>' })
			for i := 1; i < len(words) && strings.Contains(row.want, "<"); i += 2 {
				words[i] = map[bool]string{true: r.mac(words[i]), false: r.Text(words[i])}[strings.Count(words[i], ":") == 5]
				if strings.HasPrefix(words[i], "unknown") || words[i] == "" {
					words[i] = r.Device("acme0")
				}
			}
			want := "*filter\n:FORWARD ACCEPT [1:2]\n:CHAIN1 - [0:0]\n[3:4] -A FORWARD " + strings.Join(words, "") + "\nCOMMIT\n"
			assert.Equal(t, want, out.IPTables[0].Save)
			assert.NotContains(t, strings.ToLower(out.IPTables[0].Save), "acme")
		})
	}
}

// TestRulesOfTranslation holds that what addresses are translated to keeps its form, in both families.
func TestRulesOfTranslation(t *testing.T) {
	r := &Renamer{disguise: disguise{key: Key{1}}}
	v4, v6 := r.Text("10.1.2.3"), r.Text("fd00:1::3")
	for old, want := range map[string]string{
		"10.1.2.3": v4, "10.1.2.3:80": v4 + ":80", "10.1.2.3-10.1.2.9:80-90": v4 + "-" + r.Text("10.1.2.9") + ":80-90", ":80": ":80",
		"fd00:1::3": v6, "[fd00:1::3]:80": "[" + v6 + "]:80", "[fd00:1::3-fd00:1::9]:80": "[" + v6 + "-" + r.Text("fd00:1::9") + "]:80",
	} {
		got, err := nodeRenamer{r}.natRange(old)
		require.NoError(t, err, old)
		assert.Equal(t, want, got, old)
	}
}

// TestRulesThatMayHoldAnything are refused with their line.
func TestRulesThatMayHoldAnything(t *testing.T) {
	for rule, want := range map[string]string{
		"-m u32 --u32 0xc=0xa600001 -j DROP": "--u32 may hold a name or an address",
		"-s 10.0.1.0/255.0.255.0 -j DROP":    "an address under a mask that is no prefix",
		"-m bpf --bytecode \"1,6 0 0 0\"":    "--bytecode may hold a name or an address",
	} {
		_, _, err := renamedNode(t, &snapshot.NodeSnapshot{IPTables: []snapshot.Rules{{Dialect: netfilter.Legacy, Family: netfilter.IPv4,
			Save: "*filter\n:FORWARD ACCEPT [1:2]\n-A FORWARD -j ACCEPT\n-A FORWARD " + rule + "\nCOMMIT\n"}}})
		require.ErrorContains(t, err, "n.yaml: iptables[0].save: line 4: ", rule)
		require.ErrorContains(t, err, want, rule)
	}
}

// TestRangesStayRanges holds, for a renamer that has met a range, that what was in it still is, and nothing else gets in.
func TestRangesStayRanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v6 := rapid.Bool().Draw(t, "IPv6")
		first, last, other := drawOfFamily(t, "first", v6), drawOfFamily(t, "last", v6), drawOfFamily(t, "other", v6)
		if last.Less(first) {
			first, last = last, first
		}
		d := disguise{key: drawKey(t)}
		d.keepRange(first, last)
		assert.Equal(t, !other.Less(first) && !last.Less(other),
			!d.address(other).Less(d.address(first)) && !d.address(last).Less(d.address(other)))
	})
}

// TestDevicesOfAWildcardAreTheSame holds that a name begins with another one after as before, and that no two become one.
func TestDevicesOfAWildcardAreTheSame(t *testing.T) {
	letters := rapid.StringOfN(rapid.RuneFrom([]rune("aebhtvcl019.-")), 1, 15, -1)
	rapid.Check(t, func(t *rapid.T) {
		d := disguise{key: drawKey(t)}
		a, b := letters.Draw(t, "a"), letters.Draw(t, "b")
		assert.Equal(t, strings.HasPrefix(a, b), strings.HasPrefix(d.device(a), d.device(b)))
		assert.Equal(t, a == b, d.device(a) == d.device(b))
	})
	d := disguise{key: Key{1}}
	for _, name := range []string{"lo", "eth0", "eth1.100", "ens192", "enp0s31f6", "docker0", "cni0", "flannel.1", "cilium_host",
		"kube-ipvs0", "tunl0"} {
		assert.Equal(t, name, d.device(name))
	}
	for _, name := range []string{"vethb246c797", "cali0123abcd", "br-1a2b3c4d5e6f", "enx0242ac120003", "acme"} {
		assert.NotEqual(t, name, d.device(name))
		assert.Len(t, d.device(name), len(name))
	}
	assert.True(t, strings.HasPrefix(d.device("vethb246c797"), "veth"))
}
