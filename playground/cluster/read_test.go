package cluster

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestModes: in each mode the rules are those of the tools, the service has its own, and a packet reaches it.
func TestModes(t *testing.T) {
	text, err := os.ReadFile("../examples/shop.yaml")
	require.NoError(t, err)
	const own = "-A KUBE-SERVICES -d 10.96.0.80/32 -p tcp "
	for mode, has := range map[string][2]string{
		"": {"-A KUBE-SERVICES ", own}, "legacy": {"-A KUBE-SERVICES ", own}, "nft": {"-A KUBE-SERVICES ", own},
		"nftables": {"table ip kube-proxy {", "numgen random mod 2 map { 0 : 10.244.1.2 . 8080, 1 : 10.244.2.2 . 8080 }"},
	} {
		tab := &Tab{}
		read := tab.Read(Paste{Text: string(text), Mode: mode})
		require.Empty(t, read.Problems, mode)
		assert.Contains(t, read.Rules, has[0], mode)
		lines := strings.Split(strings.TrimSuffix(read.Rules, "\n"), "\n")
		require.Len(t, read.Owners, len(lines), "%q: an owner for each line", mode)
		service := ""
		for i := range read.Objects {
			for _, line := range read.Objects[i].Rules {
				if read.Objects[i].Name == "service shop/web" {
					service += lines[line-1] + "\n"
				}
			}
		}
		assert.Contains(t, service, has[1], mode)
		require.NotEmpty(t, read.Packets, mode)
		walked := tab.Walk(read.Packets[0].Packet)
		require.Nil(t, walked.Problem, mode)
		assert.Contains(t, walked.Sentence, "shop/web", mode)
		assert.Contains(t, walked.Sentence, "connected to 10.244.1.2", mode)
	}
}
