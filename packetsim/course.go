package packetsim

import "fmt"

// course is the one of a packet's ways that a walk follows: the draws that choose it, what is recorded of it, and the failure that ends it.
type course struct {
	chance  Chance
	outcome *Outcome
	told    text
	tale    tale // of the walk that tells its steps
	err     error
}

func (c *course) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// unsupported ends the walk at a rule whose target is not imitated.
func (c *course) unsupported(what string) fate {
	c.fail(fmt.Errorf("not supported: %s", what))
	return stopped
}

// drop ends the walk without a rule.
func (c *course) drop(reason Reason) { c.dropSaying(reason, string(reason)) }

// dropSaying is drop for a reason that has more to say, such as the name of a device.
func (c *course) dropSaying(reason Reason, why string) {
	c.outcome.Verdict, c.outcome.To, c.outcome.Reason, c.outcome.Why = Drop, ToNone, reason, why
}

// refuse is drop for what routing said. An error that is no reason means that the fate is not known.
func (c *course) refuse(err error) {
	if reason, is := err.(Reason); is {
		c.drop(reason)
	} else {
		c.fail(err)
	}
}

// tale is what a walk that tells its steps has told of the packet so far.
type tale struct {
	header Header
	begun  bool // there is a header
	hook   string
}

func (c *course) tells() bool { return c.told&tellSteps != 0 }

func (c *course) tellsEvents() bool { return c.told&tellEvents != 0 }

// tell notes an event, if events are told.
func (c *course) tell(e Event) {
	if !c.tellsEvents() {
		return
	}
	e.Step, e.Hook = len(c.outcome.Steps), c.tale.hook
	if c.outcome.Events == nil {
		c.outcome.Events = make([]Event, 0, usualEvents)
	}
	c.outcome.Events = append(c.outcome.Events, e)
}

// usualEvents is room for what happens to a packet on a host that translates it.
const usualEvents = 6

// notice tells what has changed of the header since it was looked at last.
func (c *course) notice(s *skb, nat Translation) {
	if !c.tellsEvents() {
		return
	}
	now, before := s.header(), c.tale.header
	c.tale.header = now
	if now == before || !c.tale.begun {
		c.tale.begun = true
		return
	}
	kind, marked := EventRewrite, before
	if marked.Mark = now.Mark; marked == now {
		kind = EventMark
	}
	told := &[2]Header{before, now} // now and before themselves stay on the stack, since most calls find no change
	c.tell(Event{Kind: kind, Before: &told[0], After: &told[1], NAT: nat})
}

// tellHook tells that the packet comes to a hook.
func (c *course) tellHook(s *skb, at hook) {
	c.notice(s, "")
	c.tale.hook = at.String()
}

// tellTunnel tells that a tunnel made another packet of the packet.
func (c *course) tellTunnel(kind EventKind, before, after *skb) {
	now := after.header()
	was := before.header()
	c.tale.header = now
	c.tell(Event{Kind: kind, Before: &was, After: &now})
}

// tellRoute tells what routing decided, and what else is in r.
func (c *course) tellRoute(to path, err error, r Routing) {
	if !c.tellsEvents() {
		return
	}
	if err != nil {
		r.Refused = err.Error()
	} else if r.Local = to.local; to.out != nil {
		r.Out, r.NextHop = to.out.Name, to.nextHop
	}
	told := r // which alone is kept
	c.tell(Event{Kind: EventRoute, Route: &told})
}
