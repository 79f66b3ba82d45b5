package forall_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/forall"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// TestAPortIsOfProtocolsThatHavePorts: an echo request reaches no port, and a protocol that is named counts.
func TestAPortIsOfProtocolsThatHavePorts(t *testing.T) {
	f := fatesOf(t, (&services{count: 3}).host(t), nil)
	protos := func(q forall.Question) map[inet.Proto]bool {
		out := map[inet.Proto]bool{}
		for a := range f.Where(q) {
			for n := range 256 {
				if a.Space.Protos.Has(uint16(n)) {
					out[inet.Proto(n)] = true
				}
			}
		}
		return out
	}
	ported := map[inet.Proto]bool{inet.TCP: true, inet.UDP: true, inet.SCTP: true}
	endpoint := mustPrefix("10.244.0.8/32")
	assert.Equal(t, ported, protos(forall.Question{EndDst: endpoint, EndPort: 9, Fate: (*forall.Fate).Arrives}))
	assert.Equal(t, ported, protos(forall.Question{Dst: endpoint, DstPort: 9}))
	assert.Len(t, protos(forall.Question{EndDst: endpoint, Fate: (*forall.Fate).Arrives}), 256)
	assert.Equal(t, map[inet.Proto]bool{inet.UDP: true}, protos(forall.Question{Dst: endpoint, DstPort: 9, Proto: uint8(inet.UDP)}))
}

// TestKindsAreTheAnswers: the kinds have the boxes of all questions and their shares, and a kind's likely packet has its fates.
func TestKindsAreTheAnswers(t *testing.T) {
	f := fatesOf(t, (&services{count: 3}).host(t), nil)
	questions := []forall.Question{
		{EndDst: mustPrefix("10.244.0.8/32"), EndPort: 8080, Fate: (*forall.Fate).Arrives},
		{EndDst: mustPrefix("10.244.0.9/32"), Fate: (*forall.Fate).Arrives, Dst: mustPrefix("10.96.0.0/16")},
	}
	boxes, share := 0, 0.0
	for _, q := range questions {
		for a := range f.Where(q) {
			boxes, share = boxes+1, share+a.Space.Share
		}
	}
	require.Positive(t, boxes)
	for name, alike := range map[string]func(*inet.Input) string{
		"by fate alone": nil, "by packet too": func(in *inet.Input) string { return in.String() },
	} {
		left, rest := boxes, share
		kinds := f.Kinds(questions, alike)
		for _, k := range kinds {
			left, rest = left-k.Boxes, rest-k.Share
			whole, err := f.At(k.Witness)
			require.NoError(t, err, k.Space.String())
			for _, part := range k.Fates {
				assert.Contains(t, whole, part, "%s: %s", name, k.Witness)
			}
		}
		assert.Zero(t, left, name)
		assert.InDelta(t, 0, rest, share*1e-9, name)
		if alike != nil {
			assert.Greater(t, len(kinds), len(f.Kinds(questions, nil)))
		}
	}
}
