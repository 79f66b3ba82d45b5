package differ

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/internal/kmsg"
)

// legacyTracer reads the kernel's log, where the legacy TRACE target writes. What the log has lost will be a disagreement.
type legacyTracer struct{ log *kmsg.Log }

func newLegacyTracer() (*legacyTracer, error) {
	log, err := kmsg.Open()
	if err != nil {
		return nil, err
	}
	return &legacyTracer{log}, nil
}

func (t *legacyTracer) prepare(fakeipt.Family) error { return nil }

func (t *legacyTracer) close() { _ = t.log.Close() }

func (t *legacyTracer) read() ([]traceLine, error) {
	var lines []traceLine
	for {
		record, there, err := t.log.Next()
		if !there {
			return lines, err
		}
		if line, ok := parseLogLine(record); ok {
			lines = append(lines, line)
		}
	}
}

// logLine finds step and identification (flow label in IPv6). An ICMP error's own come before those of the packet that it quotes.
var logLine = regexp.MustCompile(`TRACE: (\w+:\S+) IN=(\S*) OUT=(\S*).*? SRC=(\S+) DST=(\S+).*? (?:ID|FLOWLBL)=(\d+) `)

// labAddress is how the addresses of the lab begin in the log.
var labAddress = regexp.MustCompile(`^(10\.78\.|10\.19[5-8]\.|127\.|fd78:|fd9[5-8]:|0000:0000:)`)

// parseLogLine is false for lines that are not of the lab.
func parseLogLine(line string) (traceLine, bool) {
	m := logLine.FindStringSubmatch(line)
	if m == nil || !labAddress.MatchString(m[4]) || !labAddress.MatchString(m[5]) {
		return traceLine{}, false
	}
	for _, dev := range m[2:4] {
		if dev != "" && dev != "lo" && dev != clientDev && dev != serverDev {
			return traceLine{}, false
		}
	}
	id, err := strconv.ParseUint(m[6], 10, 32)
	return traceLine{id: uint32(id), text: m[1]}, err == nil && !strings.Contains(m[1], "::")
}
