package fakeipt

import (
	"bytes"
	"io"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/chainwalk/chainwalk/fakeipt/ruleset"
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/netfilter/nfacct"
)

// TestStateIsReadAsItWasWritten holds that a kernel whose state was written and read goes on as the one it came from.
func TestStateIsReadAsItWasWritten(t *testing.T) {
	for _, d := range []netfilter.Dialect{netfilter.Legacy, netfilter.NFT} {
		rapid.Check(t, func(t *rapid.T) {
			k := New(Options{Dialect: d})
			require.NoError(t, k.Namespace().Accounts().AddObject(nfacct.Object{Name: "there", Packets: 3, Bytes: 4}))
			require.NoError(t, k.LoadSets("sets", strings.NewReader(genSets)))
			for range 2 {
				k.Run([]string{"iptables-restore", "-n"}, strings.NewReader(genRestore(t)), io.Discard, io.Discard)
			}
			again := readBack(t, k)
			requireSame(t, k, again)

			input := genRestore(t)
			var want, got bytes.Buffer
			status := k.Run([]string{"iptables-restore", "-n"}, strings.NewReader(input), &want, &want)
			require.Equal(t, status, again.Run([]string{"iptables-restore", "-n"}, strings.NewReader(input), &got, &got), input)
			require.Equal(t, want.String(), got.String(), input)
			require.Equal(t, saved(t, k, netfilter.IPv4), saved(t, again, netfilter.IPv4), input)
		})
	}
}

func readBack(t require.TestingT, k *Kernel) *Kernel {
	again := New(Options{Dialect: k.Dialect(), Clock: k.Namespace().Clock()})
	require.NoError(t, again.ReadObjects(k.AppendObjects(nil)))
	for _, f := range []netfilter.Family{netfilter.IPv4, netfilter.IPv6} {
		tables, err := ruleset.StateTables(k.AppendState(nil, f))
		require.NoError(t, err)
		require.NoError(t, again.ReadState(f, tables, nil))
	}
	return again
}

// TestStateKeepsThePlacesOfSets runs commands on one kernel, and on one that is written and read between any two of them: a set takes the
// first place that is free, and is listed there.
func TestStateKeepsThePlacesOfSets(t *testing.T) {
	always, again := New(Options{}), New(Options{})
	for _, command := range []string{
		"create a hash:ip", "create b hash:net", "create of list:set", "create c hash:ip", "destroy a", "create last hash:net", "swap b last",
		"add of c", "destroy b", "create d hash:ip,port", "rename d e", "create f hash:ip",
	} {
		for _, k := range []**Kernel{&always, &again} {
			var said bytes.Buffer
			require.Zero(t, (*k).Run(strings.Fields("ipset "+command), nil, &said, &said), "%s: %s", command, &said)
		}
		again = readBack(t, again)
		var want, got bytes.Buffer
		require.NoError(t, always.SaveSets(&want))
		require.NoError(t, again.SaveSets(&got))
		require.Equal(t, want.String(), got.String(), command)
	}
}

func TestToolsOfOneNamespaceShareObjectsAndWarn(t *testing.T) {
	legacy := New(Options{})
	nft := New(Options{Dialect: netfilter.NFT, Namespace: legacy.Namespace()})
	require.NoError(t, legacy.Namespace().Accounts().Add("there"))
	run := func(k *Kernel, argv ...string) (string, int) {
		var out bytes.Buffer
		status := k.Run(argv, nil, io.Discard, &out)
		return out.String(), status
	}
	_, status := run(nft, "iptables", "-A", "INPUT", "-m", "nfacct", "--nfacct-name", "there")
	require.Zero(t, status)
	out, status := run(legacy, "nfacct", "del", "there")
	assert.Equal(t, 1, status)
	assert.Contains(t, out, "Device or resource busy")

	out, _ = run(nft, "iptables", "-S")
	assert.Empty(t, out)
	run(legacy, "iptables", "-S")
	out, _ = run(nft, "iptables", "-S")
	assert.Equal(t, "# Warning: iptables-legacy tables present, use iptables-legacy to see them\n", out)
	out, _ = run(nft, "iptables-save")
	assert.Equal(t, "# Warning: iptables-legacy tables present, use iptables-legacy-save to see them\n", out)
	out, _ = run(nft, "ip6tables", "-S")
	assert.Empty(t, out)
}

func TestToolsOfTheOtherDialectByTheirNames(t *testing.T) {
	legacy := New(Options{})
	nft := New(Options{Dialect: netfilter.NFT, Namespace: legacy.Namespace()})
	run := func(argv ...string) (string, error) {
		out, err := nft.Exec().Command(argv[0], argv[1:]...).CombinedOutput()
		return string(out), err
	}
	for _, tool := range []string{"iptables", "iptables-nft", "iptables-legacy"} {
		_, err := run(tool, "-N", "OF-"+tool)
		require.NoError(t, err)
	}
	out, err := run("iptables-legacy", "-S")
	require.NoError(t, err)
	assert.Equal(t, "-P INPUT ACCEPT\n-P FORWARD ACCEPT\n-P OUTPUT ACCEPT\n-N OF-iptables-legacy\n", out)
	assert.NotNil(t, nft.Ruleset(netfilter.IPv4).Table("filter").Chain("OF-iptables-nft"))
	assert.NotNil(t, nft.Ruleset(netfilter.IPv4).Table("filter").Chain("OF-iptables"))
	assert.Nil(t, nft.Ruleset(netfilter.IPv4).Table("filter").Chain("OF-iptables-legacy"))
	_, err = New(Options{Dialect: netfilter.NFT}).Exec().LookPath("iptables-legacy")
	assert.Error(t, err, "there is no kernel beside")
}

func TestHelpIsPrinted(t *testing.T) {
	for _, d := range []netfilter.Dialect{netfilter.Legacy, netfilter.NFT} {
		for _, line := range []string{"iptables -h", "ip6tables --help", "iptables -h extra", "iptables -A INPUT -h", "iptables -p tcp -h",
			"iptables -j DNAT -h"} {
			var out, stderr bytes.Buffer
			assert.Zero(t, New(Options{Dialect: d}).Run(strings.Fields(line), nil, &out, &stderr), line)
			assert.Contains(t, out.String(), "Usage: ", line)
			assert.Empty(t, stderr.String(), line)
		}
		for _, line := range []string{"iptables-restore -h", "ip6tables-restore --help", "iptables-restore -h -V"} {
			var out, stderr bytes.Buffer
			assert.Zero(t, New(Options{Dialect: d}).Run(strings.Fields(line), nil, &out, &stderr), line)
			assert.Contains(t, stderr.String(), "Usage: ", line)
			assert.Empty(t, out.String(), line)
		}
	}
}

// TestHelpOfExtensions holds the help of extensions: those that stand before -h, the target first, and the protocol's match if there is
// no other one.
func TestHelpOfExtensions(t *testing.T) {
	headings := func(line string) []string {
		var out bytes.Buffer
		require.Zero(t, New(Options{}).Run(strings.Fields(line), nil, &out, io.Discard), line)
		var found []string
		for text := range strings.Lines(out.String()) {
			if strings.HasSuffix(text, " options:\n") || strings.HasSuffix(text, "any options\n") {
				found = append(found, strings.TrimSpace(text))
			}
		}
		return found
	}
	for line, want := range map[string][]string{
		"iptables -h":                                    nil,
		"iptables -p tcp -h":                             {"tcp match options:"},
		"iptables -p TCP --help":                         {"tcp match options:"},
		"iptables -p 6 -h":                               nil,
		"iptables -p gre -h":                             nil,
		"iptables -h -p tcp":                             nil,
		"iptables -p tcp -m limit -j DNAT -h":            {"DNAT target options:", "limit match options:"},
		"iptables -m limit -m mark -j TRACE -p udp -h":   {"TRACE does not take any options", "limit match options:", "mark match options:"},
		"iptables -A INPUT -j MARK --set-mark 1 -h":      {"MARK target options:"},
		"ip6tables -p icmpv6 -h":                         {"icmpv6 match options:"},
		"ip6tables -m eui64 -h":                          {"eui64 does not take any options"},
		"iptables -m statistic --mode nth --every 3 -h ": {"statistic match options:"},
	} {
		assert.Equal(t, want, headings(line), line)
	}
}

// TestGateThatDenies holds what the nft tools say where the state of the kernel may not be read.
func TestGateThatDenies(t *testing.T) {
	denied := &fs.PathError{Op: "mkdir", Path: "/closed", Err: syscall.EACCES}
	for _, line := range []string{"iptables -L", "iptables-save", "iptables-restore"} {
		var stderr bytes.Buffer
		k := New(Options{Dialect: netfilter.NFT, Gate: func(Visit) error { return denied }})
		assert.Equal(t, xtables.StatusResource, k.Run(strings.Fields(line), strings.NewReader("*filter\nCOMMIT\n"), io.Discard, &stderr), line)
		tool := strings.Fields(line)[0]
		assert.Equal(t, tool+": mkdir /closed: permission denied\n"+
			tool+" v1.8.9 (nf_tables): Could not fetch rule set generation id: Permission denied (you must be root)\n", stderr.String(), line)
	}
}
