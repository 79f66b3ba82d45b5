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
	c := forall.Comparison{Family: netfilter.IPv4, Numbered: numbered, Others: []*forall.Fates{bare}}
	for a := range sound.Apart(faulty, &c) {
		share += a.Space.Share
		require.Len(t, a.Others, 1)
		packet, _ := a.Witness()
		for i, f := range []*forall.Fates{sound, faulty, bare} {
			want, err := f.At(packet)
			require.NoError(t, err)
			assert.Equal(t, want, []forall.Distribution{a.Here, a.There, a.Others[0]}[i], packet)
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

// TestApartByDestination: each Apart says all of its destinations. Packets to other ports than those that are asked for are left out, but
// not those of protocols without ports.
func TestApartByDestination(t *testing.T) {
	rules := "*filter\n:INPUT ACCEPT [0:0]\n:FORWARD ACCEPT [0:0]\n:OUTPUT ACCEPT [0:0]\n-A FORWARD -d 10.0.0.1 -p icmp -j DROP\n" +
		"-A FORWARD -d 10.0.0.2 -p tcp -m tcp --dport 80:90 -j DROP\n-A FORWARD -d 10.0.0.4 -p tcp -m tcp --dport 80:90 -j DROP\n" +
		"-A FORWARD -d 10.0.0.3 -p tcp -m tcp --dport 5000 -j DROP\nCOMMIT\n"
	with, without := fatesOf(t, saved(t, rules), nil), fatesOf(t, saved(t, "*filter\nCOMMIT\n"), nil)
	for ports, want := range map[forall.Ports]map[string]forall.Ports{
		{}: {"10.0.0.1": {First: 0, Last: 65535}, "10.0.0.2 10.0.0.4": {First: 80, Last: 90},
			"10.0.0.3": {First: 5000, Last: 5000}},
		{First: 85, Last: 100}: {"10.0.0.1": {First: 0, Last: 65535}, "10.0.0.2 10.0.0.4": {First: 85, Last: 90}},
	} {
		found, share, differ := map[string]forall.Ports{}, 0.0, 0.0
		for a := range with.Apart(without, &forall.Comparison{Family: netfilter.IPv4, DstPorts: ports, ByDestination: true}) {
			share += a.Space.Share
			packet, _ := a.Witness()
			var to []string
			for _, dst := range a.Dsts {
				to, packet.Dst = append(to, dst.String()), dst.First
				for i, f := range []*forall.Fates{with, without} {
					fates, err := f.At(packet)
					require.NoError(t, err)
					assert.Equal(t, fates, []forall.Distribution{a.Here, a.There}[i], packet)
				}
			}
			found[strings.Join(to, " ")] = a.Space.DstPorts
		}
		assert.Equal(t, want, found)
		for d := range with.Diff(without) {
			differ += d.Share
		}
		if ports == (forall.Ports{}) {
			assert.InEpsilon(t, differ, share, 1e-9)
		} else {
			assert.Less(t, share, differ)
		}
	}
}
