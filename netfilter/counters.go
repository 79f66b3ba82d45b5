package netfilter

import "sync/atomic"

// Counters count what a rule or a base chain has seen. They are the only part of a ruleset that changes after its commit, and may be read
// and advanced by several goroutines.
type Counters struct {
	packets, bytes atomic.Uint64
}

// Packets is the number of packets seen.
func (c *Counters) Packets() uint64 { return c.packets.Load() }

// Bytes is the number of bytes seen.
func (c *Counters) Bytes() uint64 { return c.bytes.Load() }

// Add counts packets of so many bytes in all.
func (c *Counters) Add(packets, bytes uint64) {
	c.packets.Add(packets)
	c.bytes.Add(bytes)
}

// Set gives the counters a value; only for counters that nobody else holds yet.
func (c *Counters) Set(packets, bytes uint64) {
	c.packets.Store(packets)
	c.bytes.Store(bytes)
}

// Take is what was counted, and sets the counters back to nothing.
func (c *Counters) Take() (packets, bytes uint64) { return c.packets.Swap(0), c.bytes.Swap(0) }
