package packetsim

import (
	"errors"
	"fmt"
	"math/rand/v2"
)

// Chance decides where a rule leaves it to chance.
type Chance interface {
	// Draw is true with the probability k/2^31.
	Draw(k uint32) bool
}

// certain is the k of a probability of 1.
const certain = 1 << 31

// SeededChance draws from a seed: the same seed gives the same draws. It draws the ports that the kernel chooses at random, too.
func SeededChance(seed uint64) Chance {
	return &seededChance{rand.New(rand.NewPCG(seed, 0))}
}

type seededChance struct{ source *rand.Rand }

func (c *seededChance) Draw(k uint32) bool { return c.source.Uint32()>>1 < k }

// Number draws one of n numbers.
func (c *seededChance) Number(n uint32) uint32 { return c.source.Uint32N(n) }

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

// replayChance follows one path of the choice tree: path is the draws so far, used is how many of them this run has made.
type replayChance struct {
	path        []bool
	used        int
	probability float64
}

func (c *replayChance) start() { c.used, c.probability = 0, 1 }

// Draw repeats the path's draw, or makes a new one that falls true.
func (c *replayChance) Draw(k uint32) bool {
	if k == 0 || k >= certain {
		return k != 0
	}
	if c.used == len(c.path) {
		c.path = append(c.path, true)
	}
	fell := c.path[c.used]
	c.used++
	if !fell {
		k = certain - k
	}
	c.probability *= float64(k) / certain
	return fell
}

// next turns to the next path: the last draw that fell true falls false.
func (c *replayChance) next() bool {
	c.path = c.path[:c.used]
	for len(c.path) > 0 && !c.path[len(c.path)-1] {
		c.path = c.path[:len(c.path)-1]
	}
	if len(c.path) == 0 {
		return false
	}
	c.path[len(c.path)-1] = false
	return true
}
