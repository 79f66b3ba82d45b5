package netns

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/chainwalk/chainwalk/internal/nlattr"
	"github.com/chainwalk/chainwalk/kindtest/internal/nftrace"
	"github.com/chainwalk/chainwalk/kindtest/internal/raw"
)

// Numbers of linux/netfilter/nfnetlink_log.h.
const (
	logPacket          = unix.NFNL_SUBSYS_ULOG << 8
	logConfig          = unix.NFNL_SUBSYS_ULOG<<8 | 1
	logConfigCommand   = 1
	logConfigMode      = 2
	logConfigThreshold = 5
	logCommandBind     = 1
	logCopyPacket      = 2

	logMark      = 2
	logInDevice  = 4
	logOutDevice = 5
	logPayload   = 9
	logPrefix    = 10
)

// bindLog asks for the reports of NFLOG.
func (w *watch) bindLog() error {
	bind := nlattr.Append(nil, logConfigCommand, logCommandBind)
	mode := nlattr.AppendUint32(nlattr.Append(nil, logConfigMode, 0, 0, 0, 128, logCopyPacket, 0), logConfigThreshold, 1)
	for _, config := range [][]byte{bind, mode} {
		if err := w.reports.Request(logConfig, unix.NLM_F_ACK, unix.AF_UNSPEC, 0, config, w.onLog); err != nil {
			return fmt.Errorf("bind to NFLOG: %w", err)
		}
	}
	return nil
}

// onLog takes a packet of NFLOG: at a point, or a step of the legacy tables. Where the
// nft tables are traced as well the points are those of the trace.
func (w *watch) onLog(m nftrace.Message) error {
	r, err := readLog(m)
	if err != nil {
		return err
	}
	s := sighting{mark: r.mark, inDev: w.host.devices[r.in], oDev: w.host.devices[r.out]}
	if s.Capture, err = raw.Parse(r.packet); err != nil {
		return err
	}
	switch at, isStep := strings.CutPrefix(r.prefix, "TRACE: "); {
	case isStep:
		s.step = w.rules.step(s.Src.Is6(), at)
	case w.traced:
		return nil
	default:
		s.point = r.prefix
	}
	w.seen = append(w.seen, s)
	return nil
}

// logReport is what NFLOG says of a packet.
type logReport struct {
	prefix        string
	packet        []byte
	mark, in, out uint32 // the devices' numbers, 0 for none
}

func readLog(m nftrace.Message) (r logReport, err error) {
	for a, err := range nlattr.All(m.Attributes) {
		switch {
		case err != nil:
		case a.Type == logMark:
			r.mark, err = a.Uint32()
		case a.Type == logInDevice:
			r.in, err = a.Uint32()
		case a.Type == logOutDevice:
			r.out, err = a.Uint32()
		case a.Type == logPayload:
			r.packet = slices.Clone(a.Value)
		case a.Type == logPrefix:
			r.prefix = strings.TrimRight(a.Text(), " ")
		}
		if err != nil {
			return r, err
		}
	}
	return r, nil
}
