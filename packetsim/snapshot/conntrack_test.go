package snapshot

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
)

// TestParseConntrack reads text and prints the entries, one line each.
func TestParseConntrack(t *testing.T) {
	datadriven.RunTest(t, "testdata/conntrack.txt", func(_ *testing.T, d *datadriven.TestData) string {
		connections, err := parseConntrack("conntrack.txt", strings.NewReader(d.Input))
		if err != nil {
			return err.Error() + "\n"
		}
		var b strings.Builder
		for _, c := range connections {
			fmt.Fprintf(&b, "%s -> %s", tupleText(c.Original), tupleText(c.Reply))
			fmt.Fprintf(&b, " state=%q timeout=%d replied=%t assured=%t mark=%d zone=%d\n", c.State, c.Timeout, c.Replied, c.Assured, c.Mark, c.Zone)
		}
		return b.String()
	})
}

func tupleText(t Tuple) string {
	return fmt.Sprintf("%s %s:%d>%s:%d(%d/%d %d)", t.Proto, t.Src, t.SrcPort, t.Dst, t.DstPort, t.ICMPType, t.ICMPCode, t.ICMPID)
}

func FuzzParseConntrack(f *testing.F) {
	f.Add("ipv4     2 tcp      6 117 TIME_WAIT src=10.0.0.1 dst=10.0.0.2 sport=1 dport=2 " +
		"src=10.0.0.2 dst=10.0.0.1 sport=2 dport=1 [ASSURED] mark=0 use=1")
	f.Add("icmp     1 29 src=10.0.0.1 dst=10.0.0.2 type=8 code=0 id=1 [UNREPLIED] src=10.0.0.2 dst=10.0.0.1 type=0 code=0 id=1 mark=0 use=1")
	f.Add("ipv4 2 tcp 6")
	f.Fuzz(func(t *testing.T, text string) {
		connections, err := parseConntrack("f", strings.NewReader(text))
		if err != nil {
			return
		}
		for i := range connections {
			require.NoError(t, connections[i].check("entry"))
		}
	})
}
