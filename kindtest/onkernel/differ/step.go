package differ

import (
	"fmt"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// stepText is a step of a walk as the tracer of the dialect spells it. The nft kernel names every rule as a rule, and
// gives no numbers to policies and ends of chains.
func stepText(s packetsim.Step, d netfilter.Dialect) string {
	switch {
	case isNative(s.Family) && s.Kind == packetsim.StepRule:
		return fmt.Sprintf("%s:%s:rule:%d", s.Table, s.Chain, s.Number)
	case isNative(s.Family):
	case d == netfilter.Legacy:
		return s.String()
	case s.Rule != nil:
		s.Kind = packetsim.StepRule
		return s.String()
	}
	return s.Table + ":" + s.Chain + ":" + string(s.Kind)
}

// sentStep and receivedStep are where a packet begins to be traced: one that the node sends, and one that comes in.
const (
	sentStep     = "raw:OUTPUT:rule:1"
	receivedStep = "raw:PREROUTING:rule:1"
)

// madeText tells a packet that the node makes from others that it makes at the same time, with what is known of it where it begins to be
// traced: the kernel tells several in any order. Ports, which the kernel may have chosen, are left out.
func madeText(p *inet.Packet) string {
	text := fmt.Sprintf(" of %s %s > %s", p.Proto, p.Src, p.Dst)
	switch {
	case p.Proto == inet.TCP:
		text += " flags " + p.TCPFlags.String()
	case p.Proto.IsICMP():
		text += fmt.Sprintf(" type %d/%d", p.ICMPType, p.ICMPCode)
	}
	return text + fmt.Sprintf(" ttl %d len %d", p.HopLimit(), p.Size())
}

// account is what the kernel tells of a packet, of the rules of one dialect: its own steps, and those of packets that the node made because
// of it. The legacy kernel tells the copies of a packet in their places among the packet's own steps, and either does so with the copy that
// the node's own sockets get. A packet that the node sends to itself comes in when all before it is done: with what a program on the node
// sends, a table is.
type account struct {
	dialect     netfilter.Dialect
	steps, made []string
	later       []part
	sent        bool // a program on the node is sending the first packet
}

// part is what is to be told of an outcome: the steps from one on. The packet may be traced before the first of them.
type part struct {
	o      *packetsim.Outcome
	from   int
	own    bool
	traced bool
	made   *inet.Packet // as the node made it
	within bool         // it was made within a table that another packet is in
}

func accountOf(o *packetsim.Outcome, d netfilter.Dialect) *account {
	a := &account{dialect: d, sent: len(o.Steps) > 0 && o.Steps[0].Hook == "OUTPUT"}
	a.tell(part{o: o, own: true})
	a.catchUp()
	return a
}

// catchUp tells what waits.
func (a *account) catchUp() {
	a.sent = false
	for len(a.later) > 0 {
		next := a.later[0]
		a.later = a.later[1:]
		a.tell(next)
	}
}

// tell tells a part up to where the packet comes in by lo. In nft each packet's lines are together.
func (a *account) tell(p part) {
	to := p.end()
	var made []packetsim.Reply
	for i := p.from; i <= to; i++ {
		for _, r := range p.o.Replies {
			switch {
			case r.After != i || i == p.from && p.from > 0: // told with the part before
			case r.Looped:
				a.betweenTables(&p)
				a.tell(a.partOf(p, r))
			case a.dialect == netfilter.Legacy:
				a.tell(a.partOf(p, r))
			default:
				made = append(made, r)
			}
		}
		if i > 0 && i < to && p.o.Steps[i].Table != p.o.Steps[i-1].Table {
			a.betweenTables(&p)
		}
		if i < to {
			a.step(&p, p.o.Steps[i])
		}
	}
	for _, r := range made {
		a.tell(a.partOf(p, r))
	}
	if to < len(p.o.Steps) {
		a.later = append(a.later, part{o: p.o, from: to, own: p.own, traced: p.traced})
	}
}

// betweenTables tells what waits for a table to be done.
func (a *account) betweenTables(p *part) {
	if a.sent && !p.within {
		a.catchUp()
		a.sent = true
	}
}

// partOf is what is to be told of a packet that was made on p's way. A copy is traced if the packet is, and in the log it looks like it.
func (a *account) partOf(p part, r packetsim.Reply) part {
	copied := r.Copy && (a.dialect == netfilter.Legacy || r.Looped)
	return part{o: &r.Outcome, own: p.own && copied, traced: p.traced && r.Copy, made: &r.Packet, within: p.within || !r.Looped}
}

// end is the number of the first step that is told later, or of all steps.
func (p *part) end() int {
	for i := p.from + 1; i < len(p.o.Steps); i++ {
		if p.o.Steps[i].Hook == "PREROUTING" && p.o.Steps[i-1].Hook != "PREROUTING" {
			return i
		}
	}
	return len(p.o.Steps)
}

// step tells a step. The legacy kernel does not tell the rule with TRACE itself of a packet that is not traced before it.
func (a *account) step(p *part, s packetsim.Step) {
	if s.Dialect != "" && s.Dialect != a.dialect {
		return
	}
	lines := &a.made
	if p.own {
		lines = &a.steps
	}
	if a.dialect != netfilter.Legacy || p.traced || s.Table != "raw" || s.Number != 1 || s.Rule == nil {
		text := stepText(s, a.dialect)
		if a.dialect == netfilter.NFT && p.made != nil && text == sentStep {
			text += madeText(p.made)
		}
		*lines = append(*lines, text)
	}
	p.traced = true
}

// stepTexts are the lines of the outcome's packet.
func stepTexts(o *packetsim.Outcome, d netfilter.Dialect) []string { return accountOf(o, d).steps }

// replySteps are the steps of the packets that the node made because of it.
func replySteps(o *packetsim.Outcome, d netfilter.Dialect) []string { return accountOf(o, d).made }

// sameReplies compares lines of packets that the node made. In nft their order says nothing: the lines of packets are known by the places
// of their buffers, and come together where one takes the place of another.
func sameReplies(ours, kernel []string, d netfilter.Dialect) bool {
	if d == netfilter.NFT {
		ours, kernel = inOrder(ours), inOrder(kernel)
	}
	return slices.Equal(ours, kernel)
}

// someReplies says that the lines are among those of the kernel, where the dialect tells them apart.
func someReplies(ours, kernel []string, d netfilter.Dialect) bool {
	if d != netfilter.NFT {
		return true
	}
	left := inOrder(kernel)
	for _, packet := range inOrder(ours) {
		i := slices.Index(left, packet)
		if i < 0 {
			return false
		}
		left = slices.Delete(left, i, i+1)
	}
	return true
}

// inOrder sorts the packets whose lines these are. Each begins with the rule that traces it.
func inOrder(lines []string) []string {
	var packets []string
	for _, line := range lines {
		if len(packets) == 0 || strings.HasPrefix(line+" ", sentStep+" ") || line == receivedStep {
			packets = append(packets, "")
		}
		packets[len(packets)-1] += line + "\n"
	}
	slices.Sort(packets)
	return packets
}
