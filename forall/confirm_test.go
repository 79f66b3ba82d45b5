package forall_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/forall"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
)

func TestConfirmAsksAWalk(t *testing.T) {
	rules := "*filter\n:INPUT ACCEPT [0:0]\n:FORWARD DROP [0:0]\n:OUTPUT ACCEPT [0:0]\n-A FORWARD -p tcp -m tcp --dport 80 -j ACCEPT\nCOMMIT\n"
	host, err := snapshot.HostOfSave("rules", strings.NewReader(rules), snapshot.RulesOptions{Family: netfilter.IPv4})
	require.NoError(t, err)
	fates, err := forall.Of(host, forall.Options{Families: []netfilter.Family{netfilter.IPv4}})
	require.NoError(t, err)
	in, err := inet.ParseInput("tcp 192.0.2.1:40000 > 198.51.100.1:80 in eth0")
	require.NoError(t, err)
	right, err := fates.At(in)
	require.NoError(t, err)
	otherwise, err := forall.Confirm(host, forall.New, in, right, 0, 1e-8)
	require.NoError(t, err)
	assert.Empty(t, otherwise)
	wrong := forall.Distribution{{Fate: forall.Fate{Verdict: packetsim.Drop}, Probability: 1}}
	otherwise, err = forall.Confirm(host, forall.New, in, wrong, 0, 1e-8)
	require.NoError(t, err)
	assert.Contains(t, otherwise, "walked map[accept out of eth0")
}
