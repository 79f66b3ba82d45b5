package differ

import (
	"fmt"

	"github.com/chainwalk/chainwalk/internal/namespace"
	"github.com/chainwalk/chainwalk/internal/nfnetlink"
	"github.com/chainwalk/chainwalk/netfilter"
)

// legacyTracer reads the reports of the node's rules with TRACE, which no other namespace has.
type legacyTracer struct{ reports *nfnetlink.Socket }

func newLegacyTracer(node *namespace.Namespace) (*legacyTracer, error) {
	for _, s := range nfnetlink.LogSysctls() {
		if err := node.SetSysctl(s[0], s[1]); err != nil {
			return nil, err
		}
	}
	t := &legacyTracer{}
	err := node.Do(func() (err error) {
		t.reports, err = nfnetlink.Open()
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := t.reports.BindLog(func(nfnetlink.Message) error { return nil }); err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

func (t *legacyTracer) prepare(netfilter.Family) error { return nil }

func (t *legacyTracer) close() { _ = t.reports.Close() }

func (t *legacyTracer) read() (lines []traceLine, err error) {
	_, err = t.reports.Receive(func(m nfnetlink.Message) error {
		r, _, err := nfnetlink.ParseLog(m)
		step, isStep := r.Step()
		if !isStep || err != nil {
			return err
		}
		id, unasked, err := identify(r.Packet)
		if !unasked {
			lines = append(lines, traceLine{id: id, text: step})
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reports of TRACE: %w", err)
	}
	return lines, nil
}
