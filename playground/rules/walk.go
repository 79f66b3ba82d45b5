package rules

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios/explain/page"
	"github.com/chainwalk/chainwalk/scenarios/explain/story"
)

// Walked is what became of a packet.
type Walked struct {
	// Problem is what is wrong with the packet; nil if it was walked.
	Problem  *Problem `json:"problem,omitempty"`
	Sentence string   `json:"sentence"`
	// Body is the page of the trace without its head. All that others wrote is escaped in it.
	Body string `json:"body"`
	// Lines are the lines of the text whose rules the packet met, in any outcome.
	Lines []int `json:"lines"`
}

// Walk walks a packet through the rules.
func (t *Tab) Walk(packet string) Walked {
	if t.base == nil {
		return Walked{Problem: &Problem{Message: "the rules cannot be read"}}
	}
	in, err := inet.ParseInput(packet)
	var syntax *inet.SyntaxError
	if errors.As(err, &syntax) {
		return Walked{Problem: &Problem{Line: 1, Column: syntax.Column, Token: syntax.Token, Message: syntax.Msg}}
	}
	if err != nil {
		return Walked{Problem: &Problem{Message: err.Error()}}
	}
	if in.In == "" && !in.Local {
		in.In = snapshot.RulesDevice
	}
	result, err := t.trace(in, packetsim.WalkOptions{Missed: true})
	if err != nil {
		return Walked{Problem: &Problem{Message: err.Error()}}
	}
	told := story.Of(result, story.Options{})
	var body strings.Builder
	if err := page.TraceBody(&body, &told); err != nil {
		return Walked{Problem: &Problem{Message: err.Error()}}
	}
	met := map[int]bool{}
	for i := range result.Outcomes {
		t.note(met, inet.FamilyOf(in.Src), &result.Outcomes[i])
	}
	return Walked{Sentence: told.Sentence, Body: body.String(), Lines: slices.Sorted(maps.Keys(met))}
}

// trace walks a packet, and notes where the node's addresses would decide.
func (t *Tab) trace(in inet.Input, o packetsim.WalkOptions) (packetsim.TraceResult, error) {
	host, err := t.host(in)
	if err != nil {
		return packetsim.TraceResult{}, err
	}
	result, err := host.Trace(in, o)
	if err != nil {
		return result, err
	}
	if t.saved.IsEmpty(inet.FamilyOf(in.Src)) {
		result.Notes = append(result.Notes, fmt.Sprintf("the text has no rules of IPv%d, which the packet is of", inet.FamilyOf(in.Src)))
	}
	result.Doubts = append(result.Doubts, t.saved.OwnDoubts(in, result.Outcomes, "\"Addresses of the node\", where you write them")...)
	return result, nil
}

// note notes the lines of rules that a packet met on one of its ways, and the reply to it.
func (t *Tab) note(met map[int]bool, family netfilter.Family, o *packetsim.Outcome) {
	for i := range o.Steps {
		step := &o.Steps[i]
		if step.Rule == nil {
			continue
		}
		if line := t.lineOf(family, step); line > 0 {
			met[line] = true
		}
	}
	if o.Back != nil && o.Back.Outcome != nil {
		t.note(met, family, o.Back.Outcome)
	}
}

// lineOf is the line of the rule of a step; 0 if it is not known. A step tells its backend only where there are two.
func (t *Tab) lineOf(family netfilter.Family, step *packetsim.Step) int {
	if step.Family != "" {
		return t.lines[snapshot.RulePlace{Native: step.Family, Table: step.Table, Chain: step.Chain, Number: step.Number}]
	}
	at := snapshot.RulePlace{Family: family, Table: step.Table, Chain: step.Chain, Number: step.Number}
	for _, dialect := range netfilter.Dialects() {
		if step.Dialect != "" && step.Dialect != dialect {
			continue
		}
		at.Dialect = dialect
		if line := t.lines[at]; line > 0 {
			return line
		}
	}
	return 0
}

// Tried is which rules the packets meet that the rules are about. A rule that none of them meets may be met by another one.
type Tried struct {
	// Packets counts those that were walked, each with the reply to it where that is known to come back through the node.
	Packets int `json:"packets"`
	Unknown int `json:"unknown"` // that an unknown rule stops
	Rules   int `json:"rules"`   // whose lines are known
	// Unmet are the lines of rules that no packet met.
	Unmet []int `json:"unmet"`
	// Left are packets that were not tried, since there are too many.
	Left int `json:"left"`
	// More says that this is what was tried so far: the next call goes on.
	More bool `json:"more"`
}

// Bounds of what is tried in all, and by one call: who types does not wait for more.
const (
	triedPackets = 2_000
	triedSteps   = 2_000_000
	callPackets  = 40
	callSteps    = 10_000
)

// trying is what is tried, and how far it is.
type trying struct {
	asked   string
	packets []About // that are left
	steps   int     // that may still be made
	met     map[int]bool
	so      Tried
}

// Try walks the packets that the rules are about, and the one that was asked for, which may be empty. Each call walks some of them, until
// there are no more.
func (t *Tab) Try(asked string) Tried {
	if t.base == nil {
		return Tried{Unmet: []int{}}
	}
	if t.trying == nil || t.trying.asked != asked || !t.trying.so.More {
		t.begin(asked)
	}
	now := t.trying
	most, least := now.so.Packets+callPackets, now.steps-callSteps
	for len(now.packets) > 0 && now.so.Packets < most && now.steps > least {
		if now.so.Packets == triedPackets || now.steps <= 0 {
			now.so.Left, now.packets = len(now.packets), nil
			break
		}
		t.tryOne(now.packets[0].Packet)
		now.packets = now.packets[1:]
	}
	now.so.More = len(now.packets) > 0
	out := now.so
	out.Unmet = []int{}
	for _, line := range t.lines {
		if !now.met[line] {
			out.Unmet = append(out.Unmet, line)
		}
	}
	slices.Sort(out.Unmet)
	return out
}

// begin has everything tried anew.
func (t *Tab) begin(asked string) {
	t.trying = &trying{asked: asked, packets: t.about(), steps: triedSteps, met: map[int]bool{}, so: Tried{Rules: len(t.lines)}}
	if asked != "" {
		t.trying.packets = append([]About{{Packet: asked}}, t.trying.packets...)
	}
}

// tryOne walks a packet, if it is one: it may be what somebody is writing.
func (t *Tab) tryOne(packet string) {
	in, err := inet.ParseInput(packet)
	if err != nil {
		return
	}
	if in.In == "" && !in.Local {
		in.In = snapshot.RulesDevice
	}
	now := t.trying
	now.so.Packets++
	outcomes, err := t.ways(in)
	if err != nil {
		now.so.Unknown++
		return
	}
	for i := range outcomes {
		now.steps -= len(outcomes[i].Steps)
		t.note(now.met, inet.FamilyOf(in.Src), &outcomes[i])
	}
}

func (t *Tab) ways(in inet.Input) ([]packetsim.Outcome, error) {
	host, err := t.host(in)
	if err != nil {
		return nil, err
	}
	return host.WalkWith(in, packetsim.WalkOptions{Back: true})
}

// keptHosts is of how many devices hosts are kept. One who types the name of a device goes through several.
const keptHosts = 8

// host is one with the device that a packet comes by: that of a packet before, if there was one. A walk leaves nothing behind in it but
// what it has found out of the rules.
func (b *base) host(in inet.Input) (*packetsim.Host, error) {
	if host := b.hosts[in.In]; host != nil {
		return host, nil
	}
	host, err := b.saved.Host(in)
	if err != nil {
		return nil, err
	}
	if b.hosts == nil || len(b.hosts) == keptHosts {
		b.hosts = map[string]*packetsim.Host{"": b.hosts[""]}
	}
	b.hosts[in.In] = host
	return host, nil
}
