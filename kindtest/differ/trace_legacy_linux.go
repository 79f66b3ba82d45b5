package differ

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/chainwalk/chainwalk/fakeipt"
)

// legacyTracer reads the kernel's log, where the legacy TRACE target writes.
type legacyTracer struct {
	log *os.File
	buf []byte
}

// newLegacyTracer opens the log behind what it holds now.
func newLegacyTracer() (*legacyTracer, error) {
	fd, err := unix.Open("/dev/kmsg", unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("kernel log: %w", err)
	}
	log := os.NewFile(uintptr(fd), "/dev/kmsg")
	if _, err := unix.Seek(fd, 0, unix.SEEK_END); err != nil {
		return nil, fmt.Errorf("kernel log: %w", err)
	}
	return &legacyTracer{log: log, buf: make([]byte, 8192)}, nil
}

func (t *legacyTracer) prepare(fakeipt.Family) error { return nil }

func (t *legacyTracer) close() { _ = t.log.Close() }

func (t *legacyTracer) read() ([]traceLine, error) {
	var lines []traceLine
	for {
		n, err := unix.Read(int(t.log.Fd()), t.buf)
		switch err {
		case nil:
		case unix.EPIPE: // overrun: what is missing will be a disagreement
			continue
		case unix.EAGAIN:
			return lines, nil
		default:
			return nil, fmt.Errorf("kernel log: %w", err)
		}
		if line, ok := parseLogLine(string(t.buf[:n])); ok {
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
