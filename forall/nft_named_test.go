package forall_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/forall"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
)

// TestConditionsInTheWordsOfNFT: a condition that no variable stands for is told as nft prints it, and one that must not hold is the same.
func TestConditionsInTheWordsOfNFT(t *testing.T) {
	for rule, want := range map[string]string{
		"ip ttl 64 drop":                        "ip ttl 64",
		"ip ttl != 64 drop":                     "ip ttl 64",
		"ip ttl != 5-9 drop":                    "ip ttl 5-9",
		"ip ttl > 9 drop":                       "ip ttl > 9",
		"ip dscp cs1 drop":                      "ip dscp cs1",
		"meta length 60 drop":                   "meta length 60",
		"ct zone 5 drop":                        "ct zone 5",
		"limit rate over 10/second drop":        "limit rate over 10/second in inet f c rule 1 at FORWARD",
		"meta l4proto udp ct count over 9 drop": "ct count over 9 in inet f c rule 1 at FORWARD",
		"ip dscp set cs2 ip ttl 9 drop":         "ip ttl 9 (of a header that a rule has changed)",
	} {
		t.Run(rule, func(t *testing.T) {
			f := fatesOf(t, forwarding(t, "forward", "accept"), nil)
			g := fatesOf(t, forwarding(t, "forward", "accept", rule), f)
			found := slices.Collect(f.Diff(g))
			require.NotEmpty(t, found)
			for _, d := range found {
				require.Len(t, d.Space.Names, 1, d.Space.String())
				assert.Equal(t, want, d.Space.Names[0].String())
				assert.Equal(t, !strings.Contains(rule, "!="), d.Space.Names[0].Holds)
				assert.Contains(t, d.Space.String(), "["+want+"]")
			}
		})
	}
}

// TestBothEndsOfARange: nft compares twice where a range must hold, and each is a condition.
func TestBothEndsOfARange(t *testing.T) {
	f := fatesOf(t, forwarding(t, "forward", "accept"), nil)
	found := slices.Collect(f.Diff(fatesOf(t, forwarding(t, "forward", "accept", "ip ttl 5-9 drop"), f)))
	require.Len(t, found, 1)
	assert.Contains(t, found[0].Space.String(), "if [ip ttl >= 5] if [ip ttl <= 9]")
}

// TestConditionsOfHostsWithOtherDevices: another order of variables leaves conditions their words.
func TestConditionsOfHostsWithOtherDevices(t *testing.T) {
	rules := func(rule string) string {
		return "table ip f {\n\tchain c {\n\t\ttype filter hook forward priority 0; policy accept;\n\t\t" + rule + "\n\t}\n}\n"
	}
	host := func(device, rule string) *forall.Fates {
		h, err := snapshot.HostOfSave("rules", strings.NewReader(rules(rule)), snapshot.RulesOptions{Devices: []string{device}})
		require.NoError(t, err)
		return fatesOf(t, h, nil)
	}
	found := slices.Collect(host("veth1", "ip ttl 5 drop").Diff(host("veth2", "ip ttl 6 drop")))
	var names []string
	for _, d := range found {
		for _, n := range d.Space.Names {
			names = append(names, n.String())
		}
	}
	slices.Sort(names)
	assert.Equal(t, []string{"ip ttl 5", "ip ttl 6"}, slices.Compact(names))
}
