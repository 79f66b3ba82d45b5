package fakeipt

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/chainwalk/chainwalk/fakeipt/internal/libc"
)

// TargetLog is -j LOG.
type TargetLog struct {
	Prefix string
	Level  uint8
	Flags  uint8
}

// The bits of TargetLog.Flags, with the kernel's values.
const (
	LogTCPSequence uint8 = 0x01
	LogTCPOptions  uint8 = 0x02
	LogIPOptions   uint8 = 0x04
	LogUID         uint8 = 0x08
	LogMACDecode   uint8 = 0x20
)

// logFlag is an option of LOG that sets a bit.
type logFlag struct {
	option string
	bit    uint8
}

var logFlags = [...]logFlag{{"log-tcp-sequence", LogTCPSequence}, {"log-tcp-options", LogTCPOptions},
	{"log-ip-options", LogIPOptions}, {"log-uid", LogUID}, {"log-macdecode", LogMACDecode}}

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

func (t *TargetLog) appendSave(dst []byte, _ Family, _ Dialect) []byte {
	if t.Prefix != "" {
		dst = appendQuoted(append(dst, " --log-prefix"...), t.Prefix)
	}
	if t.Level != logDefaultLevel {
		dst = strconv.AppendUint(append(dst, " --log-level "...), uint64(t.Level), 10)
	}
	for _, f := range logFlags {
		if t.Flags&f.bit != 0 {
			dst = append(append(dst, " --"...), f.option...)
		}
	}
	return dst
}

func (t *TargetLog) appendList(dst []byte, style listStyle) []byte {
	dst = append(dst, " LOG"...)
	if style.numeric {
		dst = fmt.Appendf(dst, " flags %d level %d", t.Flags, t.Level)
	} else {
		dst = append(append(dst, " level "...), logLevels[t.Level]...)
		for _, f := range logFlags {
			if t.Flags&f.bit != 0 {
				dst = append(append(dst, ' '), strings.TrimPrefix(f.option, "log-")...)
			}
		}
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

func (p *logParser) begin(Family) { p.t = TargetLog{Level: logDefaultLevel} }

func (p *logParser) option(o *optionCall) error {
	switch o.name {
	case "log-level":
		return p.level(o)
	case "log-prefix":
		if len(o.arg) == 0 {
			return badParameter("Argument must have a minimum length of 1 characters\n")
		}
		p.t.Prefix = string(o.arg[:min(len(o.arg), maxLogPrefix)])
	}
	for _, f := range logFlags {
		if f.option == o.name {
			p.t.Flags |= f.bit
		}
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
