package gen

import "math/bits"

// jsf is Bob Jenkins' small fast generator of random numbers, with words of 64 bits (burtleburtle.net/bob/rand/smallprng.html). rapid draws
// from the same one, so that a seed of chainwalk's is one of rapid's.
type jsf struct{ a, b, c, d uint64 }

func newJSF(seed uint64) *jsf {
	const first, mixed = 0xf1ea5eed, 20
	x := &jsf{first, seed, seed, seed}
	for range mixed {
		x.next()
	}
	return x
}

func (x *jsf) next() uint64 {
	e := x.a - bits.RotateLeft64(x.b, 7)
	x.a = x.b ^ bits.RotateLeft64(x.c, 13)
	x.b = x.c + bits.RotateLeft64(x.d, 37)
	x.c = x.d + e
	x.d = e + x.a
	return x.d
}
