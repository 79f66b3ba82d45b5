package fakeipt

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/utils/exec"

	"github.com/chainwalk/chainwalk/netfilter"
)

func TestExecGivesOutputAndStatus(t *testing.T) {
	x := New(Options{}).Exec()
	out, err := x.Command("iptables", "-S", "NOPE").CombinedOutput()
	var exit exec.ExitError
	require.ErrorAs(t, err, &exit)
	assert.Equal(t, 1, exit.ExitStatus())
	assert.True(t, exit.Exited())
	assert.Equal(t, "iptables: No chain/target/match by that name.\n", string(out))

	out, err = x.Command("/sbin/iptables", "-S").Output()
	require.NoError(t, err)
	assert.Equal(t, "-P INPUT ACCEPT\n-P FORWARD ACCEPT\n-P OUTPUT ACCEPT\n", string(out))
}

func TestExecReadsStdinAndPipes(t *testing.T) {
	k := New(Options{})
	restore := k.Exec().Command("iptables-restore")
	restore.SetStdin(strings.NewReader("*raw\n-A OUTPUT -j NOTRACK\nCOMMIT\n"))
	require.NoError(t, restore.Run())

	save := k.Exec().Command("iptables-save", "-t", "raw")
	pipe, err := save.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, save.Start())
	text, err := io.ReadAll(pipe)
	require.NoError(t, err)
	require.NoError(t, save.Wait())
	assert.Contains(t, string(text), "-A OUTPUT -j NOTRACK\n")
	assert.Error(t, save.Start(), "started twice")
}

func TestExecFindsOnlyItsTools(t *testing.T) {
	x := New(Options{Dialect: netfilter.NFT}).Exec()
	for _, name := range []string{"iptables", "ip6tables-restore", "iptables-nft-save", "nfacct"} {
		path, err := x.LookPath(name)
		assert.NoError(t, err, name)
		assert.Equal(t, "/usr/sbin/"+name, path)
	}
	for _, name := range []string{"ipvsadm", "iptables-legacy", "iptables-restor", ""} {
		_, err := x.LookPath(name)
		assert.ErrorIs(t, err, exec.ErrExecutableNotFound, name)
		assert.ErrorIs(t, x.Command(name).Run(), exec.ErrExecutableNotFound, name)
	}
}

func TestExecHeedsItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	assert.ErrorIs(t, New(Options{}).Exec().CommandContext(ctx, "iptables", "-N", "A").Run(), context.Canceled)
	assert.Error(t, New(Options{}).Exec().Command("iptables").Wait(), "not started")
}

func TestParseErrorsHaveTheirPlace(t *testing.T) {
	for name, row := range map[string]struct {
		text         string
		line, column int
	}{
		"unknown option":      {"*filter\n:A - [0:0]\n-A A -p tcp --nonesuch\nCOMMIT\n", 3, 13},
		"bad port":            {"*filter\n[1:2] -A INPUT -p tcp --dport 99999\nCOMMIT\n", 2, 31},
		"missing chain":       {"*filter\n-A NOPE -j ACCEPT\nCOMMIT\n", 2, 4},
		"no table":            {"-A INPUT -j ACCEPT\n", 1, 0},
		"no commit":           {"*filter\n", 2, 0},
		"refused by a kernel": {"*nat\n-A POSTROUTING -j REDIRECT\nCOMMIT\n", 3, 0},
		"missing destination": {"*filter\n-A INPUT -g NOPE -p tcp\nCOMMIT\n", 2, 13},
		"a bad rule":          {"*filter\n-A INPUT\n-A INPUT -j DNAT --to-destination 1.1.1.1\nCOMMIT\n", 3, 1},
		"a very long line":    {"*filter\n-A " + strings.Repeat("x", 1<<20), 2, 0},
		"binary garbage":      {"\x7fELF\x00\x01\x02\n", 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := LoadSave(netfilter.IPv4, netfilter.Legacy, "file", strings.NewReader(row.text))
			var parse *ParseError
			require.ErrorAs(t, err, &parse)
			assert.Equal(t, []any{"file", row.line, row.column}, []any{parse.File, parse.Line, parse.Column}, err)
		})
	}
}

func TestParseErrorsSayWhatTheTextIs(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"[sudo] password for joe: \n*filter\nCOMMIT\n", `f:1: not in a table: "[sudo] password for joe: "`},
		{"*filter\nCOMMIT\nroot@node1:~# exit\n", `f:3: not in a table: "root@node1:~# exit"`},
		{"Chain INPUT (policy ACCEPT)\ntarget prot opt\n", `what "iptables -L" prints does not say all of a rule`},
		{"-P INPUT ACCEPT\n-A INPUT -j DROP\n", `put a line "*TABLE", such as *filter, before it, and COMMIT behind it`},
		{"table ip nat {\n}\n", "what nft prints is not read"},
		{"*filter\n:INPUT ACCEPT [0:0]\n-A INPUT -j DROP\n", "f:4: COMMIT expected: the text ends within a table"},
		{"*filter\n:INPUT ACCEPT [0:0]\n-A INPUT -m addrty", "if it was cut off, give all of it"},
	} {
		_, err := LoadSave(netfilter.IPv4, netfilter.Legacy, "f", strings.NewReader(tc.text))
		assert.ErrorContains(t, err, tc.want)
	}
	_, err := LoadSave(netfilter.IPv4, netfilter.NFT, "f", strings.NewReader("*filter\n-A NOPE -j DROP\nCOMMIT"))
	require.Error(t, err)
	assert.NotContains(t, err.Error(), "cut off", "what the commit finds is no line that ends too early")
	_, err = LoadSave(netfilter.IPv4, netfilter.Legacy, "f", strings.NewReader("*filter\n-P INPUT DROP\n-N A\n-A INPUT -j A\nCOMMIT\n"))
	assert.NoError(t, err, "what \"iptables -S\" prints, with what it is told to add")
}

// The nft tools notice these with the commit, and tell of its line.
func TestErrorsOfTheCommitHaveTheRulesPlace(t *testing.T) {
	for name, row := range map[string]struct {
		text         string
		line, column int
	}{
		"missing chain":       {"*filter\n-A NOPE -j ACCEPT\n-A INPUT\nCOMMIT\n", 2, 4},
		"missing destination": {"*filter\n-A INPUT -g NOPE -p tcp\n-A INPUT\nCOMMIT\n", 2, 13},
		"a bad rule":          {"*nat\n-A POSTROUTING\n-A POSTROUTING -j REDIRECT\nCOMMIT\n", 3, 1},
		"a circle":            {"*filter\n:A - [0:0]\n-A A -j A\n-A INPUT -j A\nCOMMIT\n", 4, 1},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := LoadSave(netfilter.IPv4, netfilter.NFT, "file", strings.NewReader(row.text))
			var parse *ParseError
			require.ErrorAs(t, err, &parse)
			assert.Equal(t, []int{row.line, row.column}, []int{parse.Line, parse.Column}, err)
		})
	}
}

func TestConcurrentToolsAndReaders(t *testing.T) {
	k := New(Options{})
	done := make(chan error, 8)
	for i := range 8 {
		go func() {
			var stderr bytes.Buffer
			status := k.Run([]string{"iptables", "-N", chainSuffix(i)}, nil, io.Discard, &stderr)
			for c := range k.Ruleset(netfilter.IPv4).Table("filter").Chains() {
				if c.Counters != nil {
					c.Counters.Add(1, 2)
				}
			}
			if status != 0 {
				done <- errors.New(stderr.String())
			}
			done <- nil
		}()
	}
	for range 8 {
		require.NoError(t, <-done)
	}
	n := 0
	for range k.Ruleset(netfilter.IPv4).Table("filter").Chains() {
		n++
	}
	assert.Equal(t, 3+8, n)
}
