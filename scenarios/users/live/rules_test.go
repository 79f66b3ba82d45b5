package live

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/fakekernel"
	"github.com/chainwalk/chainwalk/netfilter"
)

func TestRulesAreCompared(t *testing.T) {
	const chains = "*nat\n:A - [0:0]\n:B - [0:0]\n:W - [0:0]\n:X - [0:0]\n:Y - [0:0]\n:Z - [0:0]\n"
	have := saved(t, chains+"[1:2] -A A -j X\n-A A -j Y\n-A A -j Z\n-A B -j X\nCOMMIT\n")
	want := saved(t, chains+"-A A -j Z\n-A A -j Y\n-A A -j W\nCOMMIT\n")
	d := compare("n", 4, have, want)
	texts := func(rules []factRule) (out []string) {
		for _, r := range rules {
			out = append(out, r.Table+" "+r.Text)
		}
		return out
	}
	assert.Equal(t, []string{"nat -A A -j W"}, texts(d.missing))
	assert.Equal(t, []string{"nat -A A -j X", "nat -A B -j X"}, texts(d.foreign))
	assert.Equal(t, []string{"nat -A A -j Y", "nat -A A -j Z"}, texts(d.moved))
}

// saved is what a kernel has of rules.
func saved(t *testing.T, text string) ruleset {
	rules, err := fakekernel.ReadSave("rules", text, netfilter.IPv4, netfilter.Legacy)
	require.NoError(t, err)
	return rulesetOf(rules)
}
