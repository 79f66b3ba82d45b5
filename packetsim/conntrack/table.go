package conntrack

import (
	"iter"
	"net/netip"

	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// table has the confirmed connections: each by the tuples of both directions, and by its source if the nat hooks
// have seen it. The links of its lists are in the connections, so that entering one takes no memory. A
// connection that is entered again, because its removal is undone, gets the place back that it had.
type table struct {
	byTuple  []*tupleLink // the first of each list; as many lists as bySource has, a power of two
	bySource []*Conn      // the latest connection of each list
	conns    int
	entered  uint64 // the number of connections that were ever entered
	sweepAt  int    // the number of connections from which expired ones are looked for
	split    bool   // some connection was in a zone of one direction
}

// tupleLink is a connection's place in the list of one of its tuples.
type tupleLink struct {
	conn *Conn
	next *tupleLink
	hash uint32
	dir  Direction
}

// sourceLink is a connection's place in the list of its source.
type sourceLink struct {
	earlier *Conn
	hash    uint32
	order   uint64 // the number of the connection among all that were entered
}

// leastLists is the number of lists that a table begins with.
const leastLists = 64

// size is the number of connections, expired ones that nobody has looked for included.
func (t *table) size() int { return t.conns }

// all goes through the connections, each of which may be taken out meanwhile.
func (t *table) all() iter.Seq[*Conn] {
	return func(yield func(*Conn) bool) {
		for _, link := range t.byTuple {
			for link != nil {
				at := link
				link = link.next
				if at.dir == Original && !yield(at.conn) {
					return
				}
			}
		}
	}
}

// get is the connection that has the tuple where the hash of by's zone leads, and the direction that it is of. A tuple can be in one place
// for two connections, of which one is in a zone of one direction: the kernel finds the one that was entered last. The tuple's
// hash is at hand.
func (t *table) get(tuple *Tuple, hash uint32, z Zone, by Direction) (found *Conn, dir Direction) {
	if len(t.byTuple) == 0 {
		return nil, Original
	}
	for link := t.byTuple[hash&t.mask()]; link != nil; link = link.next {
		zone := z.id(link.dir)
		if link.hash != hash || zone != z.id(by) || link.conn.Zone.id(link.dir) != zone || link.conn.Tuples[link.dir] != *tuple {
			continue
		}
		if !t.split {
			return link.conn, link.dir
		}
		if found == nil || link.conn.bySource.order > found.bySource.order {
			found, dir = link.conn, link.dir
		}
	}
	return found, dir
}

func (t *table) mask() uint32 { return uint32(len(t.byTuple) - 1) }

// latest is the last connection of the source that was entered; c.link.earlier leads to the others.
func (t *table) latest(source *sourceKey) *Conn {
	if len(t.bySource) == 0 {
		return nil
	}
	hash := source.hash()
	return t.bySource[hash&t.mask()].ofSource(source, hash)
}

// before is the connection of the same source that was entered before c.
func (c *Conn) before(source *sourceKey) *Conn {
	return c.bySource.earlier.ofSource(source, c.bySource.hash)
}

// ofSource is the first connection of the source in a list.
func (c *Conn) ofSource(source *sourceKey, hash uint32) *Conn {
	for ; c != nil; c = c.bySource.earlier {
		if c.bySource.hash == hash && c.source() == *source {
			return c
		}
	}
	return nil
}

// enter links a connection that was never in the table. The hashes of its tuples are set.
func (t *table) enter(c *Conn) {
	t.entered++
	c.bySource.order = t.entered
	t.split = t.split || c.Zone.Original != c.Zone.Reply
	t.link(c)
}

// link puts the connection into its lists.
func (t *table) link(c *Conn) {
	if t.conns++; 2*t.conns > len(t.byTuple) {
		t.grow()
	}
	c.listed = true
	for dir := range c.byTuple {
		link := &c.byTuple[dir]
		first := &t.byTuple[link.hash&t.mask()]
		link.conn, link.dir, link.next = c, Direction(dir), *first
		*first = link
	}
	if c.srcDone {
		source := c.source()
		c.bySource.hash = source.hash()
		t.linkSource(c)
	}
}

// linkSource puts the connection before those that were entered earlier.
func (t *table) linkSource(c *Conn) {
	at := &t.bySource[c.bySource.hash&t.mask()]
	for *at != nil && (*at).bySource.order > c.bySource.order {
		at = &(*at).bySource.earlier
	}
	c.bySource.earlier, *at = *at, c
}

// unlink undoes link.
func (t *table) unlink(c *Conn) {
	t.conns--
	c.listed = false
	for dir := range c.byTuple {
		link := &c.byTuple[dir]
		at := &t.byTuple[link.hash&t.mask()]
		for *at != link {
			at = &(*at).next
		}
		*at, link.next = link.next, nil
	}
	if !c.srcDone {
		return
	}
	at := &t.bySource[c.bySource.hash&t.mask()]
	for *at != c {
		at = &(*at).bySource.earlier
	}
	*at, c.bySource.earlier = c.bySource.earlier, nil
}

// grow makes the lists short again.
func (t *table) grow() {
	n := max(leastLists, 2*len(t.byTuple))
	byTuple, bySource := t.byTuple, t.bySource
	t.byTuple, t.bySource = make([]*tupleLink, n), make([]*Conn, n)
	for _, link := range byTuple {
		for link != nil {
			next, first := link.next, &t.byTuple[link.hash&t.mask()]
			link.next, *first = *first, link
			link = next
		}
	}
	for _, c := range bySource {
		for c != nil {
			earlier := c.bySource.earlier
			t.linkSource(c)
			c = earlier
		}
	}
}

// hash is the same for equal tuples.
func (t *Tuple) hash() uint32 {
	ports := uint64(t.SrcPort)<<48 | uint64(t.DstPort)<<32 | uint64(t.ICMPID)<<16 | uint64(t.ICMPType)<<8 | uint64(t.ICMPCode)
	return mixAddrs(t.Src, t.Dst, ports^uint64(t.Proto)<<24)
}

func (s *sourceKey) hash() uint32 {
	return mixAddrs(s.src, netip.Addr{}, uint64(s.port)<<32|uint64(s.zone)<<16|uint64(s.proto))
}

func mixAddrs(a, b netip.Addr, rest uint64) uint32 {
	return inet.MixBits(inet.BitsOf(a), inet.BitsOf(b), rest)
}

// scratchConns are the connections of probes. Nothing refers to them at a probe's end, and the next one uses them again.
type scratchConns struct {
	conns  []*Conn
	used   int
	probes int // open checkpoints that will be undone
}

// newConn is an empty connection.
func (s *scratchConns) newConn() *Conn {
	if s.probes == 0 {
		return &Conn{}
	}
	if s.used == len(s.conns) {
		s.conns = append(s.conns, &Conn{})
	}
	c := s.conns[s.used]
	s.used++
	*c = Conn{}
	return c
}
