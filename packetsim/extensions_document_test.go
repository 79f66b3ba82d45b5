package packetsim

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/fakeipt/ruleset"
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

var update = flag.Bool("update", false, "write docs/extensions.md")

const extensionsPath = "../docs/extensions.md"

// TestExtensionsAreFresh compares docs/extensions.md with what the tools and the walk know of each extension.
func TestExtensionsAreFresh(t *testing.T) {
	text := extensionsDocument(t)
	if *update {
		require.NoError(t, os.WriteFile(extensionsPath, []byte(text), 0o644))
	}
	written, err := os.ReadFile(extensionsPath)
	require.NoError(t, err)
	assert.Equal(t, text, string(written), "stale: go test ./packetsim -run TestExtensionsAreFresh -update")
}

// TestExtensionsSayWhatTheyNeed: who writes the walk of an extension says what it needs.
func TestExtensionsSayWhatTheyNeed(t *testing.T) {
	for _, x := range allShipped() {
		walked := x.walked(t)
		assert.Equal(t, walked, x.needs != "", "%s: there is a walk: %v; what it needs: %q", x.name, walked, x.needs)
	}
}

// shippedKind is a shipped extension with what it is.
type shippedKind struct {
	*shippedExtension
	option string // the one that names it
}

func allShipped() []shippedKind {
	var all []shippedKind
	for i := range shippedMatches {
		all = append(all, shippedKind{&shippedMatches[i], "-m"})
	}
	for i := range shippedTargets {
		all = append(all, shippedKind{&shippedTargets[i], "-j"})
	}
	return all
}

func (x shippedKind) families() []netfilter.Family {
	if x.family != 0 {
		return []netfilter.Family{x.family}
	}
	return []netfilter.Family{netfilter.IPv4, netfilter.IPv6}
}

// sampleWords are what the words of samples that begin with @ stand for.
var sampleWords = map[netfilter.Family]*strings.Replacer{
	netfilter.IPv4: strings.NewReplacer("@1", "10.244.0.11", "@2", "10.244.0.12", "@ones", "255.255.255.255", "@any", "0.0.0.0",
		"@net", "10.9.0.0/16", "@family", "4", "@bits", "32", "@unreachable", "icmp-port-unreachable"),
	netfilter.IPv6: strings.NewReplacer("@1", "fd00:2::11", "@2", "fd00:2::12", "@ones", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
		"@any", "::", "@net", "fd00:9::/32", "@family", "6", "@bits", "128", "@unreachable", "icmp6-port-unreachable"),
}

// dump is iptables-save text with the sample alone.
func (x shippedKind) dump(f netfilter.Family) string {
	table, _, _ := strings.Cut(x.place, " ")
	return fmt.Sprintf("*%s\n%sCOMMIT\n", table, x.rules(f))
}

// rules are the sample's lines.
func (x shippedKind) rules(f netfilter.Family) string {
	return "-A " + x.chain() + " " + strings.ReplaceAll(sampleWords[f].Replace(x.sample), ";", "\n-A "+x.chain()+" ") + "\n"
}

// sampleObjects make the sets that samples name.
var sampleObjects = []string{"ipset create listed4 hash:ip", "ipset create listed6 hash:ip family inet6"}

// sampleKernel has the objects that samples name.
func sampleKernel(t *testing.T) *fakeipt.Kernel {
	k := fakeipt.New(fakeipt.Options{})
	require.NoError(t, k.Namespace().Accounts().Add("counted"))
	for _, command := range sampleObjects {
		require.Zero(t, k.Run(strings.Fields(command), nil, &bytes.Buffer{}, &bytes.Buffer{}), command)
	}
	return k
}

// spelled says whether the tools of a family know the extension.
func (x shippedKind) spelled(t *testing.T, f netfilter.Family) bool {
	tool := map[netfilter.Family]string{netfilter.IPv4: "iptables", netfilter.IPv6: "ip6tables"}[f]
	var stderr bytes.Buffer
	sampleKernel(t).Run([]string{tool, "-A", "FORWARD", x.option, x.name}, nil, &bytes.Buffer{}, &stderr)
	return !strings.Contains(stderr.String(), "Couldn't load")
}

// walked says whether a packet that comes to the extension goes on, or lacks something: in every family that has it.
func (x shippedKind) walked(t *testing.T) bool {
	for _, f := range x.families() {
		k := sampleKernel(t)
		if k.Load(f, "sample", strings.NewReader(x.dump(f))) != nil {
			return false
		}
		h, err := NewHost(HostConfig{Devices: testDevices(), Routes: testRoutes(), Netfilter: k.Namespace(),
			Sysctls: map[string]string{"net.ipv4.ip_forward": "1", "net.ipv6.conf.all.forwarding": "1"}})
		require.NoError(t, err)
		x.bare(t, k.Ruleset(f))
		outcomes, err := h.Walk(x.packet(t, f))
		if errors.Is(err, errNoWalk) || errors.As(err, new(*OpaqueError)) {
			return false
		}
		if err == nil && outcomes[0].Verdict == Accept {
			assert.Contains(t, way(outcomes[0]), strings.ReplaceAll(x.place, " ", ":"), "%s: the packet does not come to the rule", x.name)
		}
	}
	return true
}

func (x shippedKind) chain() string {
	_, chain, _ := strings.Cut(x.place, " ")
	return chain
}

// bare makes the rule of the sample one that every packet comes to: the extension is all that is left of it.
func (x shippedKind) bare(t *testing.T, rs *ruleset.Ruleset) {
	table, _, _ := strings.Cut(x.place, " ")
	chain := rs.Table(table).Chain(x.chain())
	chain.Rules = chain.Rules[strings.Count(x.sample, ";"):]
	require.Len(t, chain.Rules, 1, x.name)
	r := chain.Rules[0]
	kept := r.Matches[:0]
	for _, m := range r.Matches {
		if x.option == "-m" && m.Name() == x.name {
			kept = append(kept, m)
		}
	}
	*r = xtables.Rule{Matches: kept, Target: r.Target, Counters: r.Counters}
	if x.option == "-j" {
		require.Equal(t, x.name, r.Target.Name())
	} else {
		require.Len(t, r.Matches, 1, x.name)
	}
}

// packet is one that comes to the chain of the sample.
func (x shippedKind) packet(t *testing.T, f netfilter.Family) inet.Input {
	packet := map[string]string{
		"PREROUTING": "tcp @1:1000 > @2:80 in veth1", "FORWARD": "tcp @1:1000 > @2:80 in veth1",
		"POSTROUTING": "tcp @1:1000 > @2:80 in veth1",
		"INPUT":       "tcp @1:1000 > @self:80 in veth1", "OUTPUT": "tcp @self:1000 > @2:80 local",
	}[x.chain()]
	self := map[netfilter.Family]string{netfilter.IPv4: "192.168.0.3", netfilter.IPv6: "fd00:1::3"}[f]
	packet = strings.ReplaceAll(packet, "@self", self)
	if f == netfilter.IPv6 {
		for _, address := range []string{"@1", "@2", self} {
			packet = strings.ReplaceAll(packet, address+":", "["+address+"]:")
		}
	}
	return parse(t, sampleWords[f].Replace(packet))
}

// yes is a word for it, or else a dash.
func yes(is bool) string {
	if is {
		return "yes"
	}
	return "-"
}

func extensionsDocument(t *testing.T) string {
	var out strings.Builder
	out.WriteString(`# Extensions

This page lists the matches and targets of iptables 1.8.9, and which of them chainwalk supports
([nftables.md](nftables.md) does so for nft). It is generated from the
tools of ` + "`fakeipt`" + ` and the walk of ` + "`packetsim`" + `: ` + "`go test ./packetsim -run TestExtensionsAreFresh -update`" + `.

- **text**: the fake tools parse, check, save and list rules with it as the real tools do, in both dialects.
- **walk**: chainwalk walks packets through such a rule. Without a walk, a packet that reaches the rule ends in an error that names it.
- **needs**: what the walk needs. If a packet lacks it and reaches such a rule, the walk ends in an error that names the field.

The verdicts (ACCEPT, DROP, RETURN, QUEUE) and jumps are not listed; chainwalk supports them with their walk.
A ruleset with an extension outside of these lists can still be loaded, see
[Rules with unknown extensions](tools.md#rules-with-unknown-extensions). ` +
		`If you add an extension ([add-a-match.md](add-a-match.md)), state in ` + "`packetsim/extensions_test.go`" + ` what it needs.
`)
	for _, kind := range []struct{ title, option string }{{"Matches", "-m"}, {"Targets", "-j"}} {
		fmt.Fprintf(&out, "\n## %s\n\n| name | family | text | walk | needs |\n|---|---|---|---|---|\n", kind.title)
		for _, x := range allShipped() {
			if x.option == kind.option {
				text, walk := yes(x.spelledEverywhere(t)), yes(x.walked(t))
				fmt.Fprintf(&out, "| %s | %s | %s | %s | %s |\n", x.name, x.familyWords(), text, walk, x.needs)
			}
		}
	}
	return out.String()
}

func (x shippedKind) spelledEverywhere(t *testing.T) bool {
	for _, f := range x.families() {
		if !x.spelled(t, f) {
			return false
		}
	}
	return true
}

func (x shippedKind) familyWords() string {
	return map[netfilter.Family]string{0: "both", netfilter.IPv4: "IPv4", netfilter.IPv6: "IPv6"}[x.family]
}

// TestEveryExtensionLoads: a dump with any extension of the tools loads in both dialects and is saved as it was, whether this kernel has it
// or not. A packet that comes to the rule goes on, or the walk ends in an error that names the extension or what the packet lacks.
func TestEveryExtensionLoads(t *testing.T) {
	for _, x := range allShipped() {
		for _, f := range x.families() {
			for _, d := range []netfilter.Dialect{netfilter.Legacy, netfilter.NFT} {
				k := fakeipt.New(fakeipt.Options{Dialect: d})
				var sets bytes.Buffer
				require.NoError(t, sampleKernel(t).SaveSets(&sets))
				require.NoError(t, k.LoadSets("sets", &sets))
				require.NoError(t, k.Load(f, "dump", strings.NewReader(x.dump(f))), "%s, IPv%d, %s", x.name, f, d)
				var saved bytes.Buffer
				require.Zero(t, k.Run([]string{map[netfilter.Family]string{netfilter.IPv4: "iptables-save", netfilter.IPv6: "ip6tables-save"}[f]}, nil,
					&saved, &saved))
				assert.Contains(t, saved.String(), x.rules(f), "%s, IPv%d, %s", x.name, f, d)
				h, err := NewHost(HostConfig{Devices: testDevices(), Routes: testRoutes(), Netfilter: k.Namespace()})
				require.NoError(t, err)
				if _, err = h.Walk(x.packet(t, f)); err != nil {
					assert.Regexp(t, "(match|target|-m|-j) "+x.name+"\\b|packet: .* (is|are) not (set|known)", err.Error(), x.name)
				}
			}
		}
	}
}
