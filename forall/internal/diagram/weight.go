package diagram

import "math/bits"

// Weight is a probability: as a float for people, and as its residue modulo the prime 2^61-1, by which weights are compared. Products of
// k/2^31 and
// of 1/n have such a residue at no cost, where the exact fractions of a service of a thousand endpoints would have thirty thousand bits
// each.
// Two different probabilities have one residue with a chance of 2^-61.
type Weight struct {
	float   float64
	residue uint64
}

// prime is the modulus of residues.
const prime = 1<<61 - 1

// Certain is the weight of what always happens.
var Certain = Weight{1, 1}

// Fraction is the weight part/of; of is not 0.
func Fraction(part, of uint64) Weight {
	if part == of {
		return Certain
	}
	return Weight{float64(part) / float64(of), times(part%prime, power(of%prime, prime-2))}
}

// Float is the probability.
func (w Weight) Float() float64 { return w.float }

// IsZero says whether it never happens.
func (w Weight) IsZero() bool { return w.residue == 0 }

// Equal says whether two probabilities are the same.
func (w Weight) Equal(v Weight) bool { return w.residue == v.residue }

// Times is the probability that both of two independent things happen.
func (w Weight) Times(v Weight) Weight {
	switch {
	case w.residue == 1:
		return v
	case v.residue == 1:
		return w
	}
	return Weight{w.float * v.float, times(w.residue, v.residue)}
}

// Plus is the probability that one of two things happens that never happen together.
func (w Weight) Plus(v Weight) Weight {
	sum := w.residue + v.residue
	if sum >= prime {
		sum -= prime
	}
	if sum == 1 {
		return Certain
	}
	return Weight{w.float + v.float, sum}
}

// Rest is the probability that it does not happen.
func (w Weight) Rest() Weight { return Weight{1 - w.float, (prime + 1 - w.residue) % prime} }

// times is the product modulo the prime.
func times(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	sum := low&prime + (low>>61 | high<<3)
	if sum = sum&prime + sum>>61; sum >= prime {
		sum -= prime
	}
	return sum
}

// power is a^n modulo the prime; that with n = prime-2 is the inverse of a.
func power(a, n uint64) uint64 {
	p := uint64(1)
	for ; n > 0; n >>= 1 {
		if n&1 != 0 {
			p = times(p, a)
		}
		a = times(a, a)
	}
	return p
}
