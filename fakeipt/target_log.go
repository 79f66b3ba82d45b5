package fakeipt

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// TargetLog is -j LOG.
type TargetLog struct {
	Prefix string
	Level  uint8
	Flags  uint8
}

// The bits of TargetLog.Flags, with the kernel's values.
const (
	logTCPSequence uint8 = 0x01
	logTCPOptions  uint8 = 0x02
	logIPOptions   uint8 = 0x04
	logUID         uint8 = 0x08
	logMACDecode   uint8 = 0x20
)

// logFlags are the options that set a bit, without the "log-" before them.
var logFlags = bitNames{names: []bitName{{"tcp-sequence", uint32(logTCPSequence)}, {"tcp-options", uint32(logTCPOptions)},
	{"ip-options", uint32(logIPOptions)}, {"uid", uint32(logUID)}, {"macdecode", uint32(logMACDecode)}}}

// appendFlags appends the names of the flags, each behind a prefix.
func (t *TargetLog) appendFlags(dst []byte, prefix string) []byte {
	if t.Flags == 0 {
		return dst
	}
	return logFlags.append(append(dst, prefix...), uint32(t.Flags), prefix)
}

// logLevels are the names of syslog's levels, from 0.
var logLevels = [...]string{"emerg", "alert", "crit", "err", "warn", "notice", "info", "debug"}

// logLevelNames are the names that are taken, which are not all of those that are printed.
var logLevelNames = [...]struct {
	name  string
	level uint8
}{{"panic", 0}, {"emerg", 0}, {"alert", 1}, {"crit", 2}, {"error", 3}, {"warning", 4}, {"notice", 5}, {"info", 6}, {"debug", 7}}

const (
	logDefaultLevel = 4
	maxLogPrefix    = 29
)

// Name is "LOG".
func (*TargetLog) Name() string { return "LOG" }

func (t *TargetLog) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	if t.Prefix != "" {
		dst = appendQuoted(append(dst, " --log-prefix"...), t.Prefix)
	}
	if t.Level != logDefaultLevel {
		dst = strconv.AppendUint(append(dst, " --log-level "...), uint64(t.Level), 10)
	}
	return t.appendFlags(dst, " --log-")
}

func (t *TargetLog) appendList(dst []byte, style listStyle) []byte {
	dst = append(dst, " LOG"...)
	if style.numeric {
		dst = fmt.Appendf(dst, " flags %d level %d", t.Flags, t.Level)
	} else {
		dst = t.appendFlags(append(append(dst, " level "...), logLevels[t.Level]...), " ")
	}
	if t.Prefix != "" {
		dst = fmt.Appendf(dst, " prefix \"%s\"", t.Prefix)
	}
	return dst
}

var logExtension = &extension{
	name: "LOG",
	options: []optionSpec{
		{name: "log-level"}, {name: "log-prefix"}, {name: "log-tcp-sequence", flag: true}, {name: "log-tcp-options", flag: true},
		{name: "log-ip-options", flag: true}, {name: "log-uid", flag: true}, {name: "log-macdecode", flag: true},
	},
	newTarget: func() targetParser { return &logParser{} },
}

type logParser struct {
	t     TargetLog
	arena arena[TargetLog]
}

func (p *logParser) begin(netfilter.Family) { p.t = TargetLog{Level: logDefaultLevel} }

func (p *logParser) option(o *optionCall) error {
	switch o.name {
	case "log-level":
		return p.level(o)
	case "log-prefix":
		if err := wantLine(o); err != nil {
			return err
		}
		p.t.Prefix = string(o.arg[:min(len(o.arg), maxLogPrefix)])
	default:
		p.t.Flags |= uint8(logFlags.bit(strings.TrimPrefix(o.name, "log-")))
	}
	return nil
}

func (p *logParser) level(o *optionCall) error {
	if n, ok := libc.WholeNumber(o.arg, uint64(len(logLevels)-1)); ok {
		p.t.Level = uint8(n)
		return nil
	}
	for _, l := range logLevelNames {
		if l.name == string(o.arg) {
			p.t.Level = l.level
			return nil
		}
	}
	return badParameter("log level \"%s\" unknown\n", o.arg)
}

func (p *logParser) finish(uint32) (Target, error) { return p.arena.intern(p.t), nil }
