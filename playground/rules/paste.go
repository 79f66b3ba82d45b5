package rules

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/fakekernel"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
)

// Problem is something wrong with a text, and where.
type Problem struct {
	// Line and Column are from 1; 0 where it is not known.
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Token   string `json:"token,omitempty"` // the word at fault, if it is one
	Message string `json:"message"`
	// Warning says that the text is read all the same.
	Warning bool `json:"warning,omitempty"`
}

// Paste is what the tab was given beside the packet.
type Paste struct {
	// Text is what iptables-save and ip6tables-save have printed, of both backends, one after the other, and "nft list ruleset"; or what that
	// prints with -j.
	Text string `json:"text"`
	// Local are the node's own addresses, with commas or blanks between them.
	Local string `json:"local"`
	// Tools is the only backend to walk; empty for all that the text has.
	Tools string `json:"tools"`
}

// Read is what came of reading the rules.
type Read struct {
	Problems []Problem `json:"problems"` // of the text
	Local    string    `json:"local"`    // what is wrong with the addresses; empty if nothing is
	// Rules, Chains and Tables count what was read.
	Rules  int `json:"rules"`
	Chains int `json:"chains"`
	Tables int `json:"tables"`
}

// Named is what the rules name, for completion, and what they are about.
type Named struct {
	Devices   []string `json:"devices"`
	Addresses []string `json:"addresses"`
	Ports     []int    `json:"ports"`
	// Packets are the packets that the rules are about; More counts the others.
	Packets []About `json:"packets"`
	More    int     `json:"more"`
}

// shownPackets is how many packets the list of a Named has at most.
const shownPackets = 300

// Tab is the first tab: rules that are read once, and what is asked of them. The zero Tab has no rules.
type Tab struct {
	*base          // what the rules were read to; nil of rules that cannot be read
	readable *base // of those that could be read last
	local    []netip.Addr
	tables   []table
	packets  []About
	trying   *trying
}

// base is what rules were read to. Rules that differ in one line alone may be read into it.
type base struct {
	saved *snapshot.Saved
	given Paste                      // without its text
	lines map[snapshot.RulePlace]int // by the rule that is written there
	hosts map[string]*packetsim.Host // by the device that packets come by; at least that of none
}

// Read reads rules in the place of those that were read before. Where they cannot be read, the tab has none.
func (t *Tab) Read(p Paste) Read {
	*t = Tab{readable: t.readable}
	out := Read{Problems: []Problem{}}
	var err error
	if t.local, err = addresses(p.Local); err != nil {
		out.Local = err.Error()
	}
	if strings.TrimSpace(p.Text) == "" {
		return out
	}
	if t.base, err = t.readable.with(p, t.local); err != nil {
		out.Problems = append(out.Problems, problemOf(err))
		return out
	}
	t.readable = t.base
	t.tables = tablesOf(t.hosts[""])
	for i := range t.tables {
		if t.tables[i].shared {
			continue
		}
		out.Tables++
		for chain := range t.tables[i].chains {
			out.Chains++
			out.Rules += chain.rules
		}
	}
	if out.Tables == 0 {
		out.Problems = append(out.Problems, Problem{Line: 1, Message: "holds no table", Warning: true})
	}
	return out
}

// with is what rules are read to: this, if it takes them, or a new one.
func (b *base) with(p Paste, local []netip.Addr) (*base, error) {
	text := p.Text
	p.Text = ""
	if b != nil && b.given == p && b.saved.Edit(text) {
		return b, nil
	}
	known := snapshot.RulesOptions{Local: local, Dialect: netfilter.Dialect(p.Tools)}
	saved, err := snapshot.ReadSaved("rules", strings.NewReader(text), known)
	if err != nil {
		return nil, err
	}
	read := &base{given: p, saved: saved}
	if _, err := read.host(inet.Input{}); err != nil {
		return nil, err
	}
	read.lines = saved.Places()
	return read, nil
}

// problemOf is an error of the reader of rules, with its place.
func problemOf(err error) Problem {
	var parse *fakekernel.ParseError
	if errors.As(err, &parse) {
		return Problem{Line: parse.Line, Column: parse.Column, Token: parse.Token, Message: parse.Msg}
	}
	var listing *fakekernel.ListingError
	if errors.As(err, &listing) {
		return Problem{Line: listing.Line, Column: listing.Column, Message: listing.Text}
	}
	if errors.Is(err, snapshot.ErrIsSnapshot) {
		return Problem{Line: 1, Message: "this is a NodeSnapshot, not what iptables-save or nft prints: " +
			"give it to \"chainwalk trace --node\", or paste the text behind its save fields"}
	}
	return Problem{Message: err.Error()}
}

// addresses reads the node's own addresses.
func addresses(text string) ([]netip.Addr, error) {
	var out []netip.Addr
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' || r == '\t' }) {
		addr, err := netip.ParseAddr(word)
		if err != nil {
			return nil, fmt.Errorf("%q is not an IP address: write such as 192.168.0.2, fd00::2", word)
		}
		out = append(out, addr.WithZone(""))
	}
	return out, nil
}

// Named says what the rules name and what packets they are about. It takes longer than Read.
func (t *Tab) Named() Named {
	out := Named{Ports: []int{}, Addresses: []string{}, Packets: []About{}}
	devices, named, ports := map[string]bool{snapshot.RulesDevice: true}, map[netip.Addr]bool{}, map[int]bool{}
	for i := range t.tables {
		for chain := range t.tables[i].chains {
			for f := range chain.facts {
				noteConditions(&f.Conditions, devices, named, ports)
				if to := f.Translation.To(); to.IsValid() {
					named[to.Addr()] = true
				}
			}
		}
	}
	for _, addr := range t.local {
		named[addr] = true
	}
	delete(devices, "")
	out.Devices = slices.Sorted(maps.Keys(devices))
	for _, addr := range slices.SortedFunc(maps.Keys(named), netip.Addr.Compare) {
		out.Addresses = append(out.Addresses, addr.String())
	}
	out.Ports = slices.AppendSeq(out.Ports, maps.Keys(ports))
	slices.Sort(out.Ports)
	packets := t.about()
	out.Packets = append(out.Packets, packets[:min(len(packets), shownPackets)]...)
	out.More = len(packets) - len(out.Packets)
	return out
}

// about are the packets that the rules are about, which are made when somebody asks first.
func (t *Tab) about() []About {
	if t.packets == nil {
		t.packets = packetsOf(t.tables, t.local)
	}
	return t.packets
}

func noteConditions(c *netfilter.Conditions, devices map[string]bool, named map[netip.Addr]bool, ports map[int]bool) {
	devices[strings.TrimSuffix(c.In, "+")] = true
	for _, prefix := range []netip.Prefix{c.Src, c.Dst} {
		if prefix.IsValid() && prefix.IsSingleIP() {
			named[prefix.Addr()] = true
		}
	}
	if c.DstPorts.Min > 0 {
		ports[int(c.DstPorts.Min)] = true
	}
}
