// Package chance says whether a probability explains a count.
//
// It fits any count.
package chance

import "math"

// TooRare is the probability below which a count is no chance any more, on either side: what lies five standard deviations or more to
// one side of a normal distribution's mean. So a count that is as it should be is refused in less than 2*TooRare of all cases.
const TooRare = 2.87e-7

// Fits reports whether something that happened count times in so many tries can have this probability.
func Fits(count, tries int, probability float64) bool {
	below, above := tails(count, tries, probability)
	return below >= TooRare && above >= TooRare
}

// tails are the probabilities that something with this probability happens at most, and at least, count times in so many tries.
// They are exact: a small probability has a long tail above, of which standard deviations say nothing.
func tails(count, tries int, probability float64) (below, above float64) {
	choose, _ := math.Lgamma(float64(tries + 1))
	for k := range tries + 1 {
		happened, _ := math.Lgamma(float64(k + 1))
		not, _ := math.Lgamma(float64(tries - k + 1))
		p := math.Exp(choose - happened - not + logPower(probability, k) + logPower(1-probability, tries-k))
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
