package story

import (
	"cmp"
	"fmt"
	"math"
)

// shareSteps is how fine probabilities are told apart: kube-proxy writes them with ten digits, and the kernel rounds them to 2^-31.
const shareSteps = 1e6

// compareShares orders probabilities as far as they can be told apart.
func compareShares(a, b float64) int {
	return cmp.Compare(math.Round(a*shareSteps), math.Round(b*shareSteps))
}

// ShareText is a probability as a fraction, 1/3, where it is one, or else in percent.
func ShareText(p float64) string {
	const greatest = 1000
	if n := math.Round(1 / p); p > 0 && n <= greatest && compareShares(p, 1/n) == 0 {
		if n == 1 {
			return "1"
		}
		return fmt.Sprintf("1/%.0f", n)
	}
	for n := 3.0; n <= 12; n++ {
		if k := math.Round(p * n); k > 0 && compareShares(p, k/n) == 0 {
			return fmt.Sprintf("%.0f/%.0f", k, n)
		}
	}
	return fmt.Sprintf("%.3g%%", 100*p)
}

// sharesText is what each of several ways has, "1/3 each", or between which shares they are.
func sharesText(shares []float64) string {
	least, most := shares[0], shares[0]
	for _, p := range shares {
		least, most = min(least, p), max(most, p)
	}
	switch {
	case compareShares(least, most) == 0:
		return ShareText(least) + " each"
	case len(shares) == 2:
		return ShareText(shares[0]) + " and " + ShareText(shares[1])
	}
	return ShareText(least) + " to " + ShareText(most) + " each"
}
