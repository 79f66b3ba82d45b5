package kind

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/chainwalk/chainwalk/kindtest/onkind/cluster"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/world/tools"
)

// failing are the tools that fail: in the folder that a proxy looks in first for its tools a program of their name gives the real one
// what it refuses. A real proxy tries again when it likes, so that they fail from a fault on for as long as the syncs that are to fail.
type failing struct {
	backend *Backend
	cluster *scenarios.Cluster
	nodes   map[string]*failure
}

// failure is what fails on a node.
type failure struct {
	tools []string
	left  int // how many syncs fail still
}

func newFailing(b *Backend, c *scenarios.Cluster) *failing {
	return &failing{backend: b, cluster: c, nodes: map[string]*failure{}}
}

// shim stands for a tool. The tables of commits go through, as they do with a tool that fails behind them; the real tool says in its own
// words what is wrong. Calls are counted once they have failed.
const shim = `#!/usr/bin/sh
tool=${0##*/}
{
	sed -n -e 's/^//' COMMITS
	printf '*filter\n-A CHAINWALK-MISSING -j ACCEPT\nCOMMIT\n'
} | "/usr/sbin/$tool" "$@"
status=$?
echo >>"$0.calls"
exit "$status"
`

// install puts a program in its place that begins to count anew.
const install = `rm -f "$0.calls" && cat >"$0.new" && chmod 755 "$0.new" && mv "$0.new" "$0"`

// shimOf is the program for a tool that commits tables before it fails.
func shimOf(commits []string) string {
	var chosen strings.Builder
	for _, table := range commits {
		fmt.Fprintf(&chosen, ` -e '/^\*%s$/,/^COMMIT$/p'`, table)
	}
	return strings.Replace(shim, " COMMITS", chosen.String(), 1)
}

// arm has the tools of a node fail that write rules.
func (f *failing) arm(ctx context.Context, node string, fault *scenarios.Fault) error {
	families := tools.Families(f.cluster.IPFamily)
	if fault.Family != "" {
		families = []scenarios.IPFamily{fault.Family}
	}
	made := &failure{left: fault.RestoreFails}
	for _, family := range families {
		tool := tools.Name(family, "-restore")
		made.tools = append(made.tools, tool)
		file := path.Join(cluster.ToolsFolder, tool)
		if _, err := run(ctx, f.backend.relays[node], shimOf(fault.Commits), "sh", "-c", install, file); err != nil {
			return fmt.Errorf("%s: %w", node, err)
		}
	}
	f.nodes[node] = made
	return nil
}

// heal gives nodes their tools back.
func (f *failing) heal(ctx context.Context, nodes []string) error {
	return together(nodes, func(node string) error {
		_, err := run(ctx, f.backend.relays[node], "", "sh", "-c", `rm -f "$0"/*`, cluster.ToolsFolder)
		return err
	})
}

// healSynced gives those nodes their tools back whose next sync is not to fail any more, and says how often the tools of the others have
// failed.
func (f *failing) healSynced(ctx context.Context, nodes []string) (still map[string]int, err error) {
	still = map[string]int{}
	for _, node := range nodes {
		failure := f.nodes[node]
		if failure == nil {
			continue
		}
		if failure.left == 0 {
			delete(f.nodes, node)
			if err := f.heal(ctx, []string{node}); err != nil {
				return nil, err
			}
			continue
		}
		failure.left--
		if still[node], err = f.calls(ctx, node); err != nil {
			return nil, err
		}
	}
	return still, nil
}

// calls is how often the tools of a node have failed: the one that has least often.
func (f *failing) calls(ctx context.Context, node string) (least int, err error) {
	for i, tool := range f.nodes[node].tools {
		text, err := run(ctx, f.backend.relays[node], "", "sh", "-c", `cat "$0.calls" 2>/dev/null | wc -l`, path.Join(cluster.ToolsFolder, tool))
		if err != nil {
			return 0, err
		}
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil {
			return 0, fmt.Errorf("%s: the failures of %s: %w", node, tool, err)
		}
		if i == 0 || n < least {
			least = n
		}
	}
	return least, nil
}

// await waits until a sync of a node has failed in each family, since there were so many failures.
func (f *failing) await(ctx context.Context, node string, before int) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	again := time.NewTicker(lookAgain)
	defer again.Stop()
	for {
		now, err := f.calls(ctx, node)
		if err != nil || now > before {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: the proxy has not called in %s the tools that are to fail", node, patience)
		case <-again.C:
		}
	}
}

// end gives all nodes their tools back.
func (f *failing) end(ctx context.Context) error {
	if len(f.nodes) == 0 {
		return nil
	}
	nodes := sorted(f.nodes)
	clear(f.nodes)
	return f.heal(ctx, nodes)
}

// errFailed is what is said of a sync whose tools were made to fail.
var errFailed = errors.New("the sync has failed: iptables-restore was given what it refuses")
