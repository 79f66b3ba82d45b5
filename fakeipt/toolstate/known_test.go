package toolstate

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clocktesting "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/fakeipt/ruleset"
	"github.com/chainwalk/chainwalk/internal/race"
	"github.com/chainwalk/chainwalk/internal/sample"
	"github.com/chainwalk/chainwalk/netfilter"
)

// toolRuns are runs of tools, the words of which are parted by blanks; restore input follows behind a "|", with ";" for the ends of lines.
var toolRuns = []string{
	"iptables -N A", "iptables -N B", "iptables -t nat -N A", "iptables -t nat -N B", "iptables -t mangle -N A",
	"iptables -X A", "iptables -t nat -X B", "iptables -A INPUT -j A", "iptables -A A -p tcp --dport 80 -j B",
	"iptables -t nat -A OUTPUT -j A", "iptables -t nat -A A -j B", "iptables -t nat -I OUTPUT -j B",
	"iptables -t nat -D OUTPUT 1", "iptables -D INPUT -j A", "iptables -C INPUT -j A", "iptables -t nat -C OUTPUT -j A",
	"iptables -t nat -C A -j B", "iptables -t nat -C OUTPUT -j GONE", "iptables -C A -p tcp --dport 80 -j B",
	"iptables -P INPUT DROP", "iptables -F", "iptables -t nat -F A", "iptables -t raw -A OUTPUT -j NOTRACK",
	"iptables -t nat -E B C", "iptables -Z", "iptables -S", "iptables -t nat -nvL",
	"iptables -t nat -A B -m comment --comment *nat -j RETURN", "iptables -A B -m comment --comment COMMIT",
	"iptables -t gone -S",
	"iptables -t mangle -A FORWARD -j RATEEST --rateest-name r --rateest-interval 250ms --rateest-ewmalog 500ms",
	"iptables -A FORWARD -m rateest --rateest r --rateest-gt --rateest-bps 1000bit", "iptables-save", "iptables-save -t nat",
	"iptables-save -t raw", "ip6tables -t nat -N A", "ip6tables -A INPUT -j ACCEPT", "ip6tables-save -t filter",
	"iptables-restore -n|*nat;:A - [0:0];-A A -j RETURN;COMMIT;", "iptables-restore|*filter;:A - [0:0];-A INPUT -j A;COMMIT;",
	"iptables-restore -n|*mangle;-A INPUT -j MARK --set-mark 1;COMMIT;*nat;-A OUTPUT -j A;COMMIT;",
}

// TestToolsOfAStoreAreThoseOfAKernel: what tools print, and what is there in the end, does not depend on how much of the state each of them
// reads: programs the tables that they look at, tools of one process what others have changed.
func TestToolsOfAStoreAreThoseOfAKernel(t *testing.T) {
	race.OneGoroutine(t)
	sample.Checks(t, 10)
	rapid.Check(t, func(rt *rapid.T) {
		d := rapid.SampledFrom([]netfilter.Dialect{netfilter.Legacy, netfilter.NFT}).Draw(rt, "dialect")
		clock := clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
		programs := &Store{dir: t.TempDir(), dialect: d, clock: clock}
		process := &Store{dir: t.TempDir(), dialect: d, clock: clock, known: &knownRulesets{parts: map[part]knownRuleset{}}}
		beside := &Store{dir: process.dir, dialect: d, clock: clock}
		kernel := fakeipt.New(fakeipt.Options{Dialect: d, Clock: clock})
		run := func(tools fakeipt.Tools, line string) (string, int) {
			command, input, _ := strings.Cut(line, "|")
			var out bytes.Buffer
			status := tools.Run(strings.Fields(command), strings.NewReader(strings.ReplaceAll(input, ";", "\n")), &out, &out)
			return out.String(), status
		}
		lines := []string{"iptables -t nat -N A", "iptables -t nat -A OUTPUT -j A", "iptables -N A", "iptables -A INPUT -j A"}
		lines = append(lines, rapid.SliceOfN(rapid.SampledFrom(toolRuns), 1, 10).Draw(rt, "runs")...)
		for _, line := range lines {
			want, status := run(kernel, line)
			stores := []*Store{programs, process}
			if rapid.IntRange(0, 3).Draw(rt, "by a program beside the process") == 0 {
				stores[1] = beside
			}
			for _, s := range stores {
				got, gotStatus := run(s, line)
				require.Equal(rt, want, got, line)
				require.Equal(rt, status, gotStatus, line)
			}
		}
		want, _ := run(kernel, "iptables-save -c")
		for _, s := range []*Store{programs, process, beside} {
			got, _ := run(s, "iptables-save -c")
			require.Equal(rt, want, got)
		}
	})
}

// TestExecRemembersWhatItKnows: the file need not even be readable, as long as it is the one that was written.
func TestExecRemembersWhatItKnows(t *testing.T) {
	s := &Store{dir: t.TempDir()}
	tools := s.Exec()
	require.NoError(t, tools.Command("iptables", "-N", "A").Run())
	known := files(t, s.dir)["ipv4-legacy"]
	out, err := tools.Command("iptables", "-S").Output()
	require.NoError(t, err)
	assert.Contains(t, string(out), "-N A\n")
	assert.Equal(t, known.info.ModTime(), files(t, s.dir)["ipv4-legacy"].info.ModTime(), "nothing is written")

	must(t, s, "iptables", "-N", "B") // by somebody else
	out, err = tools.Command("iptables", "-S").Output()
	require.NoError(t, err)
	assert.Contains(t, string(out), "-N B\n")
}

// tablesOf are the tables that restore input makes, as the state has them.
func tablesOf(t *testing.T, input string) []ruleset.StateTable {
	k := fakeipt.New(fakeipt.Options{})
	require.NoError(t, k.Load(netfilter.IPv4, "input", strings.NewReader(input)))
	tables, err := ruleset.StateTables(k.AppendState(nil, netfilter.IPv4))
	require.NoError(t, err)
	return tables
}

func TestViewOfTables(t *testing.T) {
	const nat, filter, mangle = "*nat\n-A OUTPUT -j ACCEPT\nCOMMIT\n", "*filter\nCOMMIT\n", "*mangle\nCOMMIT\n"
	const tied = "*raw\n-A OUTPUT -j RATEEST --rateest-name r --rateest-interval 1s --rateest-ewmalog 2s\nCOMMIT\n"
	for _, row := range []struct{ input, table, read, before, behind string }{
		{nat + filter + mangle, "filter", "filter", "nat", "mangle"},
		{nat + filter, "nat", "nat", "", "filter"},
		{nat + filter, "filter", "filter", "nat", ""},
		{nat + filter, "mangle", "", "", "nat filter"},
		{nat + filter, "", "nat filter", "", ""}, // all of them
		{nat, "nat", "nat", "", ""},
		{nat + tied, "nat", "nat raw", "", ""},
		{"", "nat", "", "", ""},
	} {
		tables := tablesOf(t, row.input)
		look := view{table: row.table, chains: []string{"OUTPUT"}}
		read, others := look.of(tables)
		assert.Equal(t, strings.Fields(row.read), namesOf(read), row)
		for words, text := range map[string][]byte{row.before: others.before, row.behind: others.behind} {
			found, err := ruleset.StateTables(text)
			require.NoError(t, err)
			assert.Equal(t, strings.Fields(words), namesOf(found), row)
		}
		all := row.table == "" || strings.Contains(row.input, "RATEEST")
		assert.Equal(t, !all, others.narrow, row)
		assert.Equal(t, all, look.chains == nil, row)
	}
}

func namesOf(tables []ruleset.StateTable) []string {
	names := []string{}
	for _, t := range tables {
		names = append(names, t.Name)
	}
	return names
}

// TestFewChainsAreRead: of a table that a tool only asks about a chain of, no more is read.
func TestFewChainsAreRead(t *testing.T) {
	tables := tablesOf(t, "*nat\n:A - [0:0]\n:AA - [0:0]\n:B - [0:0]\n-A OUTPUT -j A\n-A A -j B\n-A A\n-A AA -j B\nCOMMIT\n")
	for chains, want := range map[string]string{
		"A":        "PREROUTING:0 INPUT:0 OUTPUT:0 POSTROUTING:0 A:2",
		"AA B":     "PREROUTING:0 INPUT:0 OUTPUT:0 POSTROUTING:0 AA:1 B:0",
		"GONE":     "PREROUTING:0 INPUT:0 OUTPUT:0 POSTROUTING:0",
		"OUTPUT A": "PREROUTING:0 INPUT:0 OUTPUT:1 POSTROUTING:0 A:0",
	} {
		k := fakeipt.New(fakeipt.Options{})
		require.NoError(t, k.ReadState(netfilter.IPv4, tables, strings.Fields(chains)))
		var got []string
		for c := range k.Ruleset(netfilter.IPv4).Table("nat").Chains() {
			got = append(got, fmt.Sprintf("%s:%d", c.Name, len(c.Rules)))
		}
		assert.Equal(t, want, strings.Join(got, " "), chains)
	}
}
