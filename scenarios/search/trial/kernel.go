package trial

import (
	"slices"
	"time"

	"github.com/chainwalk/chainwalk/scenarios"
)

// kernel is what the kernel of a node may hold: what its rules may have been made of, and what somebody did to them. Its transitions are
// restarted, begins, succeeded, lied, failed and damaged.
type kernel struct {
	proxier proxierState
	// ruled is what its rules were last made of.
	ruled *view
	// tried is what syncs were made of that failed since.
	tried []*view
	// doubtful says that one of them may have written all: it said that it ended well while a fault was to come.
	doubtful bool
	// next is what the sync that runs is made of; nil between syncs.
	next *view
	// word is the last step whose sync said that it ended well though a command of it had failed. Nobody tries it again soon, so it is taken
	// at its word. 0: the last sync was none.
	word   int
	damage damage
}

// proxierState is how far the proxier of a node has come since it started.
type proxierState int

const (
	started    proxierState = iota // no sync of it was tried
	trying                         // syncs were tried, and none has ended well
	wroteFirst                     // one has ended well: the last one, and no other
	wroteAgain                     // more of them have, or one of which that is not certain
)

// fresh says that no sync of the proxier has ended well yet.
func (k *kernel) fresh() bool { return k.proxier <= trying }

// first says that the last sync that ended well was the proxier's first.
func (k *kernel) first() bool { return k.proxier == wroteFirst }

// restarted: its proxier begins, with the rules that the one before has left.
func (k *kernel) restarted() { k.proxier, k.damage.late = started, false }

// begins: a sync runs, and one of the transitions below says how it ended.
func (k *kernel) begins() {
	k.word = 0
	if k.proxier == started {
		k.proxier = trying
	}
}

// ends is what the sync was made of that ran.
func (k *kernel) ends() *view {
	tried := k.next
	k.next = nil
	return tried
}

// succeeded: a sync ended well at a time since the play began, and no command of it failed. It wrote everything if it was the proxier's
// first since it started, or if one before it failed, of which nobody but the proxier can tell: one that says so may have failed after
// everything was written.
func (k *kernel) succeeded(v *view, now time.Duration) {
	k.damage.flushed = false
	if k.fresh() && !k.damage.late || now-k.damage.since >= fullSyncPeriod {
		k.damage.edited = false
	}
	after := wroteAgain
	if k.fresh() {
		after = wroteFirst
	}
	k.wrote(v, after)
}

// lied: a sync of a step said that it ended well, though a command of it had failed.
func (k *kernel) lied(v *view, step int) {
	k.wrote(v, wroteAgain)
	k.word = step
}

func (k *kernel) wrote(v *view, after proxierState) {
	k.ruled, k.tried, k.doubtful, k.proxier = v, nil, false, after
}

// failed: a sync ended badly, or as a fault was to come or rules were damaged, so that what it says is in doubt. If it says that it ended
// well, that shows later.
func (k *kernel) failed(v *view, says error) {
	k.tried = append(k.tried, v)
	k.doubtful = k.doubtful || says == nil
}

// damaged: a fault did something to its rules, at a time since the play began. Own says that it was the tables that the proxier writes.
func (k *kernel) damaged(f *scenarios.Fault, own bool, now time.Duration) {
	d := &k.damage
	if !own {
		d.foreign = true
		return
	}
	d.flushed = d.flushed || len(f.Flush) > 0
	d.unfiltered = d.unfiltered || slices.Contains(f.Flush, "filter")
	for _, line := range f.Run {
		table, flushes := flushedTable(line)
		switch own, deleted := ownNFT(line); {
		case flushes:
			d.flushed = true
			d.unfiltered = d.unfiltered || table == "filter"
		case deleted:
			d.flushed = true
		case own && addsNFT(line): // what it adds was there, or is empty
		case own || ownChain(line):
			d.edited, d.since, d.late = true, now, k.proxier != started
		default:
			d.foreign = true
		}
	}
}

// allTried are what the node's syncs have tried since the last one that ended well, the one that runs among them, in their order.
func (k *kernel) allTried() []*view {
	if k.next == nil {
		return k.tried
	}
	return append(slices.Clip(k.tried), k.next)
}

// triedOther reports whether a sync since the last one that ended well may have made the node's rules of something else.
func (k *kernel) triedOther() bool {
	return slices.ContainsFunc(k.tried, func(v *view) bool { return !v.same(k.ruled) })
}

// damage is what was done to a node's rules behind its proxier's back.
type damage struct {
	// flushed: tables were emptied, which the proxier's monitor notices.
	flushed bool
	// edited: chains of the proxier's own were changed, which only a full sync repairs; since says when, and late that the
	// proxier may have written everything before, so that the first sync of it that ends well need not be a full one.
	edited, late bool
	since        time.Duration
	// foreign: something else was done, which nobody repairs, or rules of the other tools are there.
	foreign bool
	// unfiltered: table filter was flushed. Rules of others that let packets pass are gone, their policies of DROP are not.
	unfiltered bool
}

func (d *damage) any() bool { return d.flushed || d.edited || d.foreign }
