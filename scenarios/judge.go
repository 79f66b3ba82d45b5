package scenarios

import (
	"fmt"
	"math"
	"math/big"
	"net/netip"
	"slices"
	"strings"
)

// exactTolerance is far above what iptables' rounding of a chance to a multiple
// of 2^-31 makes of it, and far below any difference that is meant.
const exactTolerance = 1e-8

// tooRare is the probability below which a count is no chance any more: what lies five
// standard deviations or more to one side of a normal distribution's mean.
const tooRare = 2.87e-7

// judge is an expectation with what it refers to.
type judge struct {
	expect *Expect
	called netip.AddrPort // the address and port that the sender used
	same   netip.AddrPort // the endpoint behind Expect.SameAs
	nodes  func(netip.Addr) bool
	seen   *Observed
}

// verdict returns what is wrong, empty if everything is as expected, and the place of the way that is at fault, -1 if it is no single one.
func (j *judge) verdict() (wrong string, way int) {
	if len(j.seen.Ways) == 0 {
		return "the packet took no way at all", -1
	}
	kind := j.expect.kind()
	for i := range j.seen.Ways {
		w := &j.seen.Ways[i]
		if wrong := firstOf(kind.judge(j, w), j.extras(w)); wrong != "" {
			return wrong, i
		}
	}
	return j.shares(), -1
}

func firstOf(wrongs ...string) string {
	for _, w := range wrongs {
		if w != "" {
			return w
		}
	}
	return ""
}

func textIn(what, want, got string) string {
	if want == "" || strings.Contains(got, want) {
		return ""
	}
	return fmt.Sprintf("%s is %q, without %q", what, got, want)
}

func (j *judge) ended(w *Way, end End) string {
	if w.End == end {
		return ""
	}
	return w.describe()
}

func (j *judge) heard(w *Way) string { return j.heardBy(w, "the client") }

func (j *judge) heardBy(w *Way, who string) string {
	if w.Heard || j.expect.OneWay {
		return ""
	}
	return who + " does not take it: " + w.describe()
}

func (j *judge) at(w *Way, host string) string {
	if w.Host == host {
		return ""
	}
	return fmt.Sprintf("it ends at %s, not at %s", w.Host, host)
}

func (j *judge) reached(w *Way) string { return firstOf(j.ended(w, Delivered), j.heard(w)) }

func (j *judge) answered(w *Way) string {
	return firstOf(j.reached(w), j.asCalled(w), j.at(w, j.expect.AnsweredBy))
}

func (j *judge) refused(w *Way) string {
	return firstOf(j.ended(w, Refused), j.heard(w), j.at(w, j.expect.RefusedBy))
}

func (j *judge) rejected(w *Way) string {
	return firstOf(j.ended(w, Rejected), j.heard(w), textIn("the answer", j.expect.Reject.Text, w.With))
}

func (j *judge) unanswered(w *Way) string {
	if w.Heard || w.Answered {
		return "the client hears an answer: " + w.describe()
	}
	return ""
}

func (j *judge) delivered(w *Way) string {
	return firstOf(j.ended(w, Delivered), j.heardBy(w, "the other end"))
}

func (j *judge) stray(w *Way) string {
	if w.Heard || w.End != Delivered && w.End != Refused {
		return "not a stray packet: " + w.describe()
	}
	return ""
}

func (j *judge) asCalled(w *Way) string {
	switch {
	case w.Server != j.called:
		return fmt.Sprintf("the destination became %s", w.Server)
	case w.Masqueraded == Yes || w.Client != w.Sender:
		return fmt.Sprintf("the source became %s", w.Client)
	}
	return ""
}

// untouched is a packet that leaves the cluster's nodes as it came: to a socket,
// to a closed port, or out to where nobody has the address.
func (j *judge) untouched(w *Way) string {
	lostOutside := w.End == Lost && (w.Host == RouterName || w.OnTheWire)
	if w.End != Delivered && w.End != Refused && !lostOutside {
		return w.describe()
	}
	return j.asCalled(w)
}

func (j *judge) dropped(w *Way) string {
	text := j.expect.Drop.Text
	if text == "" {
		return j.ended(w, Dropped)
	}
	if w.End != Dropped && w.End != Lost {
		return w.describe()
	}
	if strings.Contains(w.Rule, text) || strings.Contains(w.Reason, text) {
		return ""
	}
	return fmt.Sprintf("%s, without %q", w.describe(), text)
}

// extras checks the fields that narrow an expectation.
func (j *judge) extras(w *Way) string {
	e := j.expect
	if e.Out != "" && w.Out != e.Out {
		return fmt.Sprintf("it leaves by %s, not by %s", w.Out, e.Out)
	}
	if wrong := j.source(w); wrong != "" || j.seen.NoRules {
		return wrong
	}
	if wrong := textIn("the rule that decided", e.Rule, w.Rule); wrong != "" {
		return wrong
	}
	for _, want := range e.Through {
		if !w.passes(want) {
			return fmt.Sprintf("its way has no step %q", want)
		}
	}
	return ""
}

func (w *Way) passes(want string) bool {
	return slices.ContainsFunc(w.Forward, func(h Hop) bool {
		return slices.ContainsFunc(h.Steps, func(s TraceStep) bool {
			return s.At == want || strings.Contains(s.Rule, want)
		})
	})
}

func (j *judge) source(w *Way) string {
	want, seen := j.expect.Source, w.Client.Addr()
	switch {
	case want.Kept && (w.Masqueraded == Yes || seen != w.Sender.Addr()):
		return fmt.Sprintf("the source is not kept: the server sees %s%s", seen, ifMasqueraded(w))
	case want.Masqueraded && w.Masqueraded == No:
		return fmt.Sprintf("the source is not masqueraded: the server sees %s", seen)
	case want.Masqueraded && w.Masqueraded == Unknown && !j.nodes(seen):
		return fmt.Sprintf("the source is not masqueraded: the server sees %s, which is no node's address", seen)
	case want.Addr.IsValid() && (want.Addr != seen || want.Port > 0 && want.Port != w.Client.Port()):
		return fmt.Sprintf("the server sees %s as the source", w.Client)
	}
	return ""
}

func ifMasqueraded(w *Way) string {
	if w.Masqueraded == Yes {
		return ", masqueraded"
	}
	return ""
}

// shares compares the chances of the endpoints with those expected.
func (j *judge) shares() string {
	want := j.expect.Endpoints
	if j.expect.SameAs != "" {
		want = Shares{{j.same, big.NewRat(1, 1)}}
	}
	if len(want) == 0 {
		return ""
	}
	got := map[netip.AddrPort]float64{}
	for _, w := range j.seen.Ways {
		got[w.Server] += w.Probability
	}
	for _, share := range want {
		chance, _ := share.Chance.Float64()
		if !j.fits(got[share.Endpoint], chance) {
			return fmt.Sprintf("%s has the chance %.9g, not %.9g", share.Endpoint, got[share.Endpoint], chance)
		}
		delete(got, share.Endpoint)
	}
	for _, endpoint := range sortedKeys(got) {
		return fmt.Sprintf("%s is none of the endpoints, and has the chance %.9g", endpoint, got[endpoint])
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

// fits says whether a share can be that of an endpoint with this chance.
func (j *judge) fits(share, chance float64) bool {
	if j.seen.Samples == 0 {
		return math.Abs(share-chance) <= exactTolerance
	}
	count := int(math.Round(share * float64(j.seen.Samples)))
	below, above := binomialTails(count, j.seen.Samples, chance)
	return below >= tooRare && above >= tooRare
}

// binomialTails are the probabilities that something with this chance happens at most, and at least, count times in so many tries.
// A small chance has a long tail above, of which standard deviations say nothing.
func binomialTails(count, tries int, chance float64) (below, above float64) {
	choose, _ := math.Lgamma(float64(tries + 1))
	for k := range tries + 1 {
		happened, _ := math.Lgamma(float64(k + 1))
		not, _ := math.Lgamma(float64(tries - k + 1))
		p := math.Exp(choose - happened - not + logPower(chance, k) + logPower(1-chance, tries-k))
		if k <= count {
			below += p
		}
		if k >= count {
			above += p
		}
	}
	return below, above
}

// logPower is the logarithm of x to the power of n, which is 1 for an n of 0 even if x is 0.
func logPower(x float64, n int) float64 {
	if n == 0 {
		return 0
	}
	return float64(n) * math.Log(x)
}

// describe says in one line how a way ends.
func (w *Way) describe() string {
	switch w.End {
	case Delivered:
		switch {
		case !w.Heard:
			return fmt.Sprintf("reaches %s at %s, from %s, but in vain: %s", endpoint(w.Server), w.Host, endpoint(w.Client), w.Why)
		case w.Out != "" && w.Out != "local":
			return fmt.Sprintf("leaves %s for %s, from %s", w.Host, endpoint(w.Server), endpoint(w.Client))
		}
		return fmt.Sprintf("reaches %s at %s, from %s", endpoint(w.Server), w.Host, endpoint(w.Client))
	case Refused:
		return fmt.Sprintf("refused by %s: nothing listens on %s", w.Host, endpoint(w.Server))
	case Rejected:
		return fmt.Sprintf("rejected on %s with %s%s", w.Host, w.With, unheard(w))
	case Dropped:
		return fmt.Sprintf("dropped on %s by %s", w.Host, w.Rule)
	}
	return fmt.Sprintf("lost at %s: %s", w.Host, w.Reason)
}

// endpoint is ADDRESS:PORT, or the address where there is no port, as of ICMP.
func endpoint(a netip.AddrPort) string {
	if a.Port() == 0 {
		return a.Addr().String()
	}
	return a.String()
}

func unheard(w *Way) string {
	if w.Heard || w.Why == "" {
		return ""
	}
	return ", which the client does not get: " + w.Why
}

// describeWays says in a few lines what was seen, ways of the same end together.
func describeWays(ways []Way) string {
	chance := map[string]float64{}
	var ends []string
	for i := range ways {
		text := ways[i].describe()
		if _, known := chance[text]; !known {
			ends = append(ends, text)
		}
		chance[text] += ways[i].Probability
	}
	slices.Sort(ends)
	for i, text := range ends {
		if len(ends) > 1 {
			ends[i] = fmt.Sprintf("%.9g %s", chance[text], text)
		}
	}
	return strings.Join(ends, "; ")
}
