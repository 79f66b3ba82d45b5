package network

import (
	"net/netip"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// carrier takes packets from host to host, with chance falling one way. What hosts remember of the packets stays until end.
//
// Journeys have no text, unless it traces: then they have hops and say why.
type carrier struct {
	network *Network
	traces  bool
	keeps   bool       // what hosts remember may stay after end
	pools   bool       // nobody looks at the journeys of a try after it
	via     netip.Addr // the next hop of steered routes
	memory  *Memory    // for what it tells; nil: new memory

	recorder recorder
	entered  []visit
	steps    []*step // one for each journey that is under way: a packet and the answers to it
	depth    int
	journeys []*Journey // those of a try, which the next one uses again if it may
	used     int
}

// visit is a host that a packet came to, and the checkpoint that was opened there.
type visit struct {
	host       *Host
	checkpoint packetsim.Checkpoint
}

// step is a packet in a host, and what the host does with it.
type step struct {
	in      inet.Input
	outcome packetsim.Outcome
}

// branches walks once for every way that chance can fall, each time from the network as it is now, and leaves it so. done gets the
// probability of each walk and its draws, which are the next walk's afterwards.
func (c *carrier) branches(walk func(*carrier) error, done func(probability float64, draws []bool)) error {
	return packetsim.Enumerate(func(chance packetsim.Chance) error {
		c.recorder = recorder{chance: chance, draws: c.recorder.draws[:0]}
		defer c.end(false)
		return walk(c)
	}, func(probability float64) error {
		done(probability, c.recorder.draws)
		if c.network.Interrupted != nil {
			return c.network.Interrupted()
		}
		return nil
	})
}

// again makes one of the walks of branches, given its draws, and keeps what it does to the hosts.
func (c *carrier) again(draws []bool, walk func(*carrier) error) error {
	c.keeps = true
	c.recorder = recorder{chance: &scriptedChance{draws: draws}, draws: c.recorder.draws[:0]}
	err := walk(c)
	c.end(err == nil)
	return err
}

// enter prepares a host for the first packet that comes there.
func (c *carrier) enter(h *Host) {
	for i := range c.entered {
		if c.entered[i].host == h {
			return
		}
	}
	c.network.open(h)
	h.Steer(c.via)
	open := h.Probe
	if c.keeps {
		open = h.Checkpoint
	}
	c.entered = append(c.entered, visit{h, open()})
}

// end leaves the hosts as they are now or as they were before the first packet.
func (c *carrier) end(keep bool) {
	for _, v := range c.entered {
		if keep {
			v.checkpoint.Keep()
		} else {
			v.checkpoint.Undo()
		}
	}
	clear(c.entered)
	c.entered, c.used = c.entered[:0], 0
}

// journey is an empty journey.
func (c *carrier) journey() *Journey {
	if c.memory != nil {
		return &append(c.memory.journeys.take(1), Journey{})[0]
	}
	if !c.pools {
		return &Journey{}
	}
	if c.used == len(c.journeys) {
		c.journeys = append(c.journeys, &Journey{})
	}
	j := c.journeys[c.used]
	c.used++
	*j = Journey{Answers: j.Answers[:0]}
	return j
}

// push is a step for a journey that begins.
func (c *carrier) push() *step {
	if c.depth == len(c.steps) {
		c.steps = append(c.steps, &step{})
	}
	c.depth++
	return c.steps[c.depth-1]
}

func (c *carrier) pop() { c.depth-- }

// recorder notes how every draw fell.
type recorder struct {
	chance packetsim.Chance
	draws  []bool
}

// Draw is the inner chance's.
func (r *recorder) Draw(k uint32) bool {
	fell := r.chance.Draw(k)
	r.draws = append(r.draws, fell)
	return fell
}

// scriptedChance repeats the draws of a recorder.
type scriptedChance struct {
	draws []bool
}

// Draw takes the next draw. A walk that draws more often than the one recorded is not the same walk.
func (c *scriptedChance) Draw(uint32) bool {
	if len(c.draws) == 0 {
		panic("network: a walk drew more often than when it was recorded")
	}
	fell := c.draws[0]
	c.draws = c.draws[1:]
	return fell
}
