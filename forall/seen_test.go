package forall_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/forall"
)

// TestFatesSeenAreComparable: two firewalls for other addresses of the same node are alike, seen from the node's own address.
func TestFatesSeenAreComparable(t *testing.T) {
	of := func(own, port string) *forall.Fates {
		f, err := forall.Of(saved(t, "*filter\n:INPUT ACCEPT [0:0]\n:FORWARD DROP [0:0]\n:OUTPUT ACCEPT [0:0]\n"+
			"-A FORWARD -d "+own+" -p tcp -m tcp --dport "+port+" -j ACCEPT\n-A FORWARD -s 198.51.100.0/24 -j ACCEPT\nCOMMIT\n"),
			forall.Options{Families: only4})
		require.NoError(t, err)
		return f
	}
	a, b, c := of("10.0.0.1", "80"), of("10.0.0.2", "80"), of("10.0.0.1", "81")
	look := func(f *forall.Fates, own string, without ...forall.Packets) *forall.Fates {
		return f.Seen(forall.View{In: "eth0", Dst: netip.MustParseAddr(own), Without: without, Against: a})
	}
	assert.False(t, a.Equal(b))
	assert.True(t, look(a, "10.0.0.1").Equal(look(b, "10.0.0.2")))
	assert.False(t, look(a, "10.0.0.1").Equal(look(b, "10.0.0.1")))
	assert.False(t, look(a, "10.0.0.1").Equal(look(c, "10.0.0.1")))

	ports := []forall.Packets{{Proto: 6, DstPort: 80}, {Proto: 6, DstPort: 81}}
	assert.True(t, look(a, "10.0.0.1", ports...).Equal(look(c, "10.0.0.1", ports...)))
	assert.False(t, look(a, "10.0.0.1", ports[1:]...).Equal(look(c, "10.0.0.1", ports[1:]...)))
	inside := forall.Packets{Dst: mustPrefix("10.0.0.0/31")}
	assert.True(t, look(a, "10.0.0.1", inside).Equal(look(c, "10.0.0.1", inside)))
	other := forall.Packets{Dst: mustPrefix("10.0.0.2/31"), Src: mustPrefix("0.0.0.0/0")}
	assert.False(t, look(a, "10.0.0.1", other).Equal(look(c, "10.0.0.1", other)))

	// Without the difference that a fate has.
	noDevice := func(f forall.Fate) forall.Fate {
		f.Out, f.Verdict, f.To = "", "", ""
		return f
	}
	all := forall.View{In: "eth0", Fate: noDevice}
	assert.True(t, a.Seen(all).Equal(c.Seen(all)))

	found := 0
	for d := range look(a, "10.0.0.1").Diff(look(c, "10.0.0.1")) {
		found++
		assert.Equal(t, []string{""}, d.Space.In)
		assert.NotEqual(t, d.Here.String(), d.There.String())
	}
	assert.Equal(t, 2, found)
}
