package target

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// Log is -j LOG.
type Log struct {
	Prefix string
	Level  uint8
	Flags  uint8
}

// The bits of Log.Flags, with the kernel's values.
const (
	logTCPSequence uint8 = 0x01
	logTCPOptions  uint8 = 0x02
	logIPOptions   uint8 = 0x04
	logUID         uint8 = 0x08
	logMACDecode   uint8 = 0x20
)

// logFlags are the options that set a bit, without the "log-" before them.
var logFlags = xtables.BitNames{Names: []xtables.BitName{
	{Name: "tcp-sequence", Bit: uint32(logTCPSequence)}, {Name: "tcp-options", Bit: uint32(logTCPOptions)},
	{Name: "ip-options", Bit: uint32(logIPOptions)}, {Name: "uid", Bit: uint32(logUID)}, {Name: "macdecode", Bit: uint32(logMACDecode)},
}}

// appendFlags appends the names of the flags, each behind a prefix.
func (t *Log) appendFlags(dst []byte, prefix string) []byte {
	if t.Flags == 0 {
		return dst
	}
	return logFlags.Append(append(dst, prefix...), uint32(t.Flags), prefix)
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
func (*Log) Name() string { return "LOG" }

func (t *Log) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	if t.Prefix != "" {
		dst = xtables.AppendQuoted(append(dst, " --log-prefix"...), t.Prefix)
	}
	if t.Level != logDefaultLevel {
		dst = strconv.AppendUint(append(dst, " --log-level "...), uint64(t.Level), 10)
	}
	return t.appendFlags(dst, " --log-")
}

func (t *Log) AppendList(dst []byte, style xtables.ListStyle) []byte {
	dst = append(dst, " LOG"...)
	if style.Numeric {
		dst = fmt.Appendf(dst, " flags %d level %d", t.Flags, t.Level)
	} else {
		dst = t.appendFlags(append(append(dst, " level "...), logLevels[t.Level]...), " ")
	}
	if t.Prefix != "" {
		dst = fmt.Appendf(dst, " prefix \"%s\"", t.Prefix)
	}
	return dst
}

var logExtension = &xtables.Extension{
	Name: "LOG",
	Options: []xtables.Option{
		{Name: "log-level"}, {Name: "log-prefix"}, {Name: "log-tcp-sequence", Flag: true}, {Name: "log-tcp-options", Flag: true},
		{Name: "log-ip-options", Flag: true}, {Name: "log-uid", Flag: true}, {Name: "log-macdecode", Flag: true},
	},
	NewTarget: func() xtables.TargetParser { return &logParser{} },
}

type logParser struct {
	t     Log
	arena xtables.Arena[Log]
}

func (p *logParser) Begin(netfilter.Family) { p.t = Log{Level: logDefaultLevel} }

func (p *logParser) Option(o *xtables.OptionCall) error {
	switch o.Name {
	case "log-level":
		return p.level(o)
	case "log-prefix":
		if err := xtables.WantLine(o); err != nil {
			return err
		}
		p.t.Prefix = string(o.Arg[:min(len(o.Arg), maxLogPrefix)])
	default:
		p.t.Flags |= uint8(logFlags.Bit(strings.TrimPrefix(o.Name, "log-")))
	}
	return nil
}

func (p *logParser) level(o *xtables.OptionCall) error {
	if n, ok := libc.WholeNumber(o.Arg, uint64(len(logLevels)-1)); ok {
		p.t.Level = uint8(n)
		return nil
	}
	for _, l := range logLevelNames {
		if l.name == string(o.Arg) {
			p.t.Level = l.level
			return nil
		}
	}
	return xtables.BadParameter("log level \"%s\" unknown\n", o.Arg)
}

func (p *logParser) Finish(uint32) (xtables.Target, error) { return p.arena.Intern(p.t), nil }
