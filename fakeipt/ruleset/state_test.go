package ruleset_test

import (
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/fakeipt/ruleset"
	"github.com/chainwalk/chainwalk/netfilter"
)

// TestStateThatIsWrongIsRefused: what was not written so is an error, whatever it is.
func TestStateThatIsWrongIsRefused(t *testing.T) {
	k := fakeipt.New(fakeipt.Options{})
	require.Zero(t, k.Run([]string{"iptables", "-A", "INPUT", "-s", "1.2.3.4", "-m", "comment", "--comment", "x", "-j", "DROP"}, nil,
		io.Discard, io.Discard))
	good := k.AppendState(nil, netfilter.IPv4)
	table := ruleset.StateOf
	input := ruleset.ChainState{Name: "INPUT", Policy: ruleset.PolicyAccept, Counters: &netfilter.Counters{}}
	noCounters, user := input, ruleset.ChainState{Name: "A"}
	noCounters.Counters, user.Policy = nil, ruleset.PolicyDrop
	for about, tables := range map[string][]ruleset.StateTable{
		"no such table":              {table("nope")},
		"no built-in chains":         {table("filter")},
		"a policy that counts not":   {table("filter", noCounters)},
		"a chain that has a policy":  {table("filter", user)},
		"rules that are not there":   {table("filter", input)},
		"no record":                  {{Name: "filter"}},
		"a record of something else": {ruleset.StateOfRecord("filter", k.AppendObjects(nil))},
	} {
		assert.Error(t, fakeipt.New(fakeipt.Options{}).ReadState(netfilter.IPv4, tables, nil), about)
	}
	for end := 1; end < len(good); end++ {
		tables, err := ruleset.StateTables(good[:end])
		if err == nil {
			err = fakeipt.New(fakeipt.Options{}).ReadState(netfilter.IPv4, tables, nil)
		}
		assert.Error(t, err, "the first %d bytes of %d", end, len(good))
	}
	assert.Error(t, fakeipt.New(fakeipt.Options{}).ReadObjects([]byte("something else")))
	again := fakeipt.New(fakeipt.Options{})
	require.NoError(t, again.Namespace().Accounts().Add("there"))
	require.Zero(t, k.Run([]string{"nfacct", "add", "there"}, nil, io.Discard, io.Discard))
	assert.Error(t, again.ReadObjects(k.AppendObjects(nil)), "an object that is there")
}
