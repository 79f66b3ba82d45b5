package nftables

import (
	"sync/atomic"
	"time"
)

// Set is a set or map with its elements.
type Set struct {
	SetSpec
	Handle uint64

	// members are the elements. Packets that add and delete some store others here.
	members *atomic.Pointer[members]
	id      *setID
	// begun is the beginning of an interval that the transaction was to add and that was there already: if the next end is there as well, it
	// must be that interval's own (start_rbe_cookie in net/netfilter/nft_set_rbtree.c). ended is the same for what is deleted.
	begun, ended *Element
	// gone are the bounds of intervals that the transaction has deleted, in order: they stay in the tree until it ends.
	gone  []*Element
	grows bool  // packets can add elements (see SetSpec.resizable)
	made  *edit // the transaction that may still write to it
}

// setID is what stays the same of a set as long as it lives, whatever is changed of it; its address is all that counts.
type setID struct{ _ byte }

// Element is a member of a set.
type Element struct {
	// Leads is where the verdict leads, once a walk has gone there; nil before.
	Leads atomic.Pointer[Leads]
	ElementSpec
	// Deadline is when it expires; zero: never.
	Deadline time.Time

	order uint64 // in which it was added
}

// Live says that the element has not expired.
func (e *Element) Live(now time.Time) bool { return e.Deadline.IsZero() || now.Before(e.Deadline) }

// Len is the number of elements that the kernel holds, beginnings and ends of intervals each, expired ones too.
func (s *Set) Len() int { return s.members.Load().len() }

// IsEmpty says that the set has no element, also no expired one and no catch-all one.
func (s *Set) IsEmpty() bool {
	m := s.members.Load()
	return m.len() == 0 && m.catchall == nil
}

// Find is the element that a packet's key meets; nil if there is none.
func (s *Set) Find(key []byte, now time.Time) *Element {
	return s.members.Load().find(&s.SetSpec, key, now)
}

// Counts says that some element may have expressions, as counters are. That of a set that none has tells nothing but that it is there.
func (s *Set) Counts() bool { return s.members.Load().counts }

// Elements are the live elements in the order in which they were added; of intervals by their keys the beginning of each and its end, as
// the kernel dumps them. A catch-all element is the last.
func (s *Set) Elements(now time.Time) []*Element { return s.members.Load().all(now) }
