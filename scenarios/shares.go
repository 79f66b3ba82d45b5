package scenarios

import (
	"fmt"
	"math"
	"math/big"
	"net/netip"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/chainwalk/chainwalk/internal/chance"
	"github.com/chainwalk/chainwalk/internal/document"
)

// Share is an endpoint and its chance.
type Share struct {
	Endpoint netip.AddrPort
	Chance   *big.Rat
}

// Shares are endpoints with their chances, which sum to 1, in file order.
type Shares []Share

// UnmarshalDocument reads a list of endpoints or a mapping of endpoints to chances.
func (s *Shares) UnmarshalDocument(d *document.Decoder, n *yaml.Node) {
	before := d.Count()
	switch n.Kind {
	case yaml.SequenceNode:
		for _, item := range n.Content {
			s.add(d, item, big.NewRat(1, int64(len(n.Content))))
		}
	case yaml.MappingNode:
		d.Pairs(n, "endpoints", func(key, value *yaml.Node) {
			text, _ := d.Scalar(value, "a chance such as 1/2, 0.5 or 50%")
			chance, err := parseChance(text)
			if err != nil {
				d.Errorf(value, "%v", err)
				return
			}
			s.add(d, key, chance)
		})
	default:
		d.Errorf(n, "endpoints: want a list of ADDRESS:PORT, or a mapping of ADDRESS:PORT to a chance")
		return
	}
	sum := new(big.Rat)
	for _, share := range *s {
		sum.Add(sum, share.Chance)
	}
	if d.Count() == before && sum.Cmp(big.NewRat(1, 1)) != 0 {
		d.Errorf(n, "endpoints: the chances sum to %s, not to 1", sum.RatString())
	}
}

func (s *Shares) add(d *document.Decoder, n *yaml.Node, chance *big.Rat) {
	text, ok := d.Scalar(n, "an endpoint")
	if !ok {
		return
	}
	ap, err := netip.ParseAddrPort(text)
	if err != nil || ap.Port() == 0 {
		d.Errorf(n, "%q is no endpoint (want ADDRESS:PORT, an IPv6 address in brackets)", text)
		return
	}
	for _, other := range *s {
		if other.Endpoint == ap {
			d.Errorf(n, "%s is given twice", ap)
			return
		}
	}
	*s = append(*s, Share{ap, chance})
}

func (s Shares) spell() (*yaml.Node, error) {
	equal := big.NewRat(1, int64(max(len(s), 1)))
	differ := slices.ContainsFunc(s, func(one Share) bool { return one.Chance.Cmp(equal) != 0 })
	out := sequence()
	if differ {
		out = mapping()
	}
	for _, one := range s {
		out.Content = append(out.Content, document.Text(one.Endpoint.String()))
		if differ {
			out.Content = append(out.Content, document.Text(one.Chance.RatString()))
		}
	}
	return out, nil
}

// String prints the shares as a mapping, sorted by endpoint.
func (s Shares) String() string {
	sorted := slices.Clone(s)
	slices.SortFunc(sorted, func(a, b Share) int { return a.Endpoint.Compare(b.Endpoint) })
	return listOf(sorted, func(one Share) string { return one.Endpoint.String() + ": " + one.Chance.RatString() })
}

// parseChance reads 1/2, 0.5, 50%, 1.
func parseChance(s string) (*big.Rat, error) {
	number, percent := strings.CutSuffix(s, "%")
	r, ok := new(big.Rat), false
	if len(number) > 0 && len(number) < 64 && strings.Trim(number, "0123456789./") == "" {
		r, ok = r.SetString(number)
	}
	if !ok {
		return nil, fmt.Errorf("%q is no chance (want 1/2, 0.5 or 50%%)", s)
	}
	if percent {
		r.Quo(r, big.NewRat(100, 1))
	}
	if r.Sign() <= 0 || r.Cmp(big.NewRat(1, 1)) > 0 {
		return nil, fmt.Errorf("a chance is more than 0 and at most 1, not %s", s)
	}
	return r, nil
}

// exactTolerance is far above what iptables' rounding of a chance to a multiple
// of 2^-31 makes of it, and far below any difference that is meant.
const exactTolerance = 1e-8

// shares compares the chances of the endpoints with those expected.
func (j *judge) shares() string {
	want := j.expect.Endpoints
	if j.expect.SameAs != "" {
		want = Shares{{j.kept[j.expect.SameAs].endpoint, big.NewRat(1, 1)}}
	}
	if len(want) == 0 {
		return ""
	}
	got := map[netip.AddrPort]float64{}
	for _, w := range j.seen.Ways {
		got[w.Server] += w.Probability
	}
	for _, share := range want {
		want, _ := share.Chance.Float64()
		if !j.fits(got[share.Endpoint], want) {
			return fmt.Sprintf("%s has the chance %.9g, not %.9g", share.Endpoint, got[share.Endpoint], want)
		}
		delete(got, share.Endpoint)
	}
	if j.possible {
		return ""
	}
	for _, endpoint := range sortedKeys(got) {
		return fmt.Sprintf("%s is not an endpoint, and has the chance %.9g", endpoint, got[endpoint])
	}
	return ""
}

func sortedKeys(m map[netip.AddrPort]float64) []netip.AddrPort {
	keys := make([]netip.AddrPort, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, netip.AddrPort.Compare)
	return keys
}

// fits says whether a share can be that of an endpoint with this probability.
func (j *judge) fits(share, probability float64) bool {
	if j.possible {
		return share > 0
	}
	if j.seen.Samples == 0 {
		return math.Abs(share-probability) <= exactTolerance
	}
	return chance.Fits(int(math.Round(share*float64(j.seen.Samples))), j.seen.Samples, probability)
}
