package fakeipt

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/chainwalk/chainwalk/fakeipt/match"
	"github.com/chainwalk/chainwalk/fakeipt/ruleset"
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// opaqueRules are rules that iptables-save prints where xtables-addons are, or newer tools; %s is an address with the length of a prefix.
var opaqueRules = []string{
	`-A INPUT -m geoip --source-country DE,FR -j ACCEPT`,
	`-A INPUT -p tcp -m tcp --dport 22 -m geoip ! --source-country DE  -j DROP`,
	`-A INPUT -s %s -i eth0 -p udp -m condition --condition "night shift" -m udp --dport 53 -j USERS`,
	`-A INPUT -p tcp -m ipp2p --bit --edk -j DROP`,
	`-A INPUT -m iface --iface eth0 --dev-in --up`,
	`-A INPUT -p tcp -m tcp --dport 25 -j TARPIT --tarpit`,
	`-A INPUT -j LOGMARK --log-level 4 --log-prefix "a \"mark\" "`,
	`-A INPUT -p tcp -j DELUDE`,
	`-A INPUT -m fuzzy --lower-limit -5 --upper-limit 7 -m comment --comment "-j DROP" -g USERS`,
	`-A INPUT -m geoip --source-country "-j" -m mark --mark 0x1`,
	`-A USERS -m psd --psd-weight-threshold 21 -m lscan ! --stealth -j RETURN`,
	`-A USERS -m recent [unsupported revision] -j DROP`,
	`-A USERS -j MARK [unsupported revision]`,
	`-A USERS -p tcp -m tcp --dport 80 -m quota2 ! --name "a b" -j ACCEPT`,
}

func opaqueDump(f netfilter.Family, counters string) string {
	addr := map[netfilter.Family]string{netfilter.IPv4: "10.0.0.0/8", netfilter.IPv6: "fd00::/8"}[f]
	var b strings.Builder
	b.WriteString("*filter\n:INPUT ACCEPT [1:2]\n:FORWARD ACCEPT [0:0]\n:OUTPUT ACCEPT [0:0]\n:USERS - [0:0]\n")
	for _, rule := range opaqueRules {
		b.WriteString(counters + strings.ReplaceAll(rule, "%s", addr) + "\n")
	}
	return b.String() + "COMMIT\n"
}

// TestOpaqueRulesAreKeptWordByWord: a rule with an unknown extension is saved as it was loaded, byte for byte, and told apart from
// the rest.
func TestOpaqueRulesAreKeptWordByWord(t *testing.T) {
	for _, d := range []netfilter.Dialect{netfilter.Legacy, netfilter.NFT} {
		for _, f := range []netfilter.Family{netfilter.IPv4, netfilter.IPv6} {
			for _, counters := range []string{"", "[7:420] "} {
				text := opaqueDump(f, counters)
				k, err := LoadSave(f, d, "dump", strings.NewReader(text))
				require.NoError(t, err)
				var got bytes.Buffer
				require.NoError(t, saveAll(k.Ruleset(f), &got, ruleset.SaveOptions{Counters: counters != ""}))
				assert.Equal(t, text, got.String())
				filter := k.Ruleset(f).Table("filter")
				assert.Equal(t, 2, filter.References("USERS"))
				line := 6
				for _, chain := range []string{"INPUT", "USERS"} {
					for _, r := range filter.Chain(chain).Rules {
						require.NotNil(t, r.Opaque(), line)
						assert.Equal(t, xtables.OpaqueRule{Text: strings.TrimPrefix(r.Text(chain, f, d), "-A "+chain+" "), Source: "dump", Line: line},
							*r.Opaque())
						line++
					}
				}
			}
		}
	}
}

func TestOpaqueRulesHaveTheirKnownParts(t *testing.T) {
	k, err := LoadSave(netfilter.IPv4, netfilter.Legacy, "dump", strings.NewReader(opaqueDump(netfilter.IPv4, "")))
	require.NoError(t, err)
	rules := k.Ruleset(netfilter.IPv4).Table("filter").Chain("INPUT").Rules
	r := rules[2]
	assert.Equal(t, "10.0.0.0", r.Src.Addr.String())
	assert.Equal(t, "eth0", r.In.Name)
	require.Len(t, r.Matches, 2)
	assert.Equal(t, &xtables.OpaqueMatch{Extension: "condition", Rule: r.Opaque()}, r.Matches[0])
	assert.Equal(t, xtables.PortRange{Min: 53, Max: 53}, r.Matches[1].(*match.UDP).DstPorts)
	assert.Equal(t, &xtables.Jump{Chain: "USERS"}, r.Target)
	assert.Equal(t, &xtables.OpaqueTarget{Extension: "TARPIT", Rule: rules[5].Opaque()}, rules[5].Target)
	require.Len(t, rules[5].Matches, 1, "the protocol's match is not loaded for an option that it has not")
	assert.Equal(t, []xtables.Match{&xtables.OpaqueMatch{Extension: "fuzzy", Rule: rules[8].Opaque()}, &match.Comment{Text: "-j DROP"}},
		rules[8].Matches)
	assert.Equal(t, &xtables.Jump{Chain: "USERS", Goto: true}, rules[8].Target)
	require.Len(t, rules[9].Matches, 2)
	assert.Nil(t, rules[9].Target, "a word in quotes is no option")
	users := k.Ruleset(netfilter.IPv4).Table("filter").Chain("USERS").Rules
	require.Len(t, users[0].Matches, 2)
	assert.Equal(t, "lscan", users[0].Matches[1].Name())
	assert.Equal(t, &xtables.OpaqueMatch{Extension: "recent", Rule: users[1].Opaque()}, users[1].Matches[0])
	assert.Equal(t, &xtables.OpaqueTarget{Extension: "MARK", Rule: users[2].Opaque()}, users[2].Target)
}

// TestToolsRefuseOpaqueRules: the tools behave as on a machine without the extension, whatever was loaded.
func TestToolsRefuseOpaqueRules(t *testing.T) {
	for _, d := range []netfilter.Dialect{netfilter.Legacy, netfilter.NFT} {
		k, err := LoadSave(netfilter.IPv4, d, "dump", strings.NewReader(opaqueDump(netfilter.IPv4, "")))
		require.NoError(t, err)
		for _, rule := range opaqueRules {
			if strings.Contains(rule, "-g USERS") || strings.Contains(rule, "-j USERS") {
				continue
			}
			var stderr bytes.Buffer
			input := "*filter\n:USERS - [0:0]\n" + strings.ReplaceAll(rule, "%s", "10.0.0.0/8") + "\nCOMMIT\n"
			assert.NotZero(t, New(Options{Dialect: d}).Run([]string{"iptables-restore"}, strings.NewReader(input), &bytes.Buffer{}, &stderr), rule)
			assert.NotEmpty(t, stderr.String())
		}
		run := func(argv ...string) (string, int) {
			var out bytes.Buffer
			status := k.Run(argv, nil, &out, &out)
			return out.String(), status
		}
		out, status := run("iptables", "-A", "INPUT", "-m", "geoip", "--source-country", "DE")
		assert.Equal(t, xtables.StatusParameter, status)
		assert.Contains(t, out, "Couldn't load match `geoip'")
		out, _ = run("iptables", "-S", "INPUT")
		assert.Contains(t, out, "\n"+opaqueRules[0]+"\n")
		out, _ = run("iptables", "-nL", "INPUT")
		assert.Contains(t, out, "UNKNOWN match `geoip' ")
		assert.Contains(t, out, "UNKNOWN target `TARPIT' ")
		out, status = run("iptables", "-D", "INPUT", "1")
		assert.Zero(t, status, out)
		out, _ = run("iptables-save")
		assert.NotContains(t, out, opaqueRules[0])
		assert.Contains(t, out, opaqueRules[1])
	}
}

// TestOpaqueRulesOfTheNFTTools: what iptables-nft-save says of tables that are not its own does not hold up a dump.
func TestOpaqueRulesOfTheNFTTools(t *testing.T) {
	text := "# Generated by iptables-nft-save v1.8.9 (nf_tables) on Thu Jan  1 00:00:00 2026\n*nat\n:PREROUTING ACCEPT [0:0]\n" +
		"-A PREROUTING -m geoip --source-country DE -j DNAT --to-destination 10.0.0.1\nCOMMIT\n# Completed on Thu Jan  1 00:00:00 2026\n" +
		"# Table `filter' is incompatible, use 'nft' tool.\n# Warning: iptables-legacy tables present, use iptables-legacy-save to see them\n"
	k, err := LoadSave(netfilter.IPv4, netfilter.NFT, "dump", strings.NewReader(text))
	require.NoError(t, err)
	require.Len(t, k.Ruleset(netfilter.IPv4).Tables(), 1)
	assert.Equal(t, 4, k.Ruleset(netfilter.IPv4).Table("nat").Chain("PREROUTING").Rules[0].Opaque().Line)
}

func TestOpaqueRulesThatAreNotTaken(t *testing.T) {
	for name, rule := range map[string]string{
		"words before the chain":            "-m geoip --source-country DE -A INPUT",
		"several addresses":                 "-A INPUT -s 10.0.0.1,10.0.0.2 -m geoip --source-country DE",
		"several addresses, foreign target": "-A INPUT -s 10.0.0.1,10.0.0.2 -j TARPIT --tarpit",
		"an option of a chain":              "-A INPUT -j USERS --tarpit",
		"goto what is not there":            "-A INPUT -g TARPIT",
		"an unknown option":                 "-A INPUT -p tcp --foreign",
		"an unknown option of a known one":  "-A INPUT -m mark --mark 1 --foreign",
		"no name":                           "-A INPUT -m",
	} {
		_, err := LoadSave(netfilter.IPv4, netfilter.Legacy, "dump", strings.NewReader("*filter\n:USERS - [0:0]\n"+rule+"\nCOMMIT\n"))
		var parse *ParseError
		require.ErrorAs(t, err, &parse, name)
		assert.Equal(t, 3, parse.Line, name)
	}
}

// TestOptionOfAProtocolBehindAChain: a rule that was typed need not have the order of iptables-save.
func TestOptionOfAProtocolBehindAChain(t *testing.T) {
	k, err := LoadSave(netfilter.IPv4, netfilter.Legacy, "typed",
		strings.NewReader("*filter\n:USERS - [0:0]\n-A INPUT -p tcp -j USERS --dport 80\nCOMMIT\n"))
	require.NoError(t, err)
	assert.Equal(t, "-A INPUT -p tcp -m tcp --dport 80 -j USERS", k.Ruleset(netfilter.IPv4).Table("filter").Chain("INPUT").Rules[0].
		Text("INPUT", netfilter.IPv4, netfilter.Legacy))
}

// anywhere makes the words behind the chain of an opaque rule good for each chain of each table.
var anywhere = strings.NewReplacer("-j DROP", "-j ACCEPT", "-j USERS", "-j ACCEPT", "-g USERS", "-j ACCEPT", "-i eth0 ", "",
	"-A INPUT ", "", "-A USERS ", "")

// TestOpaqueRulesAmongOthers: loading and saving a dump with opaque rules anywhere in it changes nothing.
func TestOpaqueRulesAmongOthers(t *testing.T) {
	for _, d := range []netfilter.Dialect{netfilter.Legacy, netfilter.NFT} {
		rapid.Check(t, func(t *rapid.T) {
			k := New(Options{Dialect: d})
			require.NoError(t, k.Namespace().Accounts().Add("there"))
			require.NoError(t, k.LoadSets("sets", strings.NewReader(genSets)))
			k.Run([]string{"iptables-restore"}, strings.NewReader(genRestore(t)), &bytes.Buffer{}, &bytes.Buffer{})
			var b strings.Builder
			for line := range strings.Lines(saved(t, k, netfilter.IPv4)) {
				if words := strings.Fields(line); strings.HasPrefix(line, "[") && rapid.Bool().Draw(t, "opaque") {
					rule := strings.ReplaceAll(rapid.SampledFrom(opaqueRules).Draw(t, "rule"), "%s", "10.0.0.0/8")
					rule = anywhere.Replace(rule)
					b.WriteString("[3:4] -A " + words[2] + " " + rule + "\n")
				}
				b.WriteString(line)
			}
			again := New(Options{Dialect: d})
			require.NoError(t, again.LoadSets("sets", strings.NewReader(genSets)))
			require.NoError(t, again.Load(netfilter.IPv4, "saved", strings.NewReader(b.String())), b.String())
			require.Equal(t, b.String(), saved(t, again, netfilter.IPv4))
		})
	}
}

// FuzzLoad loads any text. What is loaded is saved so that it is loaded again as the same.
func FuzzLoad(f *testing.F) {
	for _, rule := range opaqueRules {
		f.Add("*filter\n:USERS - [0:0]\n[1:2] "+strings.ReplaceAll(rule, "%s", "10.0.0.0/8")+"\nCOMMIT\n", true)
	}
	f.Add("*filter\n-A INPUT -m x ! -j\nCOMMIT\n", false)
	f.Add("*filter\n-A INPUT -j y [unsupported revision] ! --z \"\nCOMMIT\n", false)
	f.Fuzz(func(t *testing.T, input string, nft bool) {
		d := netfilter.Legacy
		if nft {
			d = netfilter.NFT
		}
		k, err := LoadSave(netfilter.IPv4, d, "input", strings.NewReader(input))
		if err != nil {
			return
		}
		requireLoadsAgain(t, k, d)
	})
}
