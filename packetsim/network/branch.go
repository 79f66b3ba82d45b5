package network

import "github.com/chainwalk/chainwalk/packetsim"

// checkpoint opens a checkpoint on every host and gives the function that ends all of them.
func (n *Network) checkpoint() func(keep bool) {
	var opened []packetsim.Checkpoint
	for _, name := range n.Hosts() {
		opened = append(opened, n.hosts[name].Checkpoint())
	}
	return func(keep bool) {
		for _, c := range opened {
			if keep {
				c.Keep()
			} else {
				c.Undo()
			}
		}
	}
}

// branches walks once for every way that chance can fall, each time from the network as it is
// now, and leaves it so. done gets the probability of each walk and its draws.
func (n *Network) branches(walk func(*carrier) error, done func(probability float64, draws []bool)) error {
	var recorder *recordedChance
	return packetsim.Enumerate(func(chance packetsim.Chance) error {
		end := n.checkpoint()
		defer end(false)
		recorder = &recordedChance{chance: chance}
		return walk(&carrier{network: n, chance: recorder})
	}, func(probability float64) error {
		done(probability, recorder.draws)
		return nil
	})
}

// again makes one of the walks of branches, given its draws, and keeps what it does to the hosts.
func (n *Network) again(draws []bool, walk func(*carrier) error) error {
	end := n.checkpoint()
	err := walk(&carrier{network: n, chance: &scriptedChance{draws: draws}})
	end(err == nil)
	return err
}

// recordedChance notes how every draw fell.
type recordedChance struct {
	chance packetsim.Chance
	draws  []bool
}

// Draw is the inner chance's.
func (c *recordedChance) Draw(k uint32) bool {
	fell := c.chance.Draw(k)
	c.draws = append(c.draws, fell)
	return fell
}

// scriptedChance repeats the draws of a recordedChance.
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
