package libc

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// netbase is the version of Debian's package that the names are from.
const netbase = "6.4"

// linesOf are the fields of the lines of a file of Debian's package, without comments. A machine that has another version of it cannot say
// whether the names are right.
func linesOf(t *testing.T, file string) [][]string {
	if os.Getenv("CHAINWALK_KERNEL") == "" {
		t.Skip("set CHAINWALK_KERNEL=1 to compare with this machine's files")
	}
	version, err := exec.Command("dpkg-query", "-W", "-f", "${Version}", "netbase").Output()
	require.NoError(t, err, "the package netbase is needed")
	require.Equal(t, netbase, string(version), "the names come from another version of the package netbase")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var lines [][]string
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		if fields := strings.Fields(line); len(fields) > 0 {
			lines = append(lines, fields)
		}
	}
	require.NotEmpty(t, lines)
	return lines
}

// TestServicesAreDebiansKernel compares the services with the machine's, in their order.
func TestServicesAreDebiansKernel(t *testing.T) {
	var want, got []string
	for _, fields := range linesOf(t, "/etc/services") {
		want = append(want, strings.Join(fields, " "))
	}
	for _, s := range serviceNames {
		for _, in := range []struct {
			bit  uint8
			word string
		}{{inTCP, "tcp"}, {inUDP, "udp"}, {inSCTP, "sctp"}, {inDDP, "ddp"}} {
			if s.in&in.bit != 0 {
				got = append(got, strings.TrimSpace(s.name+" "+strconv.Itoa(int(s.port))+"/"+in.word+" "+s.aliases))
			}
		}
	}
	assert.Equal(t, want, got)
}

// TestProtocolsAreDebiansKernel compares the protocols with the machine's, but for what has no number that a header can have.
func TestProtocolsAreDebiansKernel(t *testing.T) {
	var want, got []string
	for _, fields := range linesOf(t, "/etc/protocols") {
		if n, err := strconv.Atoi(fields[1]); err == nil && n < 256 {
			want = append(want, strings.Join(fields, " "))
		}
	}
	for _, p := range protocolNames {
		got = append(got, strings.TrimSpace(p.name+" "+strconv.Itoa(int(p.number))+" "+p.aliases))
	}
	assert.ElementsMatch(t, want, got)
}
