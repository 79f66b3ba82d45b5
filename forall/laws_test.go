package forall_test

import (
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/chainwalk/chainwalk/forall"
	"github.com/chainwalk/chainwalk/forall/walked"
	_ "github.com/chainwalk/chainwalk/internal/garbage"
	"github.com/chainwalk/chainwalk/internal/sample"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
)

// drawnRules are random rules of filter and nat: lines, of which any can be left out.
func drawnRules(t *rapid.T) []string {
	one := func(name string, of ...string) string { return rapid.SampledFrom(of).Draw(t, name) }
	condition := func() string {
		text := one("source", "", "", "-s 10.0.0.0/8 ", "! -s 10.244.0.0/16 ", "-s 10.244.0.7/32 ") +
			one("destination", "", "-d 10.96.0.0/16 ", "-d 10.96.0.1/32 ", "! -d 10.244.0.0/16 ", "-d 172.18.0.3/32 ")
		return text + one("protocol", "", "", "-p tcp -m tcp --dport 80 ", "-p udp -m udp --dport 53:80 ",
			"-p tcp -m tcp ! --sport 1024:65535 ", "-p icmp ") +
			one("device", "", "", "-i veth1 ", "! -i eth0 ") +
			one("state", "", "", "-m conntrack --ctstate RELATED,ESTABLISHED ", "-m conntrack --ctstate INVALID,NEW ",
				"-m conntrack ! --ctstate UNTRACKED,ESTABLISHED ", "-m conntrack --ctdir REPLY ", "-m conntrack --ctdir ORIGINAL ")
	}
	var rules []string
	for _, chain := range []string{"INPUT", "FORWARD", "A", "B"} {
		for range rapid.IntRange(0, 3).Draw(t, "rules") {
			targets := []string{"ACCEPT", "DROP", "RETURN", "MARK --set-xmark 0x1/0x1", "A", "B"}
			switch chain {
			case "A":
				targets = append(targets[:4], "B")
			case "B":
				targets = targets[:4]
			}
			match := condition() + one("mark", "", "", "-m mark --mark 0x1/0x1 ", "-m statistic --mode random --probability 0.50000000000 ")
			rules = append(rules, "-A "+chain+" "+match+"-j "+one("target", targets...)+"\n")
		}
	}
	for range rapid.IntRange(0, 2).Draw(t, "translations") {
		part := one("part", "", "-m statistic --mode random --probability 0.50000000000 ")
		rules = append(rules, "nat -A PREROUTING -d 10.96.0.1/32 -p tcp -m tcp --dport 80 "+part+
			"-j DNAT --to-destination 10.244.0."+one("endpoint", "2", "3")+":8080\n")
	}
	return rules
}

// ruleset is rules with the chains of their tables.
func ruleset(rules []string) string {
	var filter, nat strings.Builder
	for _, r := range rules {
		if text, is := strings.CutPrefix(r, "nat "); is {
			nat.WriteString(text)
		} else {
			filter.WriteString(r)
		}
	}
	return "*filter\n:INPUT ACCEPT [0:0]\n:FORWARD DROP [0:0]\n:OUTPUT ACCEPT [0:0]\n:A - [0:0]\n:B - [0:0]\n" + filter.String() +
		"COMMIT\n*nat\n:PREROUTING ACCEPT [0:0]\n:INPUT ACCEPT [0:0]\n:OUTPUT ACCEPT [0:0]\n:POSTROUTING ACCEPT [0:0]\n" +
		nat.String() + "COMMIT\n"
}

// lawFates is a host with the rules of a text, and its fates beside others.
func lawFates(t *rapid.T, text string, beside *forall.Fates) (*packetsim.Host, *forall.Fates) {
	h, err := snapshot.HostOfSave("rules", strings.NewReader(text), snapshot.RulesOptions{
		Devices: []string{"veth1"}, Family: netfilter.IPv4, Local: []netip.Addr{netip.MustParseAddr("172.18.0.3")},
	})
	require.NoError(t, err, text)
	f, err := forall.Of(h, forall.Options{Families: only4, Chance: forall.Exact, Against: beside})
	require.NoError(t, err)
	return h, f
}

// everyClass are all classes.
var everyClass = []forall.Class{forall.New, forall.Established, forall.Replying, forall.Related, forall.Invalid, forall.Untracked}

// TestLawP2InEveryClass asks for single packets of each state that conntrack knows.
func TestLawP2InEveryClass(t *testing.T) {
	sample.Checks(t, 12)
	walked := map[forall.Class]int{}
	rapid.Check(t, func(t *rapid.T) {
		h, _ := lawFates(t, ruleset(drawnRules(t)), nil)
		f, err := forall.Of(h, forall.Options{Families: only4, Chance: forall.Exact, Classes: everyClass})
		require.NoError(t, err)
		drawnPackets(t, f, 60, func(class forall.Class, in inet.Input, want forall.Distribution) {
			confirmed(t, f, class, in, want)
			walked[class]++
		})
	})
	for _, class := range everyClass {
		require.Positive(t, walked[class], class)
	}
}

func boxesOf(f *forall.Fates) (all []forall.Space) {
	for space := range f.Boxes() {
		all = append(all, space)
	}
	return all
}

// drawnPackets draws packets of fates whose fate is known.
func drawnPackets(t *rapid.T, f *forall.Fates, count int, each func(class forall.Class, in inet.Input, want forall.Distribution)) {
	boxes := boxesOf(f)
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	for range count {
		box := &boxes[r.IntN(len(boxes))]
		in, possible := walked.Draw(box, r)
		if !possible || !box.Walkable() {
			continue
		}
		want, err := f.AtClass(box.Class, in)
		require.NoError(t, err)
		if want.Known() {
			each(box.Class, in, want)
		}
	}
}

// confirmed requires that walks of drawn packets say what their fates are.
func confirmed(t *rapid.T, f *forall.Fates, class forall.Class, in inet.Input, want forall.Distribution) {
	otherwise, err := f.Confirm(class, in, want, 1e-9)
	require.NoError(t, err)
	require.Empty(t, otherwise, "%s: %s", class, in.Full())
}

// TestLawP2AtIsTheWalk asks for single packets.
func TestLawP2AtIsTheWalk(t *testing.T) {
	sample.Checks(t, 12)
	rapid.Check(t, func(t *rapid.T) {
		_, f := lawFates(t, ruleset(drawnRules(t)), nil)
		drawnPackets(t, f, 20, func(class forall.Class, in inet.Input, want forall.Distribution) { confirmed(t, f, class, in, want) })
	})
}

// TestLawP3BoxesFillTheSpace adds up boxes, and the weights in each.
func TestLawP3BoxesFillTheSpace(t *testing.T) {
	sample.Checks(t, 12)
	rapid.Check(t, func(t *rapid.T) {
		_, f := lawFates(t, ruleset(drawnRules(t)), nil)
		whole := 0.0
		for space, d := range f.Boxes() {
			whole += space.Share
			sum := 0.0
			for _, s := range d {
				sum += s.Probability
			}
			require.InDelta(t, 1, sum, 1e-9)
		}
		require.InDelta(t, 1, whole, 1e-9)
	})
}

// TestLawP4OtherWordsAreAlike writes the same with other names, comments and counters, with a chain put in the place of a jump, and back
// again.
func TestLawP4OtherWordsAreAlike(t *testing.T) {
	sample.Checks(t, 12)
	rapid.Check(t, func(t *rapid.T) {
		text := ruleset(drawnRules(t))
		_, f := lawFates(t, text, nil)
		for name, other := range map[string]string{
			"names":    strings.NewReplacer(":A ", ":WEB ", "-A A ", "-A WEB ", "-j A\n", "-j WEB\n").Replace(text),
			"comments": strings.ReplaceAll(text, " -j ", " -m comment --comment \"why\" -j "),
			"counters": strings.NewReplacer("[0:0]", "[7:420]", "\n-A ", "\n[1:60] -A ").Replace(text),
		} {
			for _, beside := range []*forall.Fates{nil, f} {
				_, g := lawFates(t, other, beside)
				require.True(t, f.Equal(g), "%s\n%s", name, other)
			}
		}
	})
}

// TestLawsP5AndP7OfOneRule takes one rule away: there is a difference if and only if some packet is treated otherwise, in both
// directions, and each witness is such a packet.
func TestLawsP5AndP7OfOneRule(t *testing.T) {
	sample.Checks(t, 12)
	rapid.Check(t, func(t *rapid.T) {
		rules := drawnRules(t)
		if len(rules) == 0 {
			return
		}
		at := rapid.IntRange(0, len(rules)-1).Draw(t, "gone")
		var hosts [2]*packetsim.Host
		var f, g *forall.Fates
		hosts[0], f = lawFates(t, ruleset(rules), nil)
		hosts[1], g = lawFates(t, ruleset(slices.Delete(slices.Clone(rules), at, at+1)), f)
		found := slices.Collect(f.Diff(g))
		require.Equal(t, f.Equal(g), len(found) == 0)
		require.Len(t, slices.Collect(g.Diff(f)), len(found))
		for _, d := range found {
			have, err := f.At(d.Witness)
			require.NoError(t, err)
			require.Equal(t, d.Here, have)
			for side, want := range []forall.Distribution{d.Here, d.There} {
				otherwise, err := forall.Confirm(hosts[side], forall.New, d.Witness, want, 0, 1e-9)
				require.NoError(t, err)
				require.Empty(t, otherwise, d.Witness.Full())
				other, err := forall.Confirm(hosts[1-side], forall.New, d.Witness, want, 0, 1e-9)
				require.NoError(t, err)
				require.NotEmpty(t, other, d.Witness.Full())
			}
		}
		if len(found) > 0 {
			return
		}
		boxes, r := boxesOf(f), rand.New(rand.NewPCG(1, 2))
		for range 20 {
			if in, possible := walked.Draw(&boxes[r.IntN(len(boxes))], r); possible {
				want, err := f.At(in)
				require.NoError(t, err)
				if want.Known() {
					otherwise, err := forall.Confirm(hosts[1], forall.New, in, want, 0, 1e-9)
					require.NoError(t, err)
					require.Empty(t, otherwise, in.Full())
				}
			}
		}
	})
}

// TestLawP6OneAfterTheOther takes rules away and puts them back: what is worked out beside what was there is what is worked out from
// nothing.
func TestLawP6OneAfterTheOther(t *testing.T) {
	sample.Checks(t, 12)
	rapid.Check(t, func(t *rapid.T) {
		rules := drawnRules(t)
		_, first := lawFates(t, ruleset(rules), nil)
		last := first
		for range rapid.IntRange(1, 3).Draw(t, "commits") {
			fewer := slices.DeleteFunc(slices.Clone(rules), func(string) bool { return rapid.Bool().Draw(t, "gone") })
			_, last = lawFates(t, ruleset(fewer), last)
			_, fromNothing := lawFates(t, ruleset(fewer), nil)
			require.True(t, last.Equal(fromNothing))
		}
		_, undone := lawFates(t, ruleset(rules), last)
		require.True(t, undone.Equal(first))
	})
}
