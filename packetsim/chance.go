package packetsim

import (
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
)

// Chance decides where a rule leaves it to chance.
type Chance interface {
	// Draw is true with the probability k/2^31.
	Draw(k uint32) bool
}

// certain is the k of a probability of 1.
const certain = 1 << 31

// exactChance is a Chance that draws with probabilities which are no k/2^31. What every other Chance draws in their place is as near as
// that allows.
type exactChance interface {
	Chance
	// Part is true with the probability part/of.
	Part(part, of uint64) bool
	// OneOf is each number below n, all equally likely.
	OneOf(n uint32) uint32
}

// drawPart is true with the probability part/of.
func drawPart(c Chance, part, of uint64) bool {
	if exact, is := c.(exactChance); is {
		return exact.Part(part, of)
	}
	high, low := bits.Mul64(part, certain)
	k, _ := bits.Div64(high, low, of)
	return c.Draw(uint32(k))
}

// drawOneOf is each number below n, all equally likely.
func drawOneOf(c Chance, n uint32) uint32 {
	if exact, is := c.(exactChance); is {
		return exact.OneOf(n)
	}
	for i := range n - 1 {
		if c.Draw(certain / (n - i)) {
			return i
		}
	}
	return n - 1
}

// SeededChance draws from a seed: the same seed gives the same draws. It draws the ports that the kernel chooses at random, too.
func SeededChance(seed uint64) Chance {
	return &seededChance{rand.New(rand.NewPCG(seed, 0))}
}

type seededChance struct{ source *rand.Rand }

func (c *seededChance) Draw(k uint32) bool { return c.source.Uint32()>>1 < k }

// Number draws one of n numbers.
func (c *seededChance) Number(n uint32) uint32 { return c.source.Uint32N(n) }

// OneOf is Number.
func (c *seededChance) OneOf(n uint32) uint32 { return c.source.Uint32N(n) }

// Part is true with the probability part/of.
func (c *seededChance) Part(part, of uint64) bool { return c.source.Uint64N(of) < part }

// maxOutcomes is the number of ways that Enumerate follows before it gives up.
const maxOutcomes = 1 << 16

// errTooManyOutcomes says that a walk has more than maxOutcomes ways.
var errTooManyOutcomes = errors.New("too many outcomes")

// Enumerate calls walk once for every way that its draws can fall, most often the true branch first, with the way's probability
// after each call by its done argument. The walk must be deterministic but for its draws; each call replays the
// draws that it shares with the one before. Draws that cannot fall both ways are no branches.
func Enumerate(walk func(Chance) error, done func(probability float64) error) error {
	replay := &replayChance{}
	for range maxOutcomes {
		replay.start()
		if err := walk(replay); err != nil {
			return err
		}
		if err := done(replay.probability); err != nil {
			return err
		}
		if !replay.next() {
			return nil
		}
	}
	return fmt.Errorf("%w: gave up after %d; rules that leave less to chance can be walked", errTooManyOutcomes, maxOutcomes)
}

// choice is one of so many ways, from 0; the last is the greatest.
type choice struct{ way, last uint32 }

// replayChance follows one path of the choice tree: path is the choices so far, used is how many of them this run has made.
type replayChance struct {
	path        []choice
	used        int
	probability float64
}

func (c *replayChance) start() { c.used, c.probability = 0, 1 }

// choose repeats the path's choice among so many ways, or makes a new one, that begins with the first.
func (c *replayChance) choose(ways uint32) uint32 {
	if c.used == len(c.path) {
		c.path = append(c.path, choice{last: ways - 1})
	}
	way := c.path[c.used].way
	c.used++
	return way
}

// Draw is a choice among two ways, of which the first is true.
func (c *replayChance) Draw(k uint32) bool { return c.Part(uint64(k), certain) }

// Part is true with the probability part/of.
func (c *replayChance) Part(part, of uint64) bool {
	if part == 0 || part >= of {
		return part != 0
	}
	fell := c.choose(2) == 0
	if !fell {
		part = of - part
	}
	c.probability *= float64(part) / float64(of)
	return fell
}

// OneOf is each number below n, all equally likely.
func (c *replayChance) OneOf(n uint32) uint32 {
	if n <= 1 {
		return 0
	}
	c.probability /= float64(n)
	return c.choose(n)
}

// next turns to the next path: the last choice that is not at its last way takes the next one.
func (c *replayChance) next() bool {
	c.path = c.path[:c.used]
	for len(c.path) > 0 {
		top := &c.path[len(c.path)-1]
		if top.way < top.last {
			top.way++
			return true
		}
		c.path = c.path[:len(c.path)-1]
	}
	return false
}
