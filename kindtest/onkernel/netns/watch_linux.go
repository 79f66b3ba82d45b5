package netns

import (
	"fmt"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/internal/nfnetlink"
	"github.com/chainwalk/chainwalk/kindtest/internal/nftrace"
	"github.com/chainwalk/chainwalk/kindtest/internal/raw"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/scenarios/world/tools"
)

// watchTable is the table that each namespace has for its packets to be seen.
const watchTable = "chainwalk"

// The points of a packet's way through a namespace at which it is reported, which are the watch table's chains.
const (
	pointIn    = "in"    // came by a device
	pointSent  = "sent"  // a socket or the kernel sent it
	pointLocal = "local" // all hooks let it pass to a socket
	pointOut   = "out"   // all hooks let it leave by a device
)

// gatePrefix is before the point in the name of its gate.
const gatePrefix = "gate"

// gateOf is the chain that is the gate behind a point.
func gateOf(point string) string { return gatePrefix + point }

// watchRules make the watch table. It reports each packet before all other tables and
// after them. What IPv6 says to find neighbours is no traffic. The gates, which let all
// pass, are for packets that are not to go further than they are looked at.
func watchRules(traced bool) string {
	trace := ""
	if traced {
		trace = "meta nftrace set 1 "
	}
	var b strings.Builder
	fmt.Fprintf(&b, "table inet %s {\n", watchTable)
	for _, c := range []struct {
		point, hook, trace string
		priority           int
	}{
		{pointIn, "prerouting", trace, -500}, {pointSent, "output", trace, -500},
		{pointLocal, "input", "", 500}, {pointOut, "postrouting", "", 500},
	} {
		fmt.Fprintf(&b, "chain %s { type filter hook %s priority %d; icmpv6 type { 130-137, 143 } accept\n", c.point, c.hook, c.priority)
		fmt.Fprintf(&b, "%slog prefix %q group 0 snaplen 128 queue-threshold 1\n}\n", c.trace, c.point)
		fmt.Fprintf(&b, "chain %s { type filter hook %s priority %d; }\n", gateOf(c.point), c.hook, c.priority+10)
	}
	return b.String() + "}\n"
}

// sighting is one thing that was seen of a packet in a namespace: that it came to a point, or a step.
type sighting struct {
	point string // empty for a step
	step  packetsim.Step
	*raw.Capture
	mark        uint32
	inDev, oDev string
}

// watch collects the sightings of a namespace.
type watch struct {
	reports *nfnetlink.Socket
	traced  bool // the points come from the nft tables' trace, otherwise from NFLOG
	seen    []sighting
	last    map[uint32]*sighting // of the trace's packets, by the kernel's number
	host    *host
	rules   *ruleBook // nodes only
}

// startWatch makes a namespace's packets seen.
func (h *host) startWatch() error {
	w := &watch{host: h, last: map[uint32]*sighting{}, traced: h.Node != nil && slices.Contains(h.dialects, netfilter.NFT)}
	h.watch = w
	if h.Node != nil {
		w.rules = &ruleBook{host: h}
	}
	var err error
	if w.reports, err = h.ns.netfilter(); err != nil {
		return err
	}
	if w.traced {
		err = nftrace.Join(w.reports)
	}
	if err == nil && (!w.traced || slices.Contains(h.dialects, netfilter.Legacy)) {
		err = w.reports.BindLog(func(m nfnetlink.Message) error {
			_, err := w.onLog(m)
			return err
		})
	}
	if err != nil {
		return err
	}
	_, err = tools.Run(h.exec, watchRules(h.Node != nil), "nft", "-f", "-")
	return err
}

func (w *watch) close() error {
	if w == nil || w.reports == nil {
		return nil
	}
	return w.reports.Close()
}

// collect takes in what was reported. It says whether there was anything.
func (w *watch) collect() (bool, error) {
	count, err := w.reports.Receive(func(m nfnetlink.Message) error {
		if isLog, err := w.onLog(m); isLog || err != nil {
			return err
		}
		return w.onTrace(m)
	})
	if err != nil {
		return false, fmt.Errorf("watch %s: %w", w.host.Name, err)
	}
	return count > 0, nil
}

// forget drops what was seen.
func (w *watch) forget() { w.seen = nil; clear(w.last) }

// onTrace takes a report of the nft tables' trace.
func (w *watch) onTrace(m nfnetlink.Message) error {
	r, isTrace, err := nftrace.Parse(m)
	if !isTrace {
		return err
	}
	s := sighting{mark: r.Mark, inDev: w.host.devices[r.In], oDev: w.host.devices[r.Out]}
	if r.Header != nil {
		if s.Capture, err = raw.Parse(r.Header); err != nil {
			return err
		}
		w.last[r.PacketID] = &s
	} else if before := w.last[r.PacketID]; before != nil {
		s.Capture, s.mark, s.inDev, s.oDev = before.Capture, before.mark, before.inDev, before.oDev
	} else {
		return nil // of a packet from before the last look
	}
	if r.Table != watchTable {
		var said bool
		if s.step, said = w.rules.traced(s.Src.Is6(), &r); !said {
			return nil
		}
	} else if s.point = r.Chain; r.Header == nil || strings.HasPrefix(r.Chain, gatePrefix) {
		return nil // a point counts once
	}
	w.seen = append(w.seen, s)
	return nil
}
