package fakeipt

import (
	"io/fs"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/fakeipt/ruleset"
	"github.com/chainwalk/chainwalk/internal/dumps"
	"github.com/chainwalk/chainwalk/netfilter"
)

var commentLine = regexp.MustCompile(`(?m)^#.*\n`)

// TestDumpsSaveAsTheyWere loads what the real tools printed on the nodes of a kind cluster and saves it: every byte but the
// comment lines must come back, counters included.
func TestDumpsSaveAsTheyWere(t *testing.T) {
	for _, dialect := range []netfilter.Dialect{netfilter.Legacy, netfilter.NFT} {
		for family, file := range map[netfilter.Family]string{netfilter.IPv4: "iptables-save.txt", netfilter.IPv6: "ip6tables-save.txt"} {
			folder := string(dialect)
			names, err := fs.Glob(dumps.Kind(), path.Join(folder, "*", file))
			require.NoError(t, err)
			require.Len(t, names, 3)
			for _, name := range names {
				want, err := fs.ReadFile(dumps.Kind(), name)
				require.NoError(t, err)
				kernel, err := LoadSave(family, dialect, name, strings.NewReader(string(want)))
				require.NoError(t, err)
				var got strings.Builder
				require.NoError(t, saveAll(kernel.Ruleset(family), &got, ruleset.SaveOptions{Counters: true}))
				assert.Equal(t, commentLine.ReplaceAllString(string(want), ""), commentLine.ReplaceAllString(got.String(), ""), name)
			}
		}
	}
}
