package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/utils/clock"
	"k8s.io/utils/exec"

	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/packetsim/snapshot/files"
	"github.com/chainwalk/chainwalk/scenarios/explain/provenance"
)

func newSnapshotCommand(s streams) *cobra.Command {
	var output, from, hostname string
	cmd := &cobra.Command{
		Use:   "snapshot",
		Short: "Print a snapshot of this machine (its network namespace)",
		Long: `Reads devices, addresses, routes and policy rules, sysctls, iptables rules of both backends and the order in which the
kernel runs them, tables of nftables, connections, sets and accounting objects. It prints them as one document, a NodeSnapshot,
through which "chainwalk trace --node" walks packets. The document lists the parts that it could not read under "unread", and so
does stderr.

With --from it makes the snapshot from files with the output of tools on a node, as in support bundles: iptables-save and ip6tables-save
(also -legacy and -nft), ip -j addr, ip -d -j link, ip -j route show table all, ip -6 -j route show table all, ip -j rule, ip -6 -j rule,
nft list ruleset, sysctl -a, conntrack -L, ipset save, nfacct list, bridge -j fdb, ip -j neigh. The output without -j works as well. A
file is recognised by its text. Only the devices are required; the document lists other missing parts under "unread".`,
		Example: `  chainwalk snapshot > node.yaml
  chainwalk snapshot --from bundle/node1 > node1.yaml
  ip netns exec NAME chainwalk snapshot -o json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			format, err := snapshotFormat(output)
			if err != nil {
				return err
			}
			node, err := snapshotOf(cmd.Context(), s, from)
			if err != nil {
				return err
			}
			if hostname != "" {
				node.Hostname = hostname
			}
			for _, unread := range node.Unread {
				fmt.Fprintf(s.errOut, "chainwalk: not read: %s: %s\n", unread.What, unread.Why)
			}
			return node.Write(s.out, format)
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "folder with the output of tools on a node, instead of this machine")
	cmd.Flags().StringVar(&hostname, "hostname", "", "the node's name in the document (default: what the machine or the files say, else "+
		"the folder's name)")
	cmd.Flags().StringVarP(&output, "output", "o", "yaml", "the form of the document: yaml or json")
	completeWords(cmd, "output", "yaml", "json")
	return cmd
}

// snapshotOf takes a snapshot of this machine, or makes one of files.
func snapshotOf(ctx context.Context, s streams, from string) (*snapshot.NodeSnapshot, error) {
	if from == "" {
		node, err := snapshot.Take(ctx, exec.New())
		if err == nil {
			node.Taken = clock.RealClock{}.Now().UTC().Truncate(time.Second)
		}
		return node, err
	}
	return snapshotOfFiles(s, from)
}

// snapshotOfFiles makes a snapshot of the files in a folder.
func snapshotOfFiles(s streams, from string) (*snapshot.NodeSnapshot, error) {
	if info, err := os.Stat(from); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("%s: want a folder with files of a node (if it is an archive, unpack it)", from)
	}
	result, err := files.Read(os.DirFS(from), provenance.WriterOfSave)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", from, err)
	}
	if result.Node.Hostname == "" {
		path, err := filepath.Abs(from)
		if err != nil {
			return nil, err
		}
		result.Node.Hostname = filepath.Base(path)
	}
	for _, ignored := range result.Ignored {
		fmt.Fprintf(s.errOut, "chainwalk: not used: %s: %s\n", ignored.What, ignored.Why)
	}
	return result.Node, nil
}

func snapshotFormat(output string) (snapshot.Format, error) {
	switch format := snapshot.Format(output); format {
	case snapshot.YAML, snapshot.JSON:
		return format, nil
	}
	return "", fmt.Errorf("-o %s: want yaml or json", output)
}
