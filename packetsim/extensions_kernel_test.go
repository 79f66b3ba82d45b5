//go:build linux

package packetsim

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/namespace"
	"github.com/chainwalk/chainwalk/netfilter"
)

// extensionFolders is where Debian keeps the tools' extensions.
const extensionFolders = "/usr/lib/*/xtables"

// noExtensions are files of the folder that no rule names.
var noExtensions = []string{"NAT" /* holds the targets of nat */, "standard" /* verdicts and jumps */}

// TestShippedExtensionsAreTheToolsKernel compares the lists with the files of the tools of this machine.
func TestShippedExtensionsAreTheToolsKernel(t *testing.T) {
	needKernel(t, "iptables-legacy")
	listed := map[string]netfilter.Family{}
	for _, x := range allShipped() {
		listed[x.name] = x.family
	}
	shipped := map[string]netfilter.Family{}
	for prefix, family := range map[string]netfilter.Family{"libipt_": netfilter.IPv4, "libip6t_": netfilter.IPv6, "libxt_": 0} {
		files, err := filepath.Glob(filepath.Join(extensionFolders, prefix+"*.so"))
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, file := range files {
			family := family
			name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), prefix), ".so")
			if other, both := shipped[name]; both && other != family {
				family = 0
			}
			shipped[name] = family
		}
	}
	for _, name := range noExtensions {
		assert.Contains(t, shipped, name)
		delete(shipped, name)
	}
	for _, name := range onlyIPv4 {
		assert.Zero(t, shipped[name])
		shipped[name] = netfilter.IPv4
	}
	assert.Equal(t, shipped, listed)
}

// onlyIPv4 are the extensions of which the file for both families knows one alone.
var onlyIPv4 = []string{"osf"}

// refusedSamples are the extensions whose sample the kernel refuses that the tools' answers are written down of: because it has not the
// extension, or because no security module gives SECMARK its labels.
var refusedSamples = []string{"ipvs", "CLUSTERIP", "LED", "SECMARK", "ULOG"}

// TestSamplesKernel: the real tools take each sample and print it as it is, but for what their kernel has not.
func TestSamplesKernel(t *testing.T) {
	needKernel(t, "iptables-legacy-restore", "ip6tables-legacy-restore", "iptables-legacy-save", "ip6tables-legacy-save", "ipset", "nfacct")
	ns, err := namespace.New()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, ns.Close()) })
	for _, command := range append(sampleObjects, "nfacct add counted") {
		_, err := ns.Output(strings.Fields(command), "")
		require.NoError(t, err)
	}
	var refused []string
	for _, x := range allShipped() {
		for _, f := range x.families() {
			tool := map[netfilter.Family]string{netfilter.IPv4: "iptables-legacy", netfilter.IPv6: "ip6tables-legacy"}[f]
			if _, err := ns.Output([]string{tool + "-restore"}, x.dump(f)); err != nil {
				t.Logf("%s, IPv%d: %v", x.name, f, err)
				refused = append(refused, x.name)
				continue
			}
			table, _, _ := strings.Cut(x.place, " ")
			saved, err := ns.Output([]string{tool + "-save", "-t", table}, "")
			require.NoError(t, err)
			assert.Contains(t, saved, "\n"+strings.TrimPrefix(strings.TrimSuffix(x.dump(f), "COMMIT\n"), "*"+table+"\n"))
		}
	}
	assert.ElementsMatch(t, refusedSamples, slices.Compact(refused))
}
