package forall_test

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/fakenft"
	"github.com/chainwalk/chainwalk/forall"
	"github.com/chainwalk/chainwalk/internal/sample"
	"github.com/chainwalk/chainwalk/packetsim"
)

// committing is a host whose rules commits change, with its fates after each of them.
type committing struct {
	h     *packetsim.Host
	o     forall.Options
	fates []*forall.Fates
	texts []string
	again int // how often something was worked out again
}

// began works out the fates of a host from nothing.
func began(t require.TestingT, h *packetsim.Host, o forall.Options) *committing {
	c := &committing{h: h, o: o}
	f, err := forall.Of(h, o)
	require.NoError(t, err)
	c.fates = append(c.fates, f)
	return c
}

// commit changes the rules by the input of a tool. A build that starts from earlier fates must give what a build
// from nothing gives.
func (c *committing) commit(t *rapid.T, text string) {
	c.texts = append(c.texts, text)
	if strings.HasPrefix(text, "*") {
		restores(t, c.h, text)
	} else {
		transacts(t, c.h, text)
	}
	before := rapid.IntRange(max(0, len(c.fates)-2), len(c.fates)-1).Draw(t, "beside")
	alone, err := forall.Of(c.h, c.o)
	require.NoError(t, err)
	beside := c.o
	beside.Against = c.fates[before]
	g, err := forall.Of(c.h, beside)
	require.NoError(t, err)
	require.True(t, g.Equal(alone), "beside the fates after commit %d: %s", before, strings.Join(c.texts, "---\n"))
	if found, known := forall.Touched(c.fates[before], g); known && found > 0 {
		c.again++
	}
	c.fates = append(c.fates, g)
}

// restores gives a host the input of iptables-restore --noflush.
func restores(t require.TestingT, h *packetsim.Host, text string) {
	var errors bytes.Buffer
	status := fakeipt.First(h.Netfilter()).Run([]string{"iptables-restore", "--noflush"}, strings.NewReader(text), io.Discard, &errors)
	require.Zero(t, status, "%s: %s", &errors, text)
}

// transacts gives a host the input of nft.
func transacts(t require.TestingT, h *packetsim.Host, text string) {
	var errors bytes.Buffer
	nft := fakenft.New(fakenft.Options{Namespace: h.Netfilter()})
	require.Zero(t, nft.Run([]string{"nft", "-f", "-"}, strings.NewReader(text), io.Discard, &errors), "%s: %s", &errors, text)
}

// transaction is the input of nft that makes other rules of these.
func (d *drawnNFT) transaction(to *drawnNFT) string {
	var b strings.Builder
	for i := range d.chains {
		if !slices.Equal(d.chains[i], to.chains[i]) {
			rewrites(&b, fmt.Sprintf("c%d", i), to.chains[i])
		}
	}
	for _, of := range []struct {
		name     string
		was, are []string
	}{
		{"ports", d.ports, to.ports}, {"sinks", d.sinks, to.sinks}, {"bare", d.bare, to.bare}, {"services", d.services, to.services},
		{"refused", d.reject, to.reject}, {"hairpin", d.hairpins, to.hairpins},
	} {
		for _, e := range of.was {
			if !slices.Contains(of.are, e) {
				fmt.Fprintf(&b, "delete element ip t %s { %s }\n", of.name, e)
			}
		}
		for _, e := range of.are {
			if !slices.Contains(of.was, e) {
				fmt.Fprintf(&b, "add element ip t %s { %s }\n", of.name, e)
			}
		}
	}
	for i, base := range []string{"pre", "out", "forward", "post"} {
		if of := max(0, i-1); !slices.Equal(d.rules[of], to.rules[of]) {
			rewrites(&b, base, append(slices.Clone(to.rules[of]), lastRules[of]))
		}
	}
	return b.String()
}

// rewrites gives a chain other rules.
func rewrites(b *strings.Builder, chain string, rules []string) {
	fmt.Fprintf(b, "flush chain ip t %s\n", chain)
	for line := range strings.Lines(strings.Join(rules, "")) {
		fmt.Fprintf(b, "add rule ip t %s %s\n", chain, strings.TrimSpace(line))
	}
}

// TestLawOfTransactions changes rules and elements of nftables by transactions, one after the other.
func TestLawOfTransactions(t *testing.T) {
	sample.Checks(t, 12)
	var again int
	rapid.Check(t, func(t *rapid.T) {
		var d drawnNFT
		for range rapid.IntRange(0, 12).Draw(t, "first") {
			d.edit(t)
		}
		c := began(t, hairpinHost(t, d.text()), forall.Options{Families: only4, Chance: forall.Exact})
		c.texts = append(c.texts, d.text())
		for range rapid.IntRange(1, 5).Draw(t, "commits") {
			was := d
			for range rapid.IntRange(1, 2).Draw(t, "edits") {
				d.edit(t)
			}
			if text := was.transaction(&d); text != "" {
				c.commit(t, text)
			}
		}
		again += c.again
	})
	assert.NotZero(t, again, "all was worked out each time")
}

// TestLawOfRestores changes chains of iptables by restores, one after the other: of a chain all rules, or one.
func TestLawOfRestores(t *testing.T) {
	sample.Checks(t, 12)
	var again int
	rapid.Check(t, func(t *rapid.T) {
		one := func(name string, of ...string) string { return rapid.SampledFrom(of).Draw(t, name) }
		chains := []string{"PREROUTING", "OUTPUT", "A", "B", "C", "D"}
		rule := func(chain string) string {
			text := one("destination", "", "-d 10.96.0.1/32 ", "-d 10.96.0.2/32 ", "-d 10.96.0.0/24 ", "! -d 10.96.0.2/32 ", "-d 172.18.0.3/32 ",
				"-m addrtype --dst-type LOCAL ", "-m addrtype ! --dst-type LOCAL ", "-d 172.18.0.0/16 -m addrtype --dst-type LOCAL ") +
				one("port", "", "-p tcp -m tcp --dport 80 ", "-p udp -m udp --dport 53:90 ", "-p tcp -m tcp ! --dport 80 ") +
				one("more", "", "", "-s 10.0.0.0/8 ", "-m limit --limit 1/sec ", "-m statistic --mode random --probability 0.50000000000 ")
			targets := []string{"RETURN", "LATE", "DNAT --to-destination 10.96.0.2", "A", "B", "C", "D"}
			if strings.Contains(text, "port") {
				targets[2] = "DNAT --to-destination 10.244.0.2:8080"
			}
			if at := slices.Index(chains, chain); at >= 2 { // to those behind it
				targets = slices.Delete(targets, 3, 3+at-1)
			}
			return "-A " + chain + " " + text + "-j " + one("target", targets...) + "\n"
		}
		rules := map[string][]string{}
		for range rapid.IntRange(1, 16).Draw(t, "rules") {
			chain := one("chain", chains...)
			rules[chain] = append(rules[chain], rule(chain))
		}
		text := "*nat\n:PREROUTING ACCEPT [0:0]\n:INPUT ACCEPT [0:0]\n:OUTPUT ACCEPT [0:0]\n:POSTROUTING ACCEPT [0:0]\n" +
			":A - [0:0]\n:B - [0:0]\n:C - [0:0]\n:D - [0:0]\n:LATE - [0:0]\n-A POSTROUTING -j LATE\n" + // which is met before, too
			"-A LATE -d 10.244.0.2/32 -j MARK --set-xmark 0x2/0x2\n-A LATE -d 10.96.0.2/32 -j MARK --set-xmark 0x1/0x1\n"
		for _, chain := range chains {
			text += strings.Join(rules[chain], "")
		}
		h, _ := lawFates(t, text+"COMMIT\n", nil)
		o := forall.Options{Families: only4, Chance: forall.Exact}
		c := began(t, h, o.IndexedFrom(rapid.IntRange(1, 4).Draw(t, "indexed")))
		c.texts = append(c.texts, text)
		for range rapid.IntRange(1, 5).Draw(t, "commits") {
			chain := one("chain", chains...)
			list := slices.Clone(rules[chain])
			at := rapid.IntRange(0, len(list)).Draw(t, "at")
			line := ""
			if at < len(list) && rapid.Bool().Draw(t, "gone") {
				list, line = slices.Delete(list, at, at+1), fmt.Sprintf("-D %s %d\n", chain, at+1)
			} else {
				list = slices.Insert(list, at, rule(chain))
				line = strings.Replace(list[at], "-A "+chain, fmt.Sprintf("-I %s %d", chain, at+1), 1)
			}
			if rapid.Bool().Draw(t, "all rules") {
				line = ":" + chain + " " + map[bool]string{true: "ACCEPT", false: "-"}[len(chain) > 1] + " [0:0]\n" + strings.Join(list, "")
			}
			rules[chain] = list
			c.commit(t, "*nat\n"+line+"COMMIT\n")
		}
		again += c.again
	})
	assert.NotZero(t, again, "all was worked out each time")
}

// TestWorkedOutAgainAfterRestore changes chains of iptables by restores: what a chain leads to that an earlier one has changed.
func TestWorkedOutAgainAfterRestore(t *testing.T) {
	const text = "*nat\n:PREROUTING ACCEPT [0:0]\n:INPUT ACCEPT [0:0]\n:OUTPUT ACCEPT [0:0]\n:POSTROUTING ACCEPT [0:0]\n:A - [0:0]\n" +
		":B - [0:0]\n:C - [0:0]\n-A PREROUTING -d 10.96.0.1/32 -j A\n-A A -p tcp -j B\n-A A -p udp -j RETURN\n" +
		"-A PREROUTING -d 10.96.0.2/32 -j DNAT --to-destination 172.18.0.3\nCOMMIT\n"
	for name, commits := range map[string][]string{
		"a rule that leads to another chain, and that one": {"-A A -p icmp -j C\n", "-A C -j DNAT --to-destination 172.18.0.3\n"},
		"a chain that is written anew, and one to which it leads now": {":A - [0:0]\n-A A -p tcp -j B\n-A A -p udp -j C\n-A A -p udp -j RETURN\n",
			"-A C -j DNAT --to-destination 172.18.0.3\n"},
		"a chain of a chain": {":D - [0:0]\n-A D -p tcp -j DNAT --to-destination 172.18.0.3:81\n-A B -j D\n",
			"-I D -p tcp -j DNAT --to-destination 172.18.0.3:82\n"},
	} {
		t.Run(name, func(t *testing.T) {
			h := hostOfServices(t, text)
			fates := []*forall.Fates{fatesOf(t, h, nil)}
			for _, commit := range append([]string{"-A B -p udp -j RETURN\n"}, commits...) {
				restores(t, h, "*nat\n"+commit+"COMMIT\n")
				alone := fatesOf(t, h, nil)
				for _, before := range fates { // those of each time before
					g := fatesOf(t, h, before)
					assert.True(t, g.Equal(alone), commit)
					_, known := forall.Touched(before, g)
					assert.True(t, known, commit)
				}
				fates = append(fates, fatesOf(t, h, fates[len(fates)-1]))
			}
			assert.False(t, fates[len(fates)-1].Equal(fates[len(fates)-2]))
		})
	}
}
