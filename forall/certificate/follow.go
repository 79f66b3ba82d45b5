package certificate

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
)

// reader follows the walk of one packet of a cell, and asks of each thing that the host looked at whether it is the same for all packets
// of the cell. The first that is not is where the cell has to be cut.
type reader struct {
	host  *host
	class *class
	cell  *cell
	six   bool
	cut   *cut

	// Of the packet where the walk is:
	moved [fields]bool // what is no longer the packet's own, but at
	at    [fields]value
	hook  string
	mark  uint32
	state string // what conntrack has found, as events say it; empty: that is not known
	out   string
	hop   netip.Addr
	// came says that packets of the host are back by lo.
	came bool
	by   fmt.Stringer // what is looked at; its text is asked for where it cuts or cannot be read
}

// named is what has no rule.
type named string

func (n named) String() string { return string(n) }

// metRule is a rule that held.
type metRule struct{ *packetsim.Step }

func (r metRule) String() string { return fmt.Sprintf("rule %s (%s)", r.Step, r.Text()) }

// missedRule is a rule that did not hold.
type missedRule struct{ *packetsim.RuleLook }

func (r missedRule) String() string { return fmt.Sprintf("rule %s (%s)", r.RuleLook, r.Rule.Text) }

// loopback is the device by which packets of the host come back to it.
const loopback = "lo"

// follow reads what an outcome met.
func (r *reader) follow(o *packetsim.Outcome) error {
	if r.cell.in[0] != Host {
		r.by = named("the check of what comes in")
		r.ask(&asked{what: "enters", src: true, in: true, of: func(dst, src netip.Addr, in string) any {
			return r.host.terrain.Enters(src, dst, in)
		}})
	} else if len(r.cell.in) > 1 {
		r.cutAt(&cut{devices: []string{Host}, by: named("that the host sends it")})
	}
	next := 0
	for i := 0; r.cut == nil && i <= len(o.Steps); i++ {
		for next < len(o.Events) && o.Events[next].Step <= i && r.cut == nil {
			if err := r.event(&o.Events[next]); err != nil {
				return err
			}
			next++
		}
		if i == len(o.Steps) || r.cut != nil {
			break
		}
		if err := r.step(&o.Steps[i]); err != nil {
			return err
		}
	}
	return nil
}

// step is a rule that held.
func (r *reader) step(s *packetsim.Step) error {
	if r.at0(s.Hook); s.Rule == nil {
		return nil
	}
	r.by = metRule{s}
	if s.Family != "" {
		return r.native(s.Family, s.Table, s.Chain, s.Handle, true)
	}
	return r.ipt(s.Dialect, s.Table, s.Chain, s.Number, true)
}

// at0 notes the hook. A packet of the host is at those of what comes in, if it is back by lo.
func (r *reader) at0(hook string) {
	comesIn := hook == netfilter.PreRouting.String() || hook == netfilter.Input.String()
	if comesIn && r.cell.in[0] == Host && !r.came {
		r.came, r.out = true, ""
	}
	r.hook = hook
}

func (r *reader) event(e *packetsim.Event) error {
	if e.Hook != "" {
		r.at0(e.Hook)
	}
	switch e.Kind {
	case packetsim.EventMissed:
		l := e.Rule
		r.by = missedRule{l}
		if l.Family != "" {
			return r.native(l.Family, l.Table, l.Chain, l.Handle, false)
		}
		return r.ipt(l.Dialect, l.Table, l.Chain, l.Number, false)
	case packetsim.EventRoute:
		r.route(e.Route)
	case packetsim.EventRewrite, packetsim.EventMark:
		r.changed(e)
	case packetsim.EventConntrack:
		r.state = e.State
	case packetsim.EventEntry, packetsim.EventConnmark:
	default:
		return fmt.Errorf("it cannot be checked what %s does", e.Kind)
	}
	return nil
}

// changed notes what became of the header. A packet that was so before is treated otherwise, and is parted from the others.
func (r *reader) changed(e *packetsim.Event) {
	was, is := e.Before, e.After
	r.mark = is.Mark
	set := func(f field, old, now value) {
		if old == now {
			return
		}
		if !r.moved[f] {
			r.test(f, []span{one(now)}, false)
		}
		r.moved[f], r.at[f] = true, now
	}
	r.by = named("the translation to " + is.Dst.String())
	if was.Dst != is.Dst || was.DstPort != is.DstPort {
		set(dst, valueOf(was.Dst), valueOf(is.Dst))
		if r.cut == nil {
			r.by = named(fmt.Sprintf("the translation to port %d", is.DstPort))
			set(dstPort, number(uint64(was.DstPort)), number(uint64(is.DstPort)))
		}
	}
	r.by = named("the translation from " + is.Src.String())
	set(src, valueOf(was.Src), valueOf(is.Src))
	if was.SrcPort != is.SrcPort {
		r.moved[srcPort], r.at[srcPort] = true, number(uint64(is.SrcPort))
	}
}

// route asks where packets go.
func (r *reader) route(to *packetsim.Routing) {
	r.by = named("routing")
	t, mark := r.host.terrain, r.mark
	plain := func(w packetsim.Way, dst netip.Addr) any {
		if w.NextHop == dst {
			w.NextHop = netip.Addr{}
		}
		return w
	}
	if r.fromHost() {
		anySrc := to.Again
		r.ask(&asked{what: [2]any{"out", anySrc}, mark: mark, src: true, of: func(dst, src netip.Addr, _ string) any {
			w, chosen := t.RouteOut(src, dst, mark, anySrc)
			if chosen == src {
				chosen = netip.Addr{}
			}
			return [2]any{plain(w, dst), chosen}
		}})
	} else {
		r.ask(&asked{what: "in", mark: mark, src: true, in: true, of: func(dst, src netip.Addr, in string) any {
			if in == Host {
				return nil
			}
			return plain(t.RouteIn(src, dst, mark, in), dst)
		}})
	}
	if r.out, r.hop = to.Out, to.NextHop; to.Src.IsValid() {
		r.moved[src], r.at[src] = true, valueOf(to.Src)
	}
}

// fromHost says whether the packets are the host's own, and were not on a device.
func (r *reader) fromHost() bool { return r.cell.in[0] == Host && !r.came }

// devices are those by which the hook sees the packets come; nil: none.
func (r *reader) devices() []string {
	switch {
	case r.fromHost():
		return nil
	case r.came:
		return []string{loopback}
	}
	return r.cell.in
}

// ask asks the terrain, for all pieces of the cell.
func (r *reader) ask(a *asked) {
	dsts, isPiece := r.pieces(dst)
	srcs, _ := r.pieces(src)
	if !a.src || r.moved[src] {
		srcs = srcs[:1]
	}
	at := r.columns(a)
	var first []int32
	for i, d := range dsts {
		row := r.host.row(a, d, isPiece)
		var now []int32
		for k := range srcs {
			from := 0
			if a.src {
				from = r.host.piece(srcs[k])
			}
			for _, c := range at {
				now = append(now, row[from][c])
			}
		}
		if i == 0 {
			first = now
		} else if !slices.Equal(now, first) {
			r.cutAt(&cut{field: dst, from: d, by: r.by})
			return
		}
	}
	r.cutBySource(first, srcs, len(at))
}

// columns are the numbers of the devices in rows of answers.
func (r *reader) columns(a *asked) []int {
	if !a.in {
		return []int{0}
	}
	var at []int
	known := names(r.host.terrain.Devices())
	for _, d := range r.devices() {
		at = append(at, slices.Index(known, d)+1)
	}
	if len(at) == 0 {
		at = []int{0}
	}
	return at
}

// cutBySource cuts where answers differ by sources, or by devices.
func (r *reader) cutBySource(answers []int32, srcs []value, width int) {
	for k := range srcs {
		if !slices.Equal(answers[k*width:(k+1)*width], answers[:width]) {
			r.cutAt(&cut{field: src, from: srcs[k], by: r.by})
			return
		}
	}
	devices := r.devices()
	var like []string
	for i := range width {
		if answers[i] == answers[0] && i < len(devices) {
			like = append(like, devices[i])
		}
	}
	if width > 1 && len(like) < width {
		r.cutAt(&cut{devices: like, by: r.by})
	}
}

// pieces are the first values of the cell's pieces of an address. Of one that was translated it is that alone, and no piece.
func (r *reader) pieces(f field) ([]value, bool) {
	if r.moved[f] {
		return []value{r.at[f]}, false
	}
	s, h := r.cell.spans[f], r.host
	out := []value{h.edges[h.piece(s.first)]}
	for i := h.piece(s.first) + 1; i < len(h.edges) && !s.last.less(h.edges[i]); i++ {
		out = append(out, h.edges[i])
	}
	return out, true
}

// cutAt notes where the cell has to be cut, if that is the first place.
func (r *reader) cutAt(c *cut) {
	if r.cut == nil {
		r.cut = c
	}
}

// answer is what a condition says of the packets of a cell.
type answer uint8

const (
	holds answer = iota // for all
	fails               // for all
	fixed               // the same for all; which, only the walk knows
	cuts                // not the same for all: the cell has been cut
)

// span is the values of a field as it is now.
func (r *reader) span(f field) span {
	if r.moved[f] {
		return one(r.at[f])
	}
	return r.cell.spans[f]
}

// test says whether a field is in any of some spans.
func (r *reader) test(f field, in []span, invert bool) answer {
	is := r.in(r.span(f), in)
	if is == cuts {
		r.cutAt(r.edgeIn(f, in))
		return cuts
	}
	if (is == holds) != invert {
		return holds
	}
	return fails
}

func (r *reader) in(s span, in []span) answer {
	for _, i := range in {
		if i.holds(s) {
			return holds
		}
	}
	for _, i := range in {
		if i.meets(s) {
			return cuts
		}
	}
	return fails
}

// edgeIn is an edge of the spans inside the cell.
func (r *reader) edgeIn(f field, in []span) *cut {
	s := r.cell.spans[f]
	for _, i := range in {
		if s.first.less(i.first) && !s.last.less(i.first) {
			return &cut{field: f, from: i.first, by: r.by}
		}
	}
	for _, i := range in {
		if s.has(i.last) && i.last.less(s.last) {
			return &cut{field: f, from: i.last.next(), by: r.by}
		}
	}
	return nil
}

// byDevice says whether a condition of the device by which the packets come holds.
func (r *reader) byDevice(is func(name string) bool) answer {
	devices := r.devices()
	if len(devices) == 0 {
		devices = []string{""}
	}
	var like []string
	for _, d := range devices {
		if is(d) == is(devices[0]) {
			like = append(like, d)
		}
	}
	switch {
	case len(like) < len(devices):
		r.cutAt(&cut{devices: like, by: r.by})
		return cuts
	case is(devices[0]):
		return holds
	}
	return fails
}

// oneDevice cuts cells of several devices, where more is asked of them than can be read.
func (r *reader) oneDevice() answer {
	if devices := r.devices(); len(devices) > 1 {
		r.cutAt(&cut{devices: devices[:1], by: r.by})
		return cuts
	}
	return fixed
}

// protoKinds are the protocols that have headers of their own to rules, and to NAT.
var protoKinds = []span{one(number(1)), one(number(6)), one(number(17)), one(number(58)), one(number(132))}

// oneProto cuts cells of several protocols whose headers differ.
func (r *reader) oneProto() answer {
	for _, p := range protoKinds {
		if r.test(proto, []span{p}, false) == cuts {
			return cuts
		}
	}
	return fixed
}

// fixedBy asks the terrain.
func (r *reader) fixedBy(a *asked) answer {
	if before := r.cut; before == nil {
		if r.ask(a); r.cut != nil {
			return cuts
		}
	}
	return fixed
}
