package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/chainwalk/chainwalk/scenarios/users/live"
)

type whyOptions struct {
	live   liveOptions
	output string
	matrix bool
}

func newWhyCommand(s streams) *cobra.Command {
	var o whyOptions
	cmd := &cobra.Command{
		Use:   "why FROM TO (-f OBJECTS --node SNAPSHOT... | --saved FOLDER | -A)",
		Short: "Say whether one end reaches another, and if not, what stops it and how to fix it",
		Long: `Walks a call from FROM to TO through the rules of the given nodes, and says whether TO is reached. If not, it names one cause,
the rule or object that decides, and what fixes it. It sends nothing.

FROM is pod/NAMESPACE/NAME, node/NAME, an address, or "outside". TO is svc/NAMESPACE/NAME[:PORT], pod/NAMESPACE/NAME[:PORT],
node/NAME[:PORT] or ADDRESS[:PORT]. You may omit the namespace if only one object has the name. Without a port, all ports of a service
are called, and pods, nodes and addresses get an echo request.

Each call is followed there and back, in each family that both ends have: from inside to the cluster IPs of a service, from outside to its
load balancer, external IPs and node ports. The first line is the answer. Every cause has a code; docs/causes.md explains it.

With --matrix there is neither FROM nor TO: every pod, every node and a client outside call every service, pod and node.

Exit status: 0 yes, 1 no or not certain, 2 bad usage or input.`,
		Example: `  chainwalk why pod/shop/client svc/shop/web -f objects.yaml --node node1.yaml --node node2.yaml
  chainwalk why outside svc/shop/web:http -f objects.yaml --node node1.yaml
  chainwalk why --matrix -f objects.yaml --node node1.yaml -o csv
  chainwalk why -A pod/shop/client svc/shop/web`,
		Args:    func(_ *cobra.Command, args []string) error { return o.check(args) },
		PreRunE: func(cmd *cobra.Command, _ []string) error { return o.live.checkSources(cmd, true) },
		RunE:    func(cmd *cobra.Command, args []string) error { return runWhy(cmd.Context(), s, o, args) },
	}
	o.live.addFlags(cmd)
	cmd.Flags().StringVarP(&o.output, "output", "o", "text", "how to print the answer: text or json; with --matrix also csv and html")
	cmd.Flags().BoolVar(&o.matrix, "matrix", false, "who reaches whom, as a table")
	completeWords(cmd, "output", "text", "json", "csv", "html")
	return cmd
}

// check refuses arguments that mean nothing together.
func (o *whyOptions) check(args []string) error {
	switch {
	case o.matrix && len(args) > 0:
		return errors.New("--matrix asks about all ends: leave out FROM and TO")
	case !o.matrix && len(args) != 2:
		return fmt.Errorf("why takes two ends, FROM and TO, such as pod/shop/client svc/shop/web: %d given", len(args))
	case o.output != "text" && o.output != "json" && (!o.matrix || o.output != "csv" && o.output != "html"):
		return fmt.Errorf("-o %s: want text or json; csv and html are for --matrix", o.output)
	}
	return nil
}

func runWhy(ctx context.Context, s streams, o whyOptions, args []string) error {
	cluster, err := o.live.read(ctx, s)
	if err != nil {
		return err
	}
	if o.matrix {
		return writeMatrix(ctx, s, o, cluster)
	}
	why, err := cluster.Why(ctx, args[0], args[1])
	if errors.Is(err, live.ErrBothDialects) {
		return fmt.Errorf("%w (--tools)", err)
	}
	if err != nil {
		return err
	}
	write := why.WriteText
	if o.output == "json" {
		write = why.WriteJSON
	}
	if err := write(s.out); err != nil {
		return err
	}
	if why.Answer != live.WhyYes {
		return errNotHeld
	}
	return nil
}

// writeMatrix prints who reaches whom.
func writeMatrix(ctx context.Context, s streams, o whyOptions, cluster *live.Cluster) error {
	matrix, err := cluster.Matrix(ctx)
	if errors.Is(err, live.ErrBothDialects) {
		return fmt.Errorf("%w (--tools)", err)
	}
	if err != nil {
		return err
	}
	switch o.output {
	case "json":
		err = matrix.WriteJSON(s.out)
	case "csv":
		err = matrix.WriteCSV(s.out)
	case "html":
		err = matrix.WriteHTML(s.out)
	default:
		err = matrix.WriteText(s.out)
	}
	if err == nil && !matrix.AllYes() {
		err = errNotHeld
	}
	return err
}
