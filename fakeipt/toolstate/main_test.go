package toolstate

import (
	"fmt"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	_ "github.com/chainwalk/chainwalk/internal/garbage"
)

// TestMain lets the test binary be the tools: scripts find it under their names.
func TestMain(m *testing.M) {
	tool := func() {
		store, err := FromEnvironment()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		os.Exit(store.Run(os.Args, os.Stdin, os.Stdout, os.Stderr))
	}
	commands := map[string]func(){"nfacct": tool, "writer": writeForEver}
	for _, family := range []string{"iptables", "ip6tables"} {
		for _, dialect := range []string{"", "-legacy", "-nft"} {
			for _, kind := range []string{"", "-save", "-restore"} {
				commands[family+dialect+kind] = tool
			}
		}
	}
	testscript.Main(m, commands)
}

// TestScripts runs shell scripts and single commands on the tools as programs.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv(envState, env.WorkDir+"/state")
			// With the race detector every program would sleep for a second at its end, in case a goroutine is left.
			env.Setenv("GORACE", "atexit_sleep_ms=0")
			return nil
		},
	})
}
