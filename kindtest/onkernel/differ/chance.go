package differ

import (
	"math"
	"slices"

	"github.com/chainwalk/chainwalk/packetsim"
)

// certain is the k of a draw that always falls true.
const certain = 1 << 31

// draw is one decision that the kernel left to chance: K/2^31 is the probability of true.
type draw struct {
	K    uint32
	Fell bool
}

// guide makes a walk fall the way of one of its outcomes. Outcomes are listed with the true branch of each
// draw first, so those of a branch are next to each other and their probabilities add up to the branch's.
type guide struct {
	outcomes []packetsim.Outcome
	lo, hi   int // the outcomes that are still possible
	target   int
	draws    []draw
}

func newGuide(outcomes []packetsim.Outcome, target int) *guide {
	return &guide{outcomes: outcomes, hi: len(outcomes), target: target}
}

// Draw falls to the side where the target is.
func (g *guide) Draw(k uint32) bool {
	if k == 0 || k >= certain {
		return k != 0
	}
	total := 0.0
	for _, o := range g.outcomes[g.lo:g.hi] {
		total += o.Probability
	}
	middle, sum := g.lo, 0.0
	for ; middle < g.hi && sum < total*float64(k)/certain*(1-1e-9); middle++ {
		sum += g.outcomes[middle].Probability
	}
	fell := g.target < middle
	if fell {
		g.hi = middle
	} else {
		g.lo = middle
	}
	g.draws = append(g.draws, draw{k, fell})
	return fell
}

// falseAlarm is the probability that a kernel that draws right is called wrong in one run.
const falseAlarm = 1e-6

// fit is the result of a chi-squared test.
type fit struct {
	ChiSquared float64 `json:"chiSquared"`
	Freedom    int     `json:"degreesOfFreedom"`
	Draws      int     `json:"draws"`
	// P is the probability of a fit as bad as this one or worse.
	P float64 `json:"p"`
}

// leastExpected is the number of expected cases on either side below which draws are put together with others.
const leastExpected = 10

// fitDraws tests the draws of each probability. Those too rare for a test of their own are put into one class by the
// sum of their probabilities.
func fitDraws(draws []draw) fit {
	groups := map[uint32][]draw{}
	for _, d := range draws {
		groups[d.K] = append(groups[d.K], d)
	}
	keys := make([]uint32, 0, len(groups))
	for k := range groups {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	f := fit{Draws: len(draws)}
	var rest []draw
	for _, k := range keys {
		if !f.add(groups[k]) {
			rest = append(rest, groups[k]...)
		}
	}
	f.add(rest)
	f.P = 1
	if f.Freedom > 0 {
		f.P = chiSquaredTail(f.ChiSquared, f.Freedom)
	}
	return f
}

// add counts a group as one degree of freedom, if it is large enough.
func (f *fit) add(group []draw) bool {
	mean, variance, seen := 0.0, 0.0, 0.0
	for _, d := range group {
		p := float64(d.K) / certain
		mean, variance = mean+p, variance+p*(1-p)
		if d.Fell {
			seen++
		}
	}
	if mean < leastExpected || float64(len(group))-mean < leastExpected {
		return false
	}
	f.ChiSquared += (seen - mean) * (seen - mean) / variance
	f.Freedom++
	return true
}

// chiSquaredTail is the probability that chi-squared with n degrees of freedom is x or more: the regularized upper incomplete gamma
// function.
func chiSquaredTail(x float64, n int) float64 {
	a, half := float64(n)/2, x/2
	if half <= 0 {
		return 1
	}
	logGamma, _ := math.Lgamma(a)
	front := math.Exp(a*math.Log(half) - half - logGamma)
	if half < a+1 {
		return 1 - front*lowerSeries(a, half)
	}
	return front * upperFraction(a, half)
}

// lowerSeries is the series of the lower function without its front factor.
func lowerSeries(a, x float64) float64 {
	term := 1 / a
	sum := term
	for n := 1; n < 1000 && term > sum*1e-15; n++ {
		term *= x / (a + float64(n))
		sum += term
	}
	return sum
}

// upperFraction is the continued fraction of the upper function without its front factor, by Lentz's method.
func upperFraction(a, x float64) float64 {
	const tiny = 1e-300
	b := x + 1 - a
	c, d := 1/tiny, 1/b
	h := d
	for n := 1; n < 1000; n++ {
		an := -float64(n) * (float64(n) - a)
		b += 2
		d = 1 / nonZero(an*d+b, tiny)
		c = nonZero(b+an/c, tiny)
		h *= d * c
		if math.Abs(d*c-1) < 1e-15 {
			break
		}
	}
	return h
}

func nonZero(x, tiny float64) float64 {
	if math.Abs(x) < tiny {
		return tiny
	}
	return x
}
