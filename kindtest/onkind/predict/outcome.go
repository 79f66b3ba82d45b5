package predict

import (
	"cmp"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/internal/chance"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/scenarios"
)

// outcome is what the two ends of a connection can know of a way: all else of it is left out.
type outcome struct {
	kind outcomeKind
	// host is who answered at the address at, and client the one that it saw. The client's port is not in it: a kernel that translates
	// it takes any. For a packet that was given to one node, out is the device that it leaves by.
	host   string
	at     netip.AddrPort
	client netip.Addr
	out    string
	with   string // what refused it; empty if that is not known
}

type outcomeKind string

const (
	answered outcomeKind = "answered"
	refused  outcomeKind = "refused"
	// silent: the client hears nothing, whoever dropped or lost what on the way.
	silent outcomeKind = "silent"
	// left: the packet leaves the nodes for somewhere else, where nobody of the cluster has its address. What machines there say to it, or
	// do not, nobody can foretell.
	left outcomeKind = "left"
)

// Outcomes are what the ends of a connection can know of each of its ways, in words, sorted and each once. Two proxies do the same if
// theirs are the same.
func Outcomes(proto inet.Proto, ways []scenarios.Way) []string {
	var out []string
	for i := range ways {
		out = append(out, outcomeOf(proto, &ways[i]).String())
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func outcomeOf(proto inet.Proto, w *scenarios.Way) outcome {
	switch {
	case w.End == scenarios.Delivered && w.Heard:
		return outcome{kind: answered, host: w.Host, at: w.Server, client: w.Client.Addr(), out: w.Out}
	case w.Answered, (w.End == scenarios.Refused || w.End == scenarios.Rejected) && w.Heard:
		return outcome{kind: refused, with: with(proto, w)}
	case w.End == scenarios.Lost && (w.Host == scenarios.RouterName || w.OnTheWire):
		return outcome{kind: left}
	}
	return outcome{kind: silent}
}

// with is what refuses: of a REJECT rule what it says, of a port where nobody listens what Linux does.
func with(proto inet.Proto, w *scenarios.Way) string {
	name := w.With
	if name == "" && w.End == scenarios.Refused {
		switch proto {
		case inet.TCP:
			name = "tcp-reset"
		case inet.SCTP:
			name = "sctp-abort"
		case inet.UDP:
			name = "icmp-port-unreachable"
		}
	}
	return strings.Replace(name, "icmp6-", "icmp-", 1)
}

// String is the outcome in words.
func (o outcome) String() string {
	switch {
	case o.kind == answered && o.out != "" && o.out != "local":
		return fmt.Sprintf("leaves %s by %s for %s, from %s", o.host, o.out, address(o.at), o.client)
	case o.kind == answered:
		return fmt.Sprintf("answered by %s at %s, from %s", o.host, address(o.at), o.client)
	case o.kind == refused && o.with != "":
		return "refused with " + o.with
	case o.kind == left:
		return "leaves the cluster"
	}
	return string(o.kind)
}

func address(a netip.AddrPort) string {
	if a.Port() == 0 {
		return a.Addr().String()
	}
	return a.String()
}

// is reports whether what happened is this outcome, as far as both are known.
func (o outcome) is(happened outcome) bool {
	if o.kind == left {
		return happened.kind != answered
	}
	if o.with == "" || happened.with == "" {
		o.with, happened.with = "", ""
	}
	return o == happened
}

// Against judges what happened. Both are in the same words.
func (f *Forecast) Against(seen *scenarios.Observed) *scenarios.Prediction {
	if f.none != "" {
		return &scenarios.Prediction{None: f.none}
	}
	return &scenarios.Prediction{Ways: f.ways, Wrong: f.wrong(seen), Partly: f.partly}
}

// share is an outcome with its probability, predicted or counted.
type share struct {
	outcome
	probability float64
}

// wrong says how what happened is another thing than what was predicted; empty if it is not.
func (f *Forecast) wrong(seen *scenarios.Observed) string {
	predicted, happened := sharesOf(f.proto, f.ways), sharesOf(f.proto, seen.Ways)
	var wrongs []string
	got := make([]float64, len(predicted))
	for _, h := range happened {
		at := slices.IndexFunc(predicted, func(p share) bool { return p.outcome == h.outcome })
		if at < 0 {
			at = slices.IndexFunc(predicted, func(p share) bool { return p.is(h.outcome) })
		}
		if at < 0 {
			wrongs = append(wrongs, fmt.Sprintf("%s is what happened, and no way leads there: %s", h, listOf(predicted)))
			continue
		}
		got[at] += h.probability
	}
	if len(happened) == 0 {
		return "nothing was seen of it"
	}
	for i, p := range predicted {
		if f.partly == "" && len(wrongs) == 0 && !f.fits(got[i], p.probability, seen.Samples) {
			wrongs = append(wrongs, fmt.Sprintf("%s has the chance %.9g, and happened %s", p.outcome, p.probability, timesOf(got[i], seen.Samples)))
		}
	}
	return strings.Join(wrongs, "; ")
}

// sharesOf are the outcomes of ways; those that can be told apart by both are.
func sharesOf(proto inet.Proto, ways []scenarios.Way) []share {
	var out []share
	for i := range ways {
		o := outcomeOf(proto, &ways[i])
		at := slices.IndexFunc(out, func(s share) bool { return s.outcome == o })
		if at < 0 {
			at, out = len(out), append(out, share{outcome: o})
		}
		out[at].probability += ways[i].Probability
	}
	slices.SortStableFunc(out, func(a, b share) int { return cmp.Compare(a.String(), b.String()) })
	return out
}

func listOf(all []share) string {
	var texts []string
	for _, s := range all {
		texts = append(texts, fmt.Sprintf("%.9g %s", s.probability, s.outcome))
	}
	return strings.Join(texts, ", ")
}

// exact is far above what rounding makes of a probability, and far below any difference that is meant.
const exact = 1e-8

// fits says whether a share of so many samples can have a probability; without samples shares are exact.
func (f *Forecast) fits(got, probability float64, samples int) bool {
	if samples == 0 {
		return math.Abs(got-probability) <= exact
	}
	if f.judge != nil && probability < 1-exact {
		f.judge.tested++
	}
	return chance.Fits(int(math.Round(got*float64(samples))), samples, probability)
}

func timesOf(got float64, samples int) string {
	if samples == 0 {
		return fmt.Sprintf("with the chance %.9g", got)
	}
	return fmt.Sprintf("%d of %d times", int(math.Round(got*float64(samples))), samples)
}
