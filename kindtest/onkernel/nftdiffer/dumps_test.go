package nftdiffer

import (
	"io/fs"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/dumps/nftcalls"
	"github.com/chainwalk/chainwalk/kindtest/internal/toolrun"
)

// others are what others than kube-proxy did before a stage.
var others = map[string][]string{
	"14-table-deleted-by-somebody": {"delete table ip kube-proxy"},
	"16-foreign-rule-and-element-kept": {
		"add rule ip kube-proxy services counter", "add chain ip kube-proxy foreign", "add element ip kube-proxy cluster-ips { 172.30.77.77 }",
		"delete element ip kube-proxy cluster-ips { 172.30.0.41 }",
	},
}

// TestDumps makes the calls of kube-proxy on the fake.
func TestDumps(t *testing.T) { replayDumps(t, newFakeMachine) }

// replayDumps makes the calls that kube-proxy has made, which must give what they gave there, and compares the listings after each stage.
func replayDumps(t *testing.T, fresh func() (machine, error)) {
	recorded, err := nftcalls.Files()
	require.NoError(t, err)
	m, err := fresh()
	require.NoError(t, err)
	defer m.close()
	stages, err := fs.ReadDir(recorded, ".")
	require.NoError(t, err)
	same, all := 0, 0
	text := func(name string) string {
		b, err := fs.ReadFile(recorded, name)
		require.NoError(t, err)
		return string(b)
	}
	compare := func(what string, args []string, stdin string, want toolrun.Run) {
		got, err := m.run(args, stdin)
		require.NoError(t, err)
		all++
		got, want = steady(got), steady(want)
		if got == want {
			same++
			return
		}
		t.Errorf("%s: nft %s\n%s", what, strings.Join(args, " "), toolrun.Diff(want.Lines(), got.Lines()))
	}
	for _, stage := range stages {
		for _, line := range others[stage.Name()] {
			compare(stage.Name(), strings.Fields(line), "", toolrun.Run{})
		}
		calls, err := fs.Glob(recorded, path.Join(stage.Name(), "calls", "*.argv"))
		require.NoError(t, err)
		for _, call := range calls {
			base := strings.TrimSuffix(call, ".argv")
			stdin, err := fs.ReadFile(recorded, base+".stdin")
			if err != nil {
				stdin = nil
			}
			want := toolrun.Run{Stdout: text(base + ".stdout"), Stderr: text(base + ".stderr")}
			if strings.TrimSpace(text(base+".status")) != "0" {
				want.Status = 1
			}
			compare(base, strings.Fields(text(call))[1:], string(stdin), want)
		}
		compare(stage.Name(), []string{"list", "ruleset"}, "", toolrun.Run{Stdout: text(stage.Name() + "/ruleset.nft")})
		compare(stage.Name(), []string{"-a", "list", "ruleset"}, "", toolrun.Run{Stdout: text(stage.Name() + "/ruleset-handles.nft")})
		compare(stage.Name(), []string{"-j", "list", "ruleset"}, "", toolrun.Run{Stdout: text(stage.Name() + "/ruleset.json")})
	}
	t.Logf("%d of %d calls and listings are the same", same, all)
}
