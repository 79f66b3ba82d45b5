package nfnetlink

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/chainwalk/chainwalk/internal/nlattr"
)

// LogSysctls are the settings of a namespace whose rules with the legacy TRACE report to NFLOG, in group 0.
func LogSysctls() [][2]string {
	return [][2]string{{"net.netfilter.nf_log.2", "nfnetlink_log"}, {"net.netfilter.nf_log.10", "nfnetlink_log"}}
}

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

// logLength is how many bytes of each packet a report has.
const logLength = 128

// BindLog asks for the reports of NFLOG's group 0, each as soon as it is made. Those that come before the kernel has answered are given to
// handle.
func (s *Socket) BindLog(handle func(Message) error) error {
	bind := nlattr.Append(nil, logConfigCommand, logCommandBind)
	mode := nlattr.AppendUint32(nlattr.Append(nil, logConfigMode, 0, 0, 0, logLength, logCopyPacket, 0), logConfigThreshold, 1)
	for _, config := range [][]byte{bind, mode} {
		if err := s.Request(logConfig, unix.NLM_F_ACK, unix.AF_UNSPEC, 0, config, handle); err != nil {
			return fmt.Errorf("bind to NFLOG: %w", err)
		}
	}
	return nil
}

// LogReport is what NFLOG says of a packet.
type LogReport struct {
	// Prefix is the rule's, without blanks at its end. TRACE has "TRACE: TABLE:CHAIN:rule:N" and the like.
	Prefix string
	// Packet is the packet from its IP header on, or its beginning.
	Packet []byte
	// Mark is the packet's. In and Out are numbers of devices, 0 for none.
	Mark, In, Out uint32
}

// Step is the step that a rule with TRACE reports, "TABLE:CHAIN:rule:N"; false for reports of other rules.
func (r *LogReport) Step() (step string, isStep bool) { return strings.CutPrefix(r.Prefix, "TRACE: ") }

// ParseLog reads a report of NFLOG; false for other messages.
func ParseLog(m Message) (r LogReport, isLog bool, err error) {
	if m.Kind != logPacket {
		return r, false, nil
	}
	for a, err := range nlattr.All(m.Attributes) {
		if err == nil {
			err = r.take(a)
		}
		if err != nil {
			return r, false, fmt.Errorf("report of NFLOG: %w", err)
		}
	}
	return r, true, nil
}

// take takes in an attribute.
func (r *LogReport) take(a nlattr.Attribute) (err error) {
	switch a.Type {
	case logMark:
		r.Mark, err = a.Uint32()
	case logInDevice:
		r.In, err = a.Uint32()
	case logOutDevice:
		r.Out, err = a.Uint32()
	case logPayload:
		r.Packet = slices.Clone(a.Value)
	case logPrefix:
		r.Prefix = strings.TrimRight(a.Text(), " ")
	}
	return err
}
