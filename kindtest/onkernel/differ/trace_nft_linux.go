package differ

import (
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/chainwalk/chainwalk/internal/namespace"
	"github.com/chainwalk/chainwalk/internal/nfnetlink"
	"github.com/chainwalk/chainwalk/kindtest/internal/nftrace"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/packetsim"
)

// nftTracer reads the traces of nf_tables, which name rules by their handles.
type nftTracer struct {
	events, requests *nfnetlink.Socket
	numbers          map[string]int // "TABLE:CHAIN:HANDLE" to the rule's place in its chain
	// ids are the packets' identifications by the kernel's numbers of them; unasked are the packets that it sent by itself.
	ids     map[uint32]uint32
	unasked map[uint32]bool
}

func newNFTTracer(node *namespace.Namespace) (*nftTracer, error) {
	t := &nftTracer{ids: map[uint32]uint32{}, unasked: map[uint32]bool{}}
	err := node.Do(func() (err error) {
		if t.events, err = nfnetlink.Open(); err != nil {
			return err
		}
		if t.requests, err = nfnetlink.Open(); err != nil {
			return errors.Join(err, t.events.Close())
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := nftrace.Join(t.events); err != nil {
		t.close()
		return nil, fmt.Errorf("trace socket: %w", err)
	}
	return t, nil
}

func (t *nftTracer) close() {
	_ = t.events.Close()
	_ = t.requests.Close()
}

// prepare lists the rules to learn their handles.
func (t *nftTracer) prepare(f netfilter.Family) error {
	t.numbers, t.ids, t.unasked = map[string]int{}, map[uint32]uint32{}, map[uint32]bool{}
	family := uint8(unix.AF_INET)
	if f == netfilter.IPv6 {
		family = unix.AF_INET6
	}
	last := map[string]int{}
	for _, of := range [...]uint8{family, uint8(nftables.Inet)} {
		err := nftrace.Rules(t.requests, of, func(table, chain string, handle uint64) {
			last[table+":"+chain]++
			t.numbers[handleKey(table, chain, handle)] = last[table+":"+chain]
		})
		if err != nil {
			return fmt.Errorf("listing rules: %w", err)
		}
	}
	return nil
}

func handleKey(table, chain string, handle uint64) string {
	return fmt.Sprintf("%s:%s:%d", table, chain, handle)
}

func (t *nftTracer) read() (lines []traceLine, err error) {
	_, err = t.events.Receive(func(m nfnetlink.Message) error {
		report, isTrace, err := nftrace.Parse(m)
		if !isTrace {
			return err
		}
		if line := t.line(&report); line.text != "" {
			lines = append(lines, line)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("trace socket: %w", err)
	}
	return lines, nil
}

// line spells a report as stepText does. The packet's header is in the first report of a hook's chain only.
func (t *nftTracer) line(r *nftrace.Report) traceLine {
	if id, unasked, err := identify(r.Header); err == nil {
		t.ids[r.PacketID], t.unasked[r.PacketID] = id, unasked
	}
	if t.unasked[r.PacketID] {
		return traceLine{}
	}
	chain := r.Table + ":" + r.Chain
	line := traceLine{id: t.ids[r.PacketID], group: r.PacketID}
	switch r.Kind {
	case packetsim.StepRule:
		// Without a handle it is the end of the chain; that of a hook's chain is told by its policy as well.
		if !isHookChain(r.Chain) {
			line.text = chain + ":return"
		}
		if r.Handle != 0 {
			line.text = fmt.Sprintf("%s:rule:%d", chain, t.numbers[handleKey(r.Table, r.Chain, r.Handle)])
		}
		if line.text == sentStep {
			line.made = madeTextOf(r.Header)
		}
	case packetsim.StepReturn:
		line.text = chain + ":return"
	case packetsim.StepPolicy:
		line.text = chain + ":policy"
	}
	return line
}

// isHookChain is for the names of the built-in chains.
func isHookChain(name string) bool {
	for _, t := range tableHooks {
		if slices.Contains(t.hooks, name) {
			return true
		}
	}
	return false
}
