package iptables

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/utils/exec"
	testingexec "k8s.io/utils/exec/testing"
)

func TestCommandErrorKinds(t *testing.T) {
	rows := []struct {
		name, output       string
		exit               int
		notFound, resource bool
	}{
		{name: "missing chain", exit: 1, output: "iptables: No chain/target/match by that name.", notFound: true},
		{name: "missing rule", exit: 1, output: "iptables: Bad rule (does a matching rule exist in that chain?).", notFound: true},
		{name: "jump to a missing chain, legacy", exit: 2,
			output: "iptables v1.8.9 (legacy): Couldn't load target `X':No such file or directory", notFound: true},
		{name: "jump to a missing chain, nft", exit: 2, output: "iptables v1.8.9 (nf_tables): Chain 'X' does not exist", notFound: true},
		{name: "missing match", exit: 2, output: "iptables v1.8.9 (legacy): Couldn't load match `x':No such file or directory"},
		{name: "missing table", exit: 3, output: "iptables v1.8.9 (nf_tables): table 'x' does not exist"},
		{name: "chain in use, legacy", exit: 1, output: "iptables: Too many links."},
		{name: "chain in use, nft", exit: 4, output: "CHAIN_DEL failed (Device or resource busy): chain FOO", resource: true},
		{name: "lock", exit: 4, output: "Another app is currently holding the xtables lock. Stopped waiting after 5s.", resource: true},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			var err error = newCommandError([]string{"iptables"}, testingexec.FakeExitError{Status: row.exit}, []byte(row.output))
			assert.Equal(t, row.notFound, errors.Is(err, errNotFound), "ErrNotFound")
			assert.Equal(t, row.resource, errors.Is(err, errResourceProblem), "ErrResourceProblem")
		})
	}
}

func TestCommandErrorText(t *testing.T) {
	rows := []struct {
		name, output string
		err          error
		want         string
	}{
		{
			name: "words that every call prints are left out", err: testingexec.FakeExitError{Status: 2},
			output: "Ignoring deprecated --wait-interval option.\niptables v1.8.9 (legacy): bad\n\nTry `iptables -h' or 'iptables --help' for " +
				"more information.\n",
			want: `iptables -m comment --comment "a b": exit status 2: iptables v1.8.9 (legacy): bad`,
		},
		{
			name: "not installed", err: exec.ErrExecutableNotFound,
			want: `iptables -m comment --comment "a b": executable file not found in $PATH: install iptables, or name its tools in Options.Tools`,
		},
		{
			name: "not root", err: testingexec.FakeExitError{Status: 4}, output: "Could not fetch rule set generation id: Permission denied (you " +
				"must be root)",
			want: `iptables -m comment --comment "a b": exit status 4: Could not fetch rule set generation id: Permission denied ` +
				`(you must be root): run as root, or with CAP_NET_ADMIN`,
		},
		{
			name: "locked", err: testingexec.FakeExitError{Status: 4}, output: "Another app is currently holding the xtables lock.",
			want: `iptables -m comment --comment "a b": exit status 4: Another app is currently holding the xtables lock.` +
				`: another program holds the lock of iptables: try again later`,
		},
		{
			name: "no module", err: testingexec.FakeExitError{Status: 3}, output: "can't initialize iptables table `nat': Table does not exist " +
				"(do you need to insmod?)",
			want: `iptables -m comment --comment "a b": exit status 3: can't initialize iptables table ` + "`nat'" +
				`: Table does not exist (do you need to insmod?): the kernel module of the table is not loaded, or the kernel has none`,
		},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			err := newCommandError([]string{"iptables", "-m", "comment", "--comment", "a b"}, row.err, []byte(row.output))
			assert.EqualError(t, err, row.want)
		})
	}
}

func TestRestoreErrorShowsTheLine(t *testing.T) {
	input := "*filter\n:A - [0:0]\nCOMMIT\n# nat\n*nat\n:B - [0:0]\n-A B -j NOPE\nCOMMIT\n"
	rows := []struct {
		name, output string
		exit         int
		line         int
		input        string
		table        Table
	}{
		{name: "while reading", exit: 2, line: 7, input: "-A B -j NOPE", table: TableNAT,
			output: "iptables-restore v1.8.9 (legacy): Couldn't load target `NOPE':No such file or directory\n\nError occurred at line: 7\nTry " +
				"`iptables-restore -h' or 'iptables-restore --help' for more information.\n"},
		{name: "two numbers, the tool's own and that of the reader", exit: 2, line: 2, input: ":A - [0:0]", table: TableFilter,
			output: "iptables-restore v1.8.9 (legacy): iptables-restore: line 2 policy invalid\nError occurred at line: 2\n"},
		{name: "a line number in the words of the input", exit: 2, line: 7, input: "-A B -j NOPE", table: TableNAT,
			output: "Bad argument `: line 1 failed'\nError occurred at line: 7\n"},
		{name: "at commit, legacy", exit: 1, line: 8, input: "COMMIT", table: TableNAT, output: "iptables-restore: line 8 failed\n"},
		{name: "at commit, nft", exit: 4, line: 6, input: ":B - [0:0]", table: TableNAT,
			output: "iptables-nft-restore v1.8.9 (nf_tables): \nline 6: CHAIN_ADD failed (Invalid argument): chain B\n" +
				"line 7: RULE_APPEND failed (Invalid argument): rule in chain B\n"},
		{name: "with a reason, nft", exit: 1, line: 7, input: "-A B -j NOPE", table: TableNAT,
			output: "iptables-nft-restore: line 7 failed: No chain/target/match by that name.\n"},
		{name: "commit missing", exit: 1, line: 9, output: "iptables-restore: COMMIT expected at line 9\n"},
		{name: "between tables", exit: 2, line: 4, input: "# nat", output: "Bad argument `#'\nError occurred at line: 4\n"},
		{name: "past the end of the input", exit: 1, line: 99, output: "iptables-restore: line 99 failed\n"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			failed := newCommandError([]string{"iptables-restore"}, testingexec.FakeExitError{Status: row.exit}, []byte(row.output))
			err := newRestoreError(failed, []byte(input))
			var refused *RestoreError
			require.ErrorAs(t, err, &refused)
			assert.Equal(t, row.line, refused.Line)
			assert.Equal(t, row.input, refused.Input)
			assert.Equal(t, row.table, refused.Table)
			assert.ErrorContains(t, err, row.input)
			assert.ErrorContains(t, err, refused.output)
			var command *commandError
			require.ErrorAs(t, err, &command)
			assert.Equal(t, row.exit, command.exitStatus)
		})
	}
}

func TestRestoreErrorText(t *testing.T) {
	failed := newCommandError([]string{"iptables-restore"}, testingexec.FakeExitError{Status: 1}, []byte("iptables-restore: line 3 failed\n"))
	assert.EqualError(t, newRestoreError(failed, []byte("*nat\n:A - [0:0]\nCOMMIT\n")),
		`iptables-restore: line 3: "COMMIT" in table nat: exit status 1: iptables-restore: line 3 failed`+
			`: the line ends the table, one of the lines above it is wrong`)
	assert.EqualError(t, newRestoreError(failed, []byte("*nat\n:A - [0:0]\n")),
		`iptables-restore: line 3 in table nat: exit status 1: iptables-restore: line 3 failed`)
	assert.EqualError(t, newRestoreError(failed, []byte("# no table\n\nfoo\n")),
		`iptables-restore: line 3: "foo": exit status 1: iptables-restore: line 3 failed`)
}

func TestRestoreFailureThatIsNotAboutTheInput(t *testing.T) {
	failed := newCommandError([]string{"iptables-restore"}, testingexec.FakeExitError{Status: 4},
		[]byte("Another app is currently holding the xtables lock.\n"))
	err := newRestoreError(failed, []byte("*nat\nCOMMIT\n"))
	assert.ErrorIs(t, err, errResourceProblem)
	var refused *RestoreError
	assert.NotErrorAs(t, err, &refused)
}

func FuzzRestoreError(f *testing.F) {
	f.Add("Error occurred at line: 3\n", "*nat\n:A - [0:0]\nCOMMIT\n")
	f.Add("iptables-restore: line 7 failed", "*nat\nCOMMIT")
	f.Add("line 0: x", "")
	f.Add("line 99999999999999999999: x", "\n\n")
	f.Add("COMMIT expected at line 1", "*nat")
	f.Fuzz(func(t *testing.T, output, input string) {
		failed := newCommandError([]string{"iptables-restore"}, testingexec.FakeExitError{Status: 1}, []byte(output))
		err := newRestoreError(failed, []byte(input))
		require.NotEmpty(t, err.Error())
		var refused *RestoreError
		if !errors.As(err, &refused) {
			require.Same(t, failed, err)
			return
		}
		require.Positive(t, refused.Line)
		lines := strings.Split(input, "\n")
		if refused.Line <= len(lines) {
			assert.Equal(t, lines[refused.Line-1], refused.Input)
		} else {
			assert.Empty(t, refused.Input)
		}
	})
}
