package trial

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/fakekernel"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios/world/tools"
)

func TestRulesetsAreAlikeIfPacketsMeetTheSame(t *testing.T) {
	for _, dialect := range []netfilter.Dialect{netfilter.Legacy, netfilter.NFT} {
		for _, c := range []struct {
			name  string
			lines string
			alike bool
		}{
			{"nothing is done", "", true},
			{"a chain without rules", "-t nat -N NEW", true},
			{"the first chain of a table", "-t mangle -N NEW", true},
			{"a jump to a chain without rules", "-t nat -N NEW; -t nat -I PREROUTING -m conntrack --ctstate NEW -j NEW", true},
			{"a jump to a chain without rules that remembers who came", "-t nat -N NEW; -t nat -I PREROUTING -m recent --set -j NEW", false},
			{"what is said to go to a chain without rules does not come back", "-t nat -N NEW; -t nat -I PREROUTING -g NEW", false},
			{"a jump to a chain with rules", "-t nat -N NEW; -t nat -A NEW -j RETURN; -t nat -I PREROUTING -j NEW", false},
			{"a rule in a chain that is jumped to", "-t nat -A OLD -j RETURN", false},
			{"a rule fewer", "-t nat -D PREROUTING -p udp -j ACCEPT", false},
			{"another policy", "-P FORWARD DROP", false},
			{"another policy in a table that was not there", "-t mangle -P FORWARD DROP", false},
			{"a rule is taken away again", "-t nat -I PREROUTING -j ACCEPT; -t nat -D PREROUTING -j ACCEPT", true},
		} {
			t.Run(c.name, func(t *testing.T) {
				kernel := fakekernel.New(fakekernel.Options{Dialect: dialect})
				iptables(t, kernel, "-P FORWARD ACCEPT; -t nat -N OLD; -t nat -A PREROUTING -j OLD; -t nat -A PREROUTING -p udp -j ACCEPT")
				before := kernel.Rules(netfilter.IPv4)
				iptables(t, kernel, c.lines)
				after := kernel.Rules(netfilter.IPv4)
				assert.Equal(t, c.alike, alike(&before, &after))
			})
		}
	}
}

func iptables(t *testing.T, kernel *fakekernel.Kernel, lines string) {
	t.Helper()
	for line := range strings.SplitSeq(lines, "; ") {
		if line != "" {
			_, err := tools.Run(kernel.Exec(), "", append([]string{"iptables"}, strings.Fields(line)...)...)
			require.NoError(t, err)
		}
	}
}
