package tools

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/utils/exec"

	"github.com/chainwalk/chainwalk/fakekernel"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios"
)

const restored = "*filter\n:MINE - [0:0]\nCOMMIT\n"

// proxied are the tools of a fake kernel as a proxier has them.
func proxied(dialect netfilter.Dialect) *Proxied {
	kernel := fakekernel.New(fakekernel.Options{Dialect: dialect})
	return &Proxied{Interface: kernel.Exec(), Faults: &Faults{}, Watch: NewWatch("node1")}
}

func TestRestoresFailAsOftenAsAsked(t *testing.T) {
	p := proxied(netfilter.Legacy)
	p.Faults.Add(scenarios.Fault{RestoreFails: 1})
	_, err := Run(p, "", "iptables", "-N", "OTHER")
	require.NoError(t, err, "only restores fail")
	_, err = p.Command("iptables-restore", "--version").CombinedOutput()
	require.NoError(t, err, "a restore without an input is none")
	_, err = Run(p, restored, "iptables-restore")
	require.ErrorContains(t, err, "iptables-restore: exit status 2: iptables-restore v1.8.9 (legacy): Couldn't load target `FAULT'")
	_, err = Run(p, restored, "iptables-restore")
	require.NoError(t, err)
}

func TestInputsOfRestoresAreKeptAndCounted(t *testing.T) {
	p := proxied(netfilter.Legacy)
	p.KeepInputs = true
	for _, argv := range [][]string{{"iptables", "-L"}, {"iptables-restore", "--noflush"}, {"ip6tables-restore"}} {
		_, err := Run(p, restored, argv...)
		require.NoError(t, err)
	}
	require.Len(t, p.Inputs, 2)
	assert.Equal(t, restored, string(p.Inputs[0]))
	cmd := p.CommandContext(t.Context(), "iptables-restore", "--noflush")
	cmd.SetStdin(strings.NewReader(restored))
	require.NoError(t, cmd.Run())
	assert.Len(t, p.Inputs, 3)
	assert.Equal(t, scenarios.Written{Restores: 3, Bytes: 3 * len(restored)}, p.Written)
}

func TestRunSaysWhyAToolFailed(t *testing.T) {
	tools := fakekernel.New(fakekernel.Options{}).Exec()
	text, err := Run(tools, "", Name(scenarios.FamilyIPv6, ""), "-S", "INPUT")
	require.NoError(t, err)
	assert.Equal(t, "-P INPUT ACCEPT\n", text)
	_, err = Run(tools, "", "iptables", "-S", "NOSUCH")
	require.EqualError(t, err, "iptables -S NOSUCH: exit status 1: iptables: No chain/target/match by that name.")
	_, err = Run(tools, "", "nosuch")
	require.ErrorIs(t, err, exec.ErrExecutableNotFound)
}

const twoTables = "*filter\n:A - [0:0]\nCOMMIT\n# nat\n*nat\n:B - [0:0]\n-A B -j RETURN\nCOMMIT\n"

func TestSplitKeepsTheLines(t *testing.T) {
	for _, row := range []struct {
		name, input string
		want        []table
	}{
		{"nothing", "", nil},
		{"two tables", twoTables, []table{
			{"filter", []byte("*filter\n:A - [0:0]\nCOMMIT\n")},
			{"nat", []byte("\n\n\n# nat\n*nat\n:B - [0:0]\n-A B -j RETURN\nCOMMIT\n")},
		}},
		{"a table twice", "*nat\nCOMMIT\n*nat\nCOMMIT\n", []table{{"nat", []byte("*nat\nCOMMIT\n")}, {"nat", []byte("\n\n*nat\nCOMMIT\n")}}},
		{"no COMMIT", "*nat\nCOMMIT\n*filter\n:A - [0:0]", []table{
			{"nat", []byte("*nat\nCOMMIT\n")}, {"filter", []byte("\n\n*filter\n:A - [0:0]")},
		}},
	} {
		t.Run(row.name, func(t *testing.T) { assert.Equal(t, row.want, split([]byte(row.input))) })
	}
}

// A restore that is watched ends as it does when nobody looks, with the same error, and has a point for each table that it comes to.
func TestWatchedRestoresEndAsOthersDo(t *testing.T) {
	for _, row := range []struct {
		name, input string
		commits     []string // of a fault; nil: none
		points      []string
		fails       string
	}{
		{"in order", twoTables, nil, []string{
			"before iptables-restore", "before iptables-restore of filter", "after iptables-restore of filter",
			"before iptables-restore of nat", "after iptables-restore of nat", "after iptables-restore"}, ""},
		{"the second table is refused", strings.Replace(twoTables, "-j RETURN", "-j NONE", 1), nil, []string{
			"before iptables-restore", "before iptables-restore of filter", "after iptables-restore of filter",
			"before iptables-restore of nat", "after iptables-restore of nat", "after iptables-restore"}, "Error occurred at line: 7"},
		{"the first table is refused", strings.Replace(twoTables, ":A", "-A A -j NONE\n:A", 1), nil, []string{
			"before iptables-restore", "before iptables-restore of filter", "after iptables-restore of filter", "after iptables-restore",
		}, "Error occurred at line: 2"},
		{"half applied", twoTables, []string{"nat"}, []string{
			"before iptables-restore", "before iptables-restore of nat", "after iptables-restore of nat",
			"before iptables-restore of filter", "after iptables-restore of filter", "after iptables-restore"}, "Couldn't load target `FAULT'"},
	} {
		t.Run(row.name, func(t *testing.T) {
			run := func(watched bool) (points []string, save, failed string) {
				p := proxied(netfilter.Legacy)
				if row.commits != nil {
					p.Faults.Add(scenarios.Fault{RestoreFails: 1, Commits: row.commits})
				}
				if watched {
					p.Watch.Tell(func(at scenarios.Point) { points = append(points, strings.TrimSuffix(at.String(), " on node1")) })
				}
				p.Watch.Begin()
				_, err := Run(p, row.input, "iptables-restore", "--noflush")
				p.Watch.End()
				if err != nil {
					failed = err.Error()
				}
				for _, table := range []string{"filter", "nat"} {
					text, err := Run(p, "", "iptables", "-t", table, "-S")
					require.NoError(t, err)
					save += text
				}
				return points, save, failed
			}
			points, save, failed := run(true)
			_, unwatched, saidUnwatched := run(false)
			assert.Equal(t, row.points, points)
			assert.Equal(t, unwatched, save)
			assert.Equal(t, saidUnwatched, failed)
			if row.fails == "" {
				assert.Empty(t, failed)
			}
			assert.Contains(t, failed, row.fails)
		})
	}
}

// Commands are counted by kind and table, from one in every sync.
func TestWatchCounts(t *testing.T) {
	var points []scenarios.Point
	w := NewWatch("node1")
	do := func() { require.NoError(t, w.around(scenarios.CommandIPTables, "", func() error { return nil })) }
	w.Tell(func(p scenarios.Point) { points = append(points, p) })
	do()
	assert.Empty(t, points, "outside of a sync nobody looks")
	for range 2 {
		points = nil
		w.Begin()
		do()
		do()
		w.End()
		at := scenarios.Point{Node: "node1", Command: scenarios.CommandIPTables}
		first, second := at, at
		first.Nth, second.Nth = 1, 2
		firstAfter, secondAfter := first, second
		firstAfter.After, secondAfter.After = true, true
		assert.Equal(t, []scenarios.Point{first, firstAfter, second, secondAfter}, points)
	}
	w.Tell(nil)
	w.Begin()
	assert.False(t, w.watched())
}

// A tool that is started, and not run, is the tool as it is.
func TestStartedToolsDoNotBreak(t *testing.T) {
	p := proxied(netfilter.NFT)
	p.Faults.Add(scenarios.Fault{RestoreFails: 1})
	cmd := p.Command("iptables-restore")
	cmd.SetStdin(strings.NewReader(restored))
	cmd.SetDir("/")
	cmd.SetEnv([]string{"A=b"})
	out, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	said, err := io.ReadAll(out)
	require.NoError(t, err)
	require.NoError(t, cmd.Wait())
	assert.Empty(t, said)
	text, err := p.Command("iptables", "-S", "MINE").Output()
	require.NoError(t, err)
	assert.Equal(t, "-N MINE\n", string(text))
}
