package conntrack

// Chance decides what the kernel leaves to chance: the connection that it evicts from a full table, the port that it chooses at random.
type Chance interface {
	// Draw is true with the probability k/2^31.
	Draw(k uint32) bool
}

// certain is the k of a probability of 1.
const certain = 1 << 31
