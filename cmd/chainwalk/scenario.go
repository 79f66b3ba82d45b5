package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/users/live"
)

func newScenarioCommand(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "scenario",
		Short: "Write scenarios of running clusters",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cmd.Help()
		},
	}
	cmd.AddCommand(newScenarioFromCommand(s))
	return cmd
}

func newScenarioFromCommand(s streams) *cobra.Command {
	var from liveOptions
	o := live.ScenarioOptions{Name: "a running cluster"}
	cmd := &cobra.Command{
		Use:   "from (-f OBJECTS [--node SNAPSHOT...] | --saved FOLDER | -A)",
		Short: "Print a scenario of a running cluster, with the expected fate of every class of packets",
		Long: `Prints a scenario of a cluster's nodes, pods, services and endpoint slices, as "kubectl get -o yaml" prints them.
NodeSnapshots add further addresses of nodes, kernel settings, the iptables tools, and the rules that are not kube-proxy's. The
scenario expects for each packet what the Service API promises, whatever the nodes' rules do.

--anonymise replaces names and addresses consistently. Addresses of one network stay in one network, ports stay, and all labels and
annotations are left out (without --anonymise, those that affect packets stay). The new addresses differ each time, unless --key is the
same.`,
		Example: `  kubectl get services,endpointslices,nodes,pods -A -o yaml | chainwalk scenario from -f - --anonymise > cluster.yaml
  kubectl get configmap -n kube-system kube-proxy -o yaml | chainwalk scenario from -f objects.yaml -f - --node node1.yaml`,
		Args:    noArgs,
		PreRunE: func(cmd *cobra.Command, _ []string) error { return from.checkSources(cmd, false) },
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			o.Anonymise = from.gather.anonymise.on
			if o.Key, err = from.gather.anonymise.newKey(); err != nil {
				return err
			}
			return runScenarioFrom(cmd.Context(), s, &from, o)
		},
	}
	from.addFlags(cmd)
	from.hides = true
	cmd.Flags().Lookup("anonymise").Usage = "replace all names and addresses, and in the folder of --save as well"
	cmd.Flags().StringVar(&o.Name, "name", o.Name, "the scenario's name")
	return cmd
}

func runScenarioFrom(ctx context.Context, s streams, from *liveOptions, o live.ScenarioOptions) error {
	defer collect(collectMore)()
	cluster, err := from.read(ctx, s)
	if err != nil {
		return err
	}
	scenario, notes, err := cluster.Scenario(o)
	if err != nil {
		return err
	}
	for _, note := range notes {
		fmt.Fprintf(s.errOut, "chainwalk: note: %s\n", note)
	}
	return scenarios.Write(s.out, scenario,
		"A running cluster, as its objects describe it, and what the Service API promises for every class of packets.")
}
