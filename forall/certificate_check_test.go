package forall_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"math/big"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/chainwalk/chainwalk/forall/certificate"
	"github.com/chainwalk/chainwalk/forall/certify"
	_ "github.com/chainwalk/chainwalk/internal/garbage"
	"github.com/chainwalk/chainwalk/internal/sample"
	"github.com/chainwalk/chainwalk/netfilter"
)

const (
	// shared is a rule that a service with two endpoints has, behind a firewall.
	shared = "*filter\n:INPUT ACCEPT [0:0]\n:FORWARD DROP [0:0]\n:OUTPUT ACCEPT [0:0]\n" +
		"-A FORWARD -d 10.244.0.0/16 -p tcp -m tcp --dport 8080 -j ACCEPT\n" + closed + "COMMIT\n" +
		"*nat\n:PREROUTING ACCEPT [0:0]\n:INPUT ACCEPT [0:0]\n:OUTPUT ACCEPT [0:0]\n:POSTROUTING ACCEPT [0:0]\n" +
		"-A PREROUTING -d 10.96.0.1/32 -p tcp -m tcp --dport 80 -m statistic --mode random --probability 0.33333333349 " +
		"-j DNAT --to-destination 10.244.0.2:8080\n" +
		"-A PREROUTING -d 10.96.0.1/32 -p tcp -m tcp --dport 80 -j DNAT --to-destination 10.244.0.3:8080\nCOMMIT\n"
	closed = "-A FORWARD -s 10.0.0.0/8 -p udp -m udp --dport 53 -j ACCEPT\n"
)

// issued is a certificate of two texts of rules of IPv4.
func issued(t require.TestingT, before, after string) *certificate.Certificate {
	c, err := certify.Of(certificate.Input{Name: "before", Text: before}, certificate.Input{Name: "after", Text: after},
		certify.Options{Families: []netfilter.Family{netfilter.IPv4}})
	require.NoError(t, err)
	return c
}

// copied is a certificate as it is read again, to be tampered with.
func copied(t require.TestingT, c *certificate.Certificate) *certificate.Certificate {
	var b bytes.Buffer
	require.NoError(t, c.Write(&b))
	again, err := certificate.Read(&b)
	require.NoError(t, err)
	return again
}

// boxOf is the box that has a packet to a destination and port of TCP, from outside.
func boxOf(t *testing.T, c *certificate.Certificate, dst string, port uint16) int {
	t.Helper()
	to, from := netip.MustParseAddr(dst), netip.MustParseAddr("192.0.2.1")
	for i, b := range c.Parts[0].Boxes {
		has := func(a certificate.Addrs, addr netip.Addr) bool { return !addr.Less(a.First) && !a.Last.Less(addr) }
		if has(b.Dst, to) && has(b.Src, from) && b.DstPorts.First <= port && port <= b.DstPorts.Last &&
			b.Protos.First <= 6 && 6 <= b.Protos.Last && b.SrcPorts.First <= 40000 && 40000 <= b.SrcPorts.Last &&
			strings.Contains(strings.Join(b.In, " "), "eth0") {
			return i
		}
	}
	t.Fatal("no box")
	return 0
}

// TestTamperingIsRefused changes certificates that hold.
func TestTamperingIsRefused(t *testing.T) {
	same, changed := issued(t, shared, shared), issued(t, shared, strings.Replace(shared, closed, "", 1))
	for _, c := range []*certificate.Certificate{same, changed} {
		_, err := certificate.Check(copied(t, c), certificate.Options{})
		require.NoError(t, err)
	}
	require.True(t, same.Same)
	require.False(t, changed.Same)
	service := boxOf(t, same, "10.96.0.1", 80)
	boxes := func(c *certificate.Certificate) []certificate.Box { return c.Parts[0].Boxes }
	for name, row := range map[string]struct {
		of     *certificate.Certificate
		tamper func(c *certificate.Certificate)
		want   string
	}{
		"a box is removed": {same, func(c *certificate.Certificate) {
			c.Parts[0].Boxes = slices.Delete(boxes(c), service, service+1)
		},
			"no box has the packets with destination 10.96.0.1, port 80"},
		"a box is there twice": {same, func(c *certificate.Certificate) {
			c.Parts[0].Boxes = append(boxes(c), boxes(c)[service])
		}, "overlaps box"},
		"a box is larger": {same, func(c *certificate.Certificate) { boxes(c)[service].DstPorts.Last++ }, "overlaps box"},
		"a box is smaller": {same, func(c *certificate.Certificate) {
			boxes(c)[boxOf(t, c, "10.96.0.1", 9000)].DstPorts.First++
		}, "no box has the packets with destination 10.96.0.1, port"},
		"a device is left out": {same, func(c *certificate.Certificate) {
			boxes(c)[service].In = boxes(c)[service].In[:1]
		}, "no box has the packets"},
		"a device that is not there": {same, func(c *certificate.Certificate) {
			boxes(c)[service].In = append(boxes(c)[service].In, "eth9")
		}, `neither host has the device "eth9"`},
		"a rule cuts a box": {same, func(c *certificate.Certificate) { joinAll(c) }, " cuts it "},
		"another fate":      {same, func(c *certificate.Certificate) { n := 0; boxes(c)[service].Fates = &n }, "has other fates: a walk says"},
		"another weight":    {same, func(c *certificate.Certificate) { swapWeights(c) }, "1/3"},
		"a weight too near": {same, func(c *certificate.Certificate) { weigh(c, big.NewRat(333333333, 1000000000)) }, "333333333/1000000000"},
		"another endpoint": {same, func(c *certificate.Certificate) {
			eachFate(c, func(f *certificate.Fate) {
				if f.Dst == netip.MustParseAddr("10.244.0.3") {
					f.Dst = netip.MustParseAddr("10.244.0.4")
				}
			})
		}, "10.244.0.4"},
		"a rule is edited": {same, func(c *certificate.Certificate) {
			c.After.Text = strings.Replace(c.After.Text, "--dport 53", "--dport 54", 1)
		},
			"on after, "},
		"a rule is gone": {same, func(c *certificate.Certificate) {
			c.Before.Text = strings.Replace(c.Before.Text, closed, "", 1)
		}, "on before, "},
		"the policy": {same, func(c *certificate.Certificate) {
			c.After.Text = strings.Replace(c.After.Text, "FORWARD DROP", "FORWARD ACCEPT", 1)
		}, "on after, "},
		"exact draws":     {same, func(c *certificate.Certificate) { c.Chance = certificate.Exact }, "has other fates"},
		"it says same":    {changed, func(c *certificate.Certificate) { c.Same = true }, "it says same is true, but its boxes say false"},
		"it says differs": {same, func(c *certificate.Certificate) { c.Same = false }, "it says same is false, but its boxes say true"},
		"differences are hidden": {changed, func(c *certificate.Certificate) {
			for i := range boxes(c) {
				if b := &boxes(c)[i]; b.Witness != "" {
					b.Fates, b.Before, b.After, b.Witness = b.Before, nil, nil, ""
				}
			}
			c.Same = true
		}, "on after, "},
		"sides are swapped": {changed, func(c *certificate.Certificate) {
			c.Before.Text, c.After.Text = c.After.Text, c.Before.Text
		}, "on before, "},
	} {
		t.Run(name, func(t *testing.T) {
			c := copied(t, row.of)
			row.tamper(c)
			_, err := certificate.Check(copied(t, c), certificate.Options{})
			var wrong *certificate.Problem
			require.ErrorAs(t, err, &wrong)
			assert.Contains(t, err.Error(), row.want)
		})
	}
}

// joinAll makes one box of all packets.
func joinAll(c *certificate.Certificate) {
	all, devices := c.Parts[0].Boxes, map[string]bool{}
	for _, b := range all {
		for _, d := range b.In {
			devices[d] = true
		}
	}
	every := certificate.Addrs{First: netip.IPv4Unspecified(), Last: netip.AddrFrom4([4]byte{255, 255, 255, 255})}
	ports, zero := certificate.Numbers{Last: 65535}, 0
	c.Parts[0].Boxes = []certificate.Box{{
		Dst: every, DstPorts: ports, Protos: certificate.Numbers{Last: 255}, Src: every, SrcPorts: ports,
		In: slices.Sorted(maps.Keys(devices)), Fates: &zero,
	}}
}

func eachFate(c *certificate.Certificate, change func(*certificate.Fate)) {
	for _, d := range c.Fates {
		for i := range d {
			change(&d[i].Fate)
		}
	}
}

// swapWeights gives the endpoints each other's weights.
func swapWeights(c *certificate.Certificate) {
	for _, d := range c.Fates {
		if len(d) == 2 {
			d[0].Weight, d[1].Weight = d[1].Weight, d[0].Weight
		}
	}
}

// weigh gives the first of two fates a weight.
func weigh(c *certificate.Certificate, first *big.Rat) {
	for _, d := range c.Fates {
		if len(d) == 2 {
			d[0].Weight.Rat = first
			d[1].Weight.Rat = new(big.Rat).Sub(big.NewRat(1, 1), first)
		}
	}
}

// TestWhatCannotBeCheckedIsNoProblem tells apart what does not hold and what nobody can say.
func TestWhatCannotBeCheckedIsNoProblem(t *testing.T) {
	c := issued(t, shared, shared)
	var wrong *certificate.Problem
	_, err := certificate.Check(c, certificate.Options{MostParts: 20})
	require.ErrorContains(t, err, "more parts than are allowed: 20")
	assert.False(t, errors.As(err, &wrong))
	c.Before.Text = "*filter\nnonsense\n"
	_, err = certificate.Check(c, certificate.Options{})
	require.ErrorContains(t, err, "before:2")
	assert.False(t, errors.As(err, &wrong))
}

// TestAMutatedNumberIsRefusedOrHarmless changes one number of the text. Who reads the certificate then is told so, or the number is one
// of what both hosts say in the same way for the same packets.
func TestAMutatedNumberIsRefusedOrHarmless(t *testing.T) {
	sample.Checks(t, 30)
	const rules = "*filter\n:INPUT ACCEPT [0:0]\n:FORWARD DROP [0:0]\n:OUTPUT ACCEPT [0:0]\n" +
		"-A FORWARD -p tcp -m tcp --dport 80 -j ACCEPT\nCOMMIT\n"
	c := issued(t, rules, rules)
	var b bytes.Buffer
	require.NoError(t, c.Write(&b))
	text := b.Bytes()
	from := bytes.Index(text, []byte(`"fates": [`))
	var digits []int
	for i := from; i < len(text); i++ {
		if text[i] >= '0' && text[i] <= '9' {
			digits = append(digits, i)
		}
	}
	claims := claimsOf(t, c)
	rapid.Check(t, func(t *rapid.T) {
		at := rapid.SampledFrom(digits).Draw(t, "at")
		digit := byte('0' + rapid.IntRange(0, 9).Draw(t, "digit"))
		mutant := bytes.Clone(text)
		mutant[at] = digit
		read, err := certificate.Read(bytes.NewReader(mutant))
		if err != nil {
			return
		}
		if _, err := certificate.Check(read, certificate.Options{}); err == nil && !bytes.Equal(mutant, text) {
			assert.Equal(t, claims, claimsOf(t, read), "%s", mutant[max(0, at-80):min(at+40, len(mutant))])
		}
	})
}

// claimsOf is what a certificate says, whatever the numbers of its fates are, and however it is divided into boxes.
func claimsOf(t require.TestingT, c *certificate.Certificate) map[string]string {
	claims := map[string]string{}
	for _, p := range c.Parts {
		for _, b := range p.Boxes {
			fates := b.Open
			if b.Fates != nil {
				text, err := json.Marshal(c.Fates[*b.Fates])
				require.NoError(t, err)
				fates = string(text)
			}
			b.Fates, b.Open = nil, ""
			where, err := json.Marshal(&b)
			require.NoError(t, err)
			claims[string(where)] = fates
		}
	}
	return claims
}

// TestReadSaysWhatIsWrong reads documents that are none.
func TestReadSaysWhatIsWrong(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, issued(t, shared, shared).Write(&b))
	whole := b.String()
	for _, row := range []struct{ old, with, want string }{
		{`"version": 1`, `"version": 2`, "version 2: this chainwalk reads version 1"},
		{`"version": 1`, `"verson": 1`, "verson"},
		{`"chance": "ideal"`, `"chance": "none"`, `chance "none": want ideal or exact`},
		{`"ignore": []`, `"ignore": ["ports"]`, `ignore "ports": want mark, source or detail`},
		{`"family": 4`, `"family": 5`, "family 5: want 4 or 6"},
		{`"family": 4`, `"family": 6`, "its dst and src must be addresses of the family"},
		{`"class": "new"`, `"class": "old"`, `class "old": want new, established, replying, related, invalid or untracked`},
		{`"weight":"1/3"`, `"weight":"2/6"`, `"2/6": want a probability`},
		{`"weight":"1/3"`, `"weight":"1/0"`, `"1/0": want a probability`},
		{`"weight":"1/3"`, `"weight":"1/4"`, "the weights add up to 11/12, want 1"},
		{`"fates":0`, `"fates":99`, "fates 99: there are"},
		{`"fates":0`, `"before":0`, "want either fates, or before and after with a witness"},
		{`"sports":"0-65535"`, `"sports":"0-65536"`, `"0-65536": want a number below 65536`},
		{`"sports":"0-65535"`, `"sports":"9-3"`, "the last is before the first"},
		{`"protos":"0-255"`, `"protos":"0-256"`, "protos 256: want numbers below 256"},
		{"]\n}\n", "]\n}\n{}", "something stands behind it"},
	} {
		require.Contains(t, whole, row.old)
		_, err := certificate.Read(strings.NewReader(strings.Replace(whole, row.old, row.with, 1)))
		require.ErrorContains(t, err, row.want)
	}
}

// FuzzRead reads any text. What is read is written and read again the same.
func FuzzRead(f *testing.F) {
	var b bytes.Buffer
	require.NoError(f, issued(f, "*filter\n:FORWARD DROP [0:0]\nCOMMIT\n", "*filter\n:FORWARD ACCEPT [0:0]\nCOMMIT\n").Write(&b))
	f.Add(b.String())
	f.Add(`{"version": 1}`)
	f.Fuzz(func(t *testing.T, text string) {
		c, err := certificate.Read(strings.NewReader(text))
		if err != nil {
			return
		}
		var once, twice bytes.Buffer
		require.NoError(t, c.Write(&once))
		require.NoError(t, copied(t, c).Write(&twice))
		assert.Equal(t, once.String(), twice.String())
	})
}
