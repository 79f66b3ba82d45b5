package gen

import "math/bits"

// draw makes choices, each with the weight that is written beside it.
type draw struct {
	bit func() bool
}

// spareBits make the choices that a power of two cannot divide evenly nearly even.
const spareBits = 4

// below is a number from 0 to n-1.
func (d *draw) below(n int) int {
	if n <= 1 {
		return 0
	}
	width := bits.Len(uint(n-1)) + spareBits
	value := 0
	for range width {
		value <<= 1
		if d.bit() {
			value |= 1
		}
	}
	return value * n >> width
}

// in is true in n of d cases, and not where nothing is to be chosen.
func (d *draw) in(n, of int) bool { return d.below(of) >= of-n }

// pick takes one of the values, the first of which is the plainest.
func pick[T any](d *draw, values ...T) T { return values[d.below(len(values))] }

// weighted is a choice and how often it is made.
type weighted[T any] struct {
	weight int
	value  T
}

// choose takes one of the values by their weights.
func choose[T any](d *draw, values []weighted[T]) T {
	total := 0
	for _, v := range values {
		total += v.weight
	}
	at := d.below(total)
	for _, v := range values {
		if at < v.weight {
			return v.value
		}
		at -= v.weight
	}
	panic("gen: no weight in a choice")
}

// mixture is what a scenario is made of: the source of its choices, the features that it may hold, and what it was asked for.
type mixture struct {
	*draw
	has     Features
	options Options
}
