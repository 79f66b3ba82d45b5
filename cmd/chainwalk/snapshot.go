package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/utils/clock"
	"k8s.io/utils/exec"

	"github.com/chainwalk/chainwalk/packetsim/snapshot"
)

func newSnapshotCommand(s streams) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "snapshot",
		Short: "Print a NodeSnapshot of this machine (network namespace)",
		Long: `Reads devices, addresses, routes and policy rules, sysctls, iptables rules of both backends and the order in which the kernel
runs them, native tables of nftables by name, connections, sets and accounting objects, and prints them as one document
that "chainwalk trace --node" walks packets through. What could not be read is listed in the document under "unread", and on stderr.`,
		Example: `  chainwalk snapshot > node.yaml
  ip netns exec NAME chainwalk snapshot -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			format, err := snapshotFormat(output)
			if err != nil {
				return err
			}
			node, err := snapshot.Take(cmd.Context(), exec.New())
			if err != nil {
				return err
			}
			node.Taken = clock.RealClock{}.Now().UTC().Truncate(time.Second)
			for _, unread := range node.Unread {
				fmt.Fprintf(s.errOut, "chainwalk: not read: %s: %s\n", unread.What, unread.Why)
			}
			return node.Write(s.out, format)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "yaml", "the form of the document: yaml or json")
	completeWords(cmd, "output", "yaml", "json")
	return cmd
}

func snapshotFormat(output string) (snapshot.Format, error) {
	switch format := snapshot.Format(output); format {
	case snapshot.YAML, snapshot.JSON:
		return format, nil
	}
	return "", fmt.Errorf("-o %s: want yaml or json", output)
}
