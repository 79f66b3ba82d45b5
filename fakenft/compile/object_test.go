package compile_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/chainwalk/chainwalk/fakenft"
)

// TestFamiliesOfHelpers lists helpers as Linux 6.18 does: by the families that it has them for.
func TestFamiliesOfHelpers(t *testing.T) {
	for helper, family := range map[string]string{
		"ftp tcp": "inet", "sip udp": "inet", "tftp udp": "inet", "irc tcp": "ip",
		"netbios-ns udp": "ip", "pptp tcp": "ip", "snmp_trap udp": "ip",
	} {
		name, protocol, _ := strings.Cut(helper, " ")
		nft := fakenft.New(fakenft.Options{}).Exec()
		said, err := nft.Command("nft", `table inet t { ct helper h { type "`+name+`" protocol `+protocol+`; }; }`).CombinedOutput()
		assert.NoError(t, err, string(said))
		listed, err := nft.Command("nft", "list", "ruleset").Output()
		assert.NoError(t, err)
		assert.Contains(t, string(listed), "\t\tl3proto "+family+"\n", helper)
	}
}
