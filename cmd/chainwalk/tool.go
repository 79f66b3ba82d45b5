package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/chainwalk/chainwalk/fakeipt/toolstate"
	"github.com/chainwalk/chainwalk/fakenft/nftstate"
)

// toolStatus is the exit status of a tool, which has already printed why.
type toolStatus int

func (s toolStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

func newToolCommand(s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "tool NAME ARGS...",
		Short: "Run a fake iptables tool, or nft, on a stored ruleset",
		Long: `Runs a tool of the fake kernel on the ruleset that the previous run left: iptables, ip6tables, their -save and -restore,
each also as -legacy or -nft (iptables-nft-save), nft, ipset or nfacct. A link to this program with the name of a tool does the same. It
prints what the tool prints, and exits as it does.

Environment: CHAINWALK_STATE is the folder with the rulesets (default: chainwalk/state in the user's cache folder),
CHAINWALK_TOOLS is legacy (default) or nft for names without either.`,
		Example: `  chainwalk tool iptables -A INPUT -p tcp --dport 22 -j ACCEPT
  chainwalk tool iptables-save
  ln -s "$(command -v chainwalk)" bin/iptables && PATH=$PWD/bin:$PATH ./program-that-runs-iptables`,
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("tool: name a tool, for example iptables-save")
			}
			if args[0] == "-h" || args[0] == "--help" {
				return cmd.Help()
			}
			return runTool(s, args)
		},
	}
}

// runTool runs the tool args[0] on the stored state.
func runTool(s streams, args []string) error {
	// A signal ends a tool at once, also one that waits for its input or for a lock.
	signal.Reset(os.Interrupt, syscall.SIGTERM)
	if !isTool(args[0]) {
		return fmt.Errorf("tool: there is no tool %q", args[0])
	}
	store, err := toolstate.FromEnvironment()
	if err != nil {
		return fmt.Errorf("tool: %w", err)
	}
	defer collect(collectTool)()
	run := store.Run
	if nftstate.IsTool(args[0]) {
		nft, err := nftStore(store)
		if err != nil {
			return fmt.Errorf("tool: %w", err)
		}
		run = nft.Run
	}
	if status := run(args, s.in, s.out, s.errOut); status != 0 {
		return toolStatus(status)
	}
	return nil
}

// nftStore is where nft keeps its tables: in the folder of the other tools. It reads the files of this machine.
func nftStore(store *toolstate.Store) (*nftstate.Store, error) {
	here, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("the folder that nft runs in: %w", err)
	}
	return &nftstate.Store{
		Dir: store.Dir(), Files: os.DirFS("/"), WorkDir: here, Etc: os.DirFS("/etc"), Elsewhere: toolstate.Elsewhere, Join: store.Join,
	}, nil
}

// isTool says whether there is a tool of that name.
func isTool(name string) bool { return toolstate.IsTool(name) || nftstate.IsTool(name) }

// toolArgs are the arguments of a program that was started by the name argv[0]: a link with the name of a tool runs
// that tool.
func toolArgs(argv []string) []string {
	if isTool(argv[0]) {
		return append([]string{"tool"}, argv...)
	}
	return argv[1:]
}
