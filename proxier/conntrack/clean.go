package conntrack

import (
	"errors"
	"fmt"
	"net/netip"

	v1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/internal/mark"
)

// Entry is what matters of one tracked connection.
type Entry struct {
	// Protocol is the number of the transport protocol.
	Protocol uint8
	// Original is what the client sends, before any translation. Reply is what it is answered: from the endpoint if the
	// connection was translated, else from where it was sent to.
	Original, Reply Tuple
	// Zone is the conntrack zone of the reply direction.
	Zone uint16
	// id tells the entry from others with the same tuples. 0: the table knows none.
	id uint32
}

// Tuple is one direction of a connection. Ports are 0 in protocols without.
type Tuple struct{ Src, Dst netip.AddrPort }

// protocolUDP is the number of UDP in the header of IP.
const protocolUDP = 17

// Table holds the tracked connections of one network namespace.
type Table interface {
	// Walk calls visit for each entry of the family; it may leave out all that is not UDP. An errInterrupted says that the
	// table changed meanwhile: entries may have been left out, or visited twice.
	Walk(family v1.IPFamily, visit func(Entry)) error
	// Delete deletes entries that Walk has visited, and says how many. It is no error if one is gone already. After an error
	// about one entry it goes on with the others.
	Delete(family v1.IPFamily, entries []Entry) (deleted int, err error)
}

// errInterrupted is what an error of Table.Walk is (errors.Is) if another try may do better.
var errInterrupted = errors.New("the table changed while it was listed")

// attempts is how often an interrupted list is tried.
const attempts = 5

// Clean deletes the stale entries of one family, and says how many. It reads nothing but its arguments, so it needs no lock of
// whoever writes the rules, but must not be called before the rules are written: a packet in between would make the entry
// anew. If the table does not hold still, what was seen of it is cleaned. After an error Clean can be called again with the
// same arguments.
func Clean(table Table, family v1.IPFamily, frontends *Frontends) (deleted int, err error) {
	if frontends.empty() {
		return 0, nil
	}
	stale, err := find(table, family, frontends)
	if err != nil {
		return 0, fmt.Errorf("listing %s conntrack entries: %w", family, err)
	}
	if len(stale) == 0 {
		frontends.Marks.Hit(mark.ConntrackNone)
		return 0, nil
	}
	deleted, err = table.Delete(family, stale)
	if err != nil {
		return deleted, fmt.Errorf("deleting %d stale %s conntrack entries, of which %d are deleted: %w", len(stale), family, deleted, err)
	}
	frontends.Marks.Hit(mark.ConntrackDeleted)
	return deleted, nil
}

// find lists the stale entries, each once.
func find(table Table, family v1.IPFamily, frontends *Frontends) (stale []Entry, err error) {
	for range attempts {
		stale = stale[:0]
		err = table.Walk(family, func(e Entry) {
			if frontends.stale(&e) {
				stale = append(stale, e)
			}
		})
		if !errors.Is(err, errInterrupted) {
			return stale, err
		}
		frontends.Marks.Hit(mark.ConntrackInterrupted)
	}
	return distinct(stale), nil
}

// distinct removes the entries that an interrupted list has twice.
func distinct(entries []Entry) []Entry {
	seen := make(map[Entry]struct{}, len(entries))
	kept := entries[:0]
	for _, e := range entries {
		if _, twice := seen[e]; !twice {
			seen[e] = struct{}{}
			kept = append(kept, e)
		}
	}
	return kept
}
