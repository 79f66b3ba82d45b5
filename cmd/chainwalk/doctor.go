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
	"github.com/chainwalk/chainwalk/scenarios/explain/page"
	"github.com/chainwalk/chainwalk/scenarios/users/live"
)

type doctorOptions struct {
	live    liveOptions
	output  string
	out     string
	shrinks int
	verbose bool
}

func newDoctorCommand(s streams) *cobra.Command {
	var o doctorOptions
	cmd := &cobra.Command{
		Use:   "doctor -f OBJECTS --node SNAPSHOT...",
		Short: "Compare what nodes do with packets with what the objects promise",
		Long: `Walks a packet of every class (from pods, nodes, neighbours and outside; to cluster IPs, external IPs, load balancers, node
ports, and to what is no service's) through the rules of the given nodes, and judges what becomes of it by what the Service API promises
for the given objects: they come to an endpoint and back, whoever is to blame if they do not. What one repair mends is one finding: its
code, how many services and ways suffer, what mends it, the rules that are at fault, and a packet. The first line is the whole answer. Rules are
judged by what they do, whoever wrote them.

"chainwalk snapshot" on a node prints its NodeSnapshot. What nodes without one decide is not judged, and counted.`,
		Example: `  kubectl get services,endpointslices,nodes,pods -A -o yaml > objects.yaml
  chainwalk doctor -f objects.yaml --node node1.yaml --node node2.yaml --out found`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runDoctor(cmd.Context(), s, o)
		},
	}
	o.live.addFlags(cmd)
	_ = cmd.MarkFlagRequired("node") // the flag is there
	cmd.Flags().StringVarP(&o.output, "output", "o", "text", "how to print the result: text, json or html")
	cmd.Flags().StringVar(&o.out, "out", "", "folder to write a scenario to for each thing that is wrong")
	cmd.Flags().IntVar(&o.shrinks, "shrinks", 300, "how many smaller scenarios to try for each of them; 0: none")
	cmd.Flags().BoolVarP(&o.verbose, "verbose", "v", false, "print all that was found, with every packet's way rule by rule")
	completeWords(cmd, "output", "text", "json", "html")
	return cmd
}

func runDoctor(ctx context.Context, s streams, o doctorOptions) error {
	if o.output != "text" && o.output != "json" && o.output != "html" {
		return fmt.Errorf("-o %s: want text, json or html", o.output)
	}
	defer collect(collectOften)()
	cluster, err := o.live.read(s)
	if err != nil {
		return err
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
		write = func(w io.Writer) error { return page.Write(w, &page.Page{Title: report.Answer, Doctor: report}) }
	}
	if err := write(s.out); err != nil {
		return err
	}
	switch {
	case report.Silent():
		return toolStatus(exitUsage) // the answer says why
	case len(report.Findings)+len(report.Doubts) == 0:
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
