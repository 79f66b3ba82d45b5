package forall_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/forall"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// TestClassesOfPackets asks a firewall that lets answers in and drops first packets.
func TestClassesOfPackets(t *testing.T) {
	h := saved(t, "*filter\n:INPUT ACCEPT [0:0]\n:FORWARD DROP [0:0]\n:OUTPUT ACCEPT [0:0]\n"+
		"-A FORWARD -m conntrack --ctstate INVALID -j REJECT --reject-with icmp-port-unreachable\n"+
		"-A FORWARD -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT\n-A FORWARD -m conntrack --ctstate UNTRACKED -j ACCEPT\nCOMMIT\n")
	classes := []forall.Class{forall.New, forall.Established, forall.Replying, forall.Related, forall.Invalid, forall.Untracked}
	f, err := forall.Of(h, forall.Options{Families: only4, Classes: classes})
	require.NoError(t, err)
	in, err := inet.ParseInput("udp 10.0.0.1:1000 > 192.0.2.1:53 in eth0")
	require.NoError(t, err)
	for class, want := range map[forall.Class]string{
		forall.New: "drop", forall.Established: "accept out of eth0", forall.Replying: "accept out of eth0", forall.Related: "accept out of eth0",
		forall.Invalid: "reject with icmp-port-unreachable", forall.Untracked: "accept out of eth0",
	} {
		d, err := f.AtClass(class, in)
		require.NoError(t, err)
		assert.Equal(t, want, d.String(), class)
		parsed, err := forall.ParseClass(class.String())
		require.NoError(t, err)
		assert.Equal(t, class, parsed)
	}
	_, err = forall.ParseClass("odd")
	require.Error(t, err)
	in.TTL = 3
	_, err = f.At(in)
	require.ErrorIs(t, err, forall.ErrOutside)
}

// TestWhereTheFatesAre asks for what can come to an endpoint.
func TestWhereTheFatesAre(t *testing.T) {
	f := fatesOf(t, (&services{count: 3}).host(t), nil)
	whole := 0.0
	var ways []string
	q := forall.Question{EndDst: mustPrefix("10.244.0.8/32"), EndPort: 8080, Dst: mustPrefix("10.96.0.0/16"), In: []string{"veth1"}}
	for a := range f.Where(q) {
		ways = append(ways, a.Space.String())
		whole += a.Probability
		assert.InDelta(t, 0.2, a.Probability, 1e-9, a.Space.String())
		assert.Equal(t, "10.96.0.2", a.Space.Dst.String())
		assert.True(t, a.Space.DstPorts.Has(80))
	}
	assert.NotEmpty(t, ways)
}

func mustPrefix(text string) netip.Prefix { return netip.MustParsePrefix(text) }
