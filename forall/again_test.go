package forall_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/chainwalk/chainwalk/forall"
	"github.com/chainwalk/chainwalk/internal/sample"
	"github.com/chainwalk/chainwalk/packetsim"
)

// TestOnlyWhatRulesTouchIsWorkedOutAgain changes services: what is worked out beside the fates before is what is worked out from nothing.
func TestOnlyWhatRulesTouchIsWorkedOutAgain(t *testing.T) {
	before := services{count: 20}
	f := fatesOf(t, before.host(t), nil)
	text := before.text()
	lines := func(edit func([]string) []string) string {
		return strings.Join(edit(slices.Collect(strings.Lines(text))), "")
	}
	without := func(of ...string) func([]string) []string {
		return func(all []string) []string {
			return slices.DeleteFunc(all, func(line string) bool {
				return slices.ContainsFunc(of, func(text string) bool { return strings.Contains(line, text) })
			})
		}
	}
	first := func(rule string) string {
		chain, _, _ := strings.Cut(rule, " ")
		return strings.Replace(text, "-A "+chain, "-A "+rule+"\n-A "+chain, 1)
	}
	for name, row := range map[string]struct {
		text    string
		touched int // -1: all
	}{
		"nothing":            {text, 0},
		"comments":           {strings.ReplaceAll(text, " -j KUBE-SVC-7\n", " -m comment --comment why -j KUBE-SVC-7\n"), 0},
		"a port":             {(&services{count: 20, port: 9090}).text(), 8},
		"a mark":             {(&services{count: 20, unmarked: true}).text(), 2},
		"a service":          {lines(without("-d 10.96.0.8/32", "KUBE-SVC-7 ")), 2},
		"a node port":        {lines(without("--dport 30001 ")), 2},
		"two services":       {lines(without("-d 10.96.0.8/32", "-d 10.96.0.19/32")), 4},
		"a rule for pods":    {first("PREROUTING -d 10.244.0.3/32 -p tcp -j RETURN"), 1},
		"a rule for all":     {first("PREROUTING -p icmp -j RETURN"), 1},
		"a rule of a filter": {first("FORWARD -d 10.96.0.8/32 -j DROP"), -1},
		"all of it":          {(&services{count: 20, reversed: true}).text(), -1},
	} {
		t.Run(name, func(t *testing.T) {
			agrees(t, workedOutAgain(t, f, before.host(t), row.text, row.touched), 100)
		})
	}
}

// workedOutAgain is a host with other rules. Its fates beside those before are the ones that are worked out from nothing, there and back,
// and so many parts of the rules are found to be not the same: -1 if all is to be worked out.
func workedOutAgain(t *testing.T, before *forall.Fates, was *packetsim.Host, text string, touched int) *packetsim.Host {
	t.Helper()
	h := hostOfServices(t, text)
	g, alone := fatesOf(t, h, before), fatesOf(t, h, nil)
	assert.True(t, g.Equal(alone))
	assert.Equal(t, len(slices.Collect(before.Diff(alone))), len(slices.Collect(before.Diff(g))))
	found, known := forall.Touched(before, g)
	if !known {
		found = -1
	}
	assert.Equal(t, touched, found)
	assert.True(t, fatesOf(t, was, g).Equal(before))
	return h
}

// TestLawOfRulesOfNAT takes rules of nat away and puts others in, one after the other.
func TestLawOfRulesOfNAT(t *testing.T) {
	sample.Checks(t, 12)
	rapid.Check(t, func(t *rapid.T) {
		one := func(name string, of ...string) string { return rapid.SampledFrom(of).Draw(t, name) }
		rule := func(chain string) string {
			text := "-A " + chain + " " + one("destination", "", "-d 10.96.0.1/32 ", "-d 10.96.0.0/24 ", "! -d 10.96.0.2/32 ", "-d 172.18.0.3/32 ") +
				one("port", "", "-p tcp -m tcp --dport 80 ", "-p udp -m udp --dport 53:90 ", "-p tcp -m tcp ! --dport 80 ") +
				one("more", "", "", "-s 10.0.0.0/8 ", "-m limit --limit 1/sec ", "-m statistic --mode random --probability 0.50000000000 ")
			targets := []string{"A", "B", "RETURN", "MARK --set-xmark 0x1/0x1", "DNAT --to-destination 10.96.0.2"}
			if strings.Contains(text, "port") {
				targets = append(targets, "DNAT --to-destination 10.244.0.2:8080")
			}
			if chain == "A" {
				targets = targets[1:]
			} else if chain == "B" {
				targets = targets[2:]
			}
			return text + "-j " + one("target", targets...) + "\n"
		}
		var rules []string
		for range rapid.IntRange(1, 8).Draw(t, "rules") {
			rules = append(rules, rule(one("chain", "PREROUTING", "OUTPUT", "A", "B")))
		}
		text := func() string {
			return "*nat\n:PREROUTING ACCEPT [0:0]\n:INPUT ACCEPT [0:0]\n:OUTPUT ACCEPT [0:0]\n:POSTROUTING ACCEPT [0:0]\n:A - [0:0]\n:B - [0:0]\n" +
				strings.Join(rules, "") + "COMMIT\n"
		}
		_, f := lawFates(t, text(), nil)
		for range rapid.IntRange(1, 3).Draw(t, "edits") {
			at := rapid.IntRange(0, len(rules)).Draw(t, "at")
			switch {
			case at < len(rules) && rapid.Bool().Draw(t, "gone"):
				rules = slices.Delete(rules, at, at+1)
			default:
				rules = slices.Insert(rules, at, rule(one("chain", "PREROUTING", "OUTPUT", "A", "B")))
			}
			_, g := lawFates(t, text(), f)
			_, alone := lawFates(t, text(), nil)
			require.True(t, g.Equal(alone), text())
			f = g
		}
	})
}
