package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/users/live"
)

type doctorOptions struct {
	live    liveOptions
	output  string
	out     string
	shrinks int
	verbose bool

	allPackets, anySize bool
}

func newDoctorCommand(s streams) *cobra.Command {
	var o doctorOptions
	cmd := &cobra.Command{
		Use:   "doctor (-f OBJECTS --node SNAPSHOT... | --saved FOLDER | -A)",
		Short: "Say what is wrong with the nodes of a cluster, and how to fix it",
		Long: `Walks a packet of every class (from pods, nodes, neighbours and outside; to cluster IPs, external IPs, load balancers, node
ports, and to addresses of no service) through the rules of the given nodes, and compares the result with what the Service API promises
for the given objects. It prints one finding for each repair: its code, how many services and ways suffer, the repair, the rules at fault,
and an example packet. The first line is the whole answer. It judges rules by what they do, not by who wrote them.

It also looks at all replies that the rules of each node stop: to a packet that the node lets through and that the objects promise, this is
a finding, too. --all-packets=false leaves it out. A node with more than 300 devices is left out, and the report says so, unless
--all-packets is given.

Run "chainwalk snapshot" on a node to get its NodeSnapshot. Connections that depend on a node without a snapshot count as not judged.
With -A, --context or --kubeconfig it gathers the objects and the snapshots from the cluster itself, as "chainwalk gather" does.`,
		Example: `  kubectl get services,endpointslices,nodes,pods -A -o yaml > objects.yaml
  chainwalk doctor -f objects.yaml --node node1.yaml --node node2.yaml --out found
  chainwalk doctor -A --save cluster
  chainwalk doctor --saved cluster -v`,
		Args:    noArgs,
		PreRunE: func(cmd *cobra.Command, _ []string) error { return o.live.checkSources(cmd, true) },
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.anySize = cmd.Flags().Changed("all-packets")
			return runDoctor(cmd.Context(), s, o)
		},
	}
	o.live.addFlags(cmd)
	cmd.Flags().StringVarP(&o.output, "output", "o", "text", "how to print the result: text, json or html")
	cmd.Flags().StringVar(&o.out, "out", "", "folder for a scenario of each finding")
	cmd.Flags().IntVar(&o.shrinks, "shrinks", 300, "how many smaller scenarios to try for each finding; 0: none")
	cmd.Flags().BoolVarP(&o.verbose, "verbose", "v", false, "print all findings, with the way of every packet rule by rule")
	cmd.Flags().BoolVar(&o.allPackets, "all-packets", true,
		"also look at all replies on each node, and not only at those to one packet of each class")
	completeWords(cmd, "output", "text", "json", "html")
	return cmd
}

func runDoctor(ctx context.Context, s streams, o doctorOptions) error {
	if o.output != "text" && o.output != "json" && o.output != "html" {
		return fmt.Errorf("-o %s: want text, json or html", o.output)
	}
	cluster, err := o.live.read(ctx, s)
	if err != nil {
		return err
	}
	defer collect(collectOften)()
	if cluster.AllPackets = o.allPackets; !o.anySize {
		cluster.MostDevices = mostDevices
	}
	report, err := cluster.Examine(ctx)
	if errors.Is(err, live.ErrBothDialects) {
		return fmt.Errorf("%w (--tools)", err)
	}
	if err != nil {
		return err
	}
	write := func(w io.Writer) error { return report.WriteText(w, o.verbose) }
	switch o.output {
	case "json":
		write = report.WriteJSON
	case "html":
		write = report.WriteHTML
	}
	if err := write(s.out); err != nil {
		return err
	}
	switch {
	case report.Silent():
		return toolStatus(exitUsage) // the answer says why
	case len(report.Findings)+len(report.Doubts)+report.NotFollowed == 0 && !report.LacksSnapshot():
		return nil
	}
	if o.out != "" {
		if err := writeWitnesses(ctx, s, cluster, report, o); err != nil {
			return err
		}
	}
	return errNotHeld
}

// writeWitnesses writes a scenario for each finding that one can show.
func writeWitnesses(ctx context.Context, s streams, cluster *live.Cluster, report *live.Report, o doctorOptions) error {
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return err
	}
	for i := range report.Findings {
		witness, head, err := cluster.Witness(ctx, &report.Findings[i], o.shrinks)
		if errors.Is(err, live.ErrNoWitness) {
			fmt.Fprintf(s.errOut, "chainwalk: finding %d: %v\n", i+1, err)
			continue
		}
		if err != nil {
			return err
		}
		name := filepath.Join(o.out, fmt.Sprintf("finding%d.yaml", i+1))
		if err := writeScenario(name, witness, head); err != nil {
			return err
		}
		fmt.Fprintf(s.errOut, "chainwalk: wrote %s\n", name)
	}
	return nil
}

func writeScenario(name string, scenario *scenarios.Scenario, head []string) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	err = scenarios.Write(f, scenario, head...)
	return errors.Join(err, f.Close())
}
