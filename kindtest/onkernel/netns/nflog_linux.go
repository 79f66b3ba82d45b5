package netns

import (
	"github.com/chainwalk/chainwalk/internal/nfnetlink"
	"github.com/chainwalk/chainwalk/kindtest/internal/raw"
)

// onLog takes a report of NFLOG: that a packet came to a point, or a step of the legacy tables. If the nft tables are traced as well, the
// trace gives the points. It is false for other messages.
func (w *watch) onLog(m nfnetlink.Message) (isLog bool, err error) {
	r, isLog, err := nfnetlink.ParseLog(m)
	if !isLog || err != nil {
		return isLog, err
	}
	s := sighting{mark: r.Mark, inDev: w.host.devices[r.In], oDev: w.host.devices[r.Out]}
	if s.Capture, err = raw.Parse(r.Packet); err != nil {
		return true, err
	}
	switch at, isStep := r.Step(); {
	case isStep:
		s.step = w.rules.step(s.Src.Is6(), at)
	case w.traced:
		return true, nil
	default:
		s.point = r.Prefix
	}
	w.seen = append(w.seen, s)
	return true, nil
}
