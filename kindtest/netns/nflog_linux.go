package netns

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/chainwalk/chainwalk/internal/nlattr"
	"github.com/chainwalk/chainwalk/kindtest/internal/nftrace"
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
// nft tables are traced nobody listens to it: the trace has the points as well and in their order.
func (w *watch) onLog(m nftrace.Message) error {
	if m.Kind != logPacket {
		return nil
	}
	var s sighting
	var packet []byte
	prefix := ""
	for a, err := range nlattr.All(m.Attributes) {
		var device uint32
		switch {
		case err != nil:
		case a.Type == logMark:
			s.mark, err = a.Uint32()
		case a.Type == logInDevice:
			device, err = a.Uint32()
			s.inDev = w.host.devices[device]
		case a.Type == logOutDevice:
			device, err = a.Uint32()
			s.oDev = w.host.devices[device]
		case a.Type == logPayload:
			packet = slices.Clone(a.Value)
		case a.Type == logPrefix:
			prefix = strings.TrimRight(a.Text(), " ")
		}
		if err != nil {
			return err
		}
	}
	at, isStep := strings.CutPrefix(prefix, "TRACE: ")
	var err error
	if s.capture, err = parseCapture(packet); err != nil {
		return err
	}
	if isStep {
		s.step = w.rules.step(s.Src.Is6(), at)
	} else {
		s.point = prefix
	}
	w.seen = append(w.seen, s)
	return nil
}
