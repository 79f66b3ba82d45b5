package forall_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/forall"
	"github.com/chainwalk/chainwalk/netfilter"
)

// TestApartIsWhatDiffIs: the same packets, each with its fates on all hosts, and with the number that it was given.
func TestApartIsWhatDiffIs(t *testing.T) {
	sound := fatesOf(t, (&services{count: 30}).host(t), nil)
	faulty := fatesOf(t, (&services{count: 29, port: 9090}).host(t), sound)
	bare := fatesOf(t, (&services{count: 1}).host(t), sound)
	addrs := func(first, last string) forall.Addrs {
		return forall.Addrs{First: netip.MustParseAddr(first), Last: netip.MustParseAddr(last)}
	}
	numbered := []forall.Numbered{
		{Dst: addrs("10.96.0.0", "10.96.255.255"), Number: 1},
		{Dst: addrs("10.96.0.30", "10.96.0.30"), Protos: []uint8{6, 17}, Ports: []uint16{80, 443}, Number: 2},
		{Dst: addrs("fd00::1", "fd00::2"), Number: 9},
	}
	number := func(s *forall.Space) int {
		switch {
		case !numbered[0].Dst.Has(s.Dst.First):
			return 0
		case numbered[1].Dst.Has(s.Dst.First) && s.DstPorts == (forall.Ports{First: 80, Last: 80}) && s.Protos.First == s.Protos.Last:
			return 2
		}
		return 1
	}
	share, differ, found := 0.0, 0.0, map[int]bool{}
	c := forall.Comparison{Family: netfilter.IPv4, Numbered: numbered, Beside: []*forall.Fates{bare}}
	for a := range sound.Apart(faulty, &c) {
		share += a.Space.Share
		require.Len(t, a.Beside, 1)
		packet, _ := a.Witness()
		for i, f := range []*forall.Fates{sound, faulty, bare} {
			want, err := f.At(packet)
			require.NoError(t, err)
			assert.Equal(t, want, []forall.Distribution{a.Here, a.There, a.Beside[0]}[i], packet)
		}
		assert.Equal(t, number(&a.Space), a.Number, a.Space.String())
		found[a.Number] = true
	}
	for d := range sound.Diff(faulty) {
		differ += d.Share
	}
	assert.InEpsilon(t, differ, share, 1e-9)
	assert.True(t, found[1] && found[2], found)

	once := 0
	for range sound.Apart(faulty, &c) {
		once++
		break
	}
	assert.Equal(t, 1, once)
	assert.Empty(t, slices.Collect(sound.Apart(sound, &c)))
	assert.Empty(t, slices.Collect(sound.Apart(faulty, &forall.Comparison{Family: netfilter.IPv6})))
}

// TestApartKnowsConditions: what a list remembers is taken for known, and the packets that ask for it fare alike then.
func TestApartKnowsConditions(t *testing.T) {
	rules := "*filter\n:INPUT ACCEPT [0:0]\n:FORWARD ACCEPT [0:0]\n:OUTPUT ACCEPT [0:0]\n" +
		"-A FORWARD -p tcp -m recent --rcheck --name seen --mask 255.255.255.255 --rsource -j DROP\nCOMMIT\n"
	a := fatesOf(t, saved(t, rules), nil)
	b := fatesOf(t, saved(t, strings.Replace(rules, "-j DROP", "-j REJECT", 1)), a)
	c := forall.Comparison{Family: netfilter.IPv4}
	assert.NotEmpty(t, slices.Collect(a.Apart(b, &c)))
	for _, holds := range []bool{false, true} {
		c.Known = func(name string) (bool, bool) { return holds, strings.Contains(name, "--name seen") }
		assert.Equal(t, holds, len(slices.Collect(a.Apart(b, &c))) > 0)
	}
}
