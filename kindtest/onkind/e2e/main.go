// Command e2e runs the scenarios on a real cluster, and compares what happened with what each scenario expects and with what packetsim
// says from the nodes' snapshots.
//
//	e2e [-keep] [-cluster NAME] [-image IMAGE] [-proxy PROXY] [-mode MODE] [-tool TOOL] [-family FAMILY] [-fault FAULT] [-single]
//	    [-out FOLDER] [FILE...]
//	e2e -join REPORT...
//	e2e -missing
//	e2e -remove [-cluster NAME]
//
// It builds the binary, makes a kind cluster with the proxy as its only one, and a smaller one beside it, runs the scenario files (all
// shipped ones if none are given), each on the cluster that is free, then what changes under traffic, and takes the clusters down. The
// report is written as YAML and as a Markdown table into FOLDER; beside it, if anything failed, what the nodes were like. The status is 1
// if anything is not as expected or as predicted, or if fewer than 90 of 100 of the shipped files could run, and 2 if it could not look.
//
// -join puts reports beside one another and lists where they differ. -missing says what of a Docker engine and a node image is not there;
// the status is 1 then. -remove deletes clusters that were kept.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"

	"github.com/chainwalk/chainwalk/internal/command"
	"github.com/chainwalk/chainwalk/kindtest/onkind/cluster"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios"
)

func main() { newCommand().Main() }

func newCommand() *command.Command {
	var o options
	return &command.Command{Name: "e2e", Flags: o.define, Valid: o.valid,
		Look: func(ctx context.Context, args []string, out io.Writer) (bool, error) {
			switch {
			case o.join:
				return joinFiles(out, args)
			case o.missing:
				return sayMissing(ctx, out, o.image)
			case o.remove:
				return true, errors.Join(cluster.Remove(ctx, besideOf(o.cluster)), cluster.Remove(ctx, o.cluster))
			}
			return o.look(ctx, args, out)
		}}
}

// options are the flags.
type options struct {
	keep, join, missing, remove bool
	single                      bool
	cluster, image              string
	proxy, mode                 string
	tool, family, fault, folder string
	only, binary, kubernetes    string
	workers                     int
}

func (o *options) define(flags *flag.FlagSet) {
	flags.BoolVar(&o.keep, "keep", false, "leave the cluster when all is done")
	flags.StringVar(&o.cluster, "cluster", "", "use the cluster of this name, which exists, and leave it")
	flags.StringVar(&o.image, "image", "",
		"the node image (default the one that is built here if it is there, else the one that kind publishes)")
	flags.StringVar(&o.proxy, "proxy", cluster.Chainwalk, "the service proxy: chainwalk or kube-proxy")
	flags.StringVar(&o.kubernetes, "kubernetes", "", "with -proxy kube-proxy: the root of a clone of kubernetes to build it from")
	flags.StringVar(&o.mode, "mode", "iptables", "the proxy's mode: iptables or nftables")
	flags.StringVar(&o.tool, "tool", string(netfilter.NFT), "the iptables of the nodes: nft or legacy")
	flags.StringVar(&o.family, "family", string(scenarios.FamilyDual), "the addresses: ipv4, ipv6 or dual")
	flags.StringVar(&o.fault, "fault", "", "build the proxy with a fault of the track record, by its name or how that begins: hairpin")
	flags.StringVar(&o.folder, "out", "bin/kind-e2e", "the folder for the report and what is kept of a failure")
	flags.StringVar(&o.only, "only", "", "scenarios or changes: do only that part")
	flags.StringVar(&o.binary, "binary", "", "the static binary of chainwalk, if it is not to be built")
	flags.IntVar(&o.workers, "workers", 3, "nodes beside the control plane")
	flags.BoolVar(&o.single, "single", false, "run the scenarios one after the other, on one cluster alone")
	flags.BoolVar(&o.join, "join", false, "put reports beside one another")
	flags.BoolVar(&o.remove, "remove", false, "delete the cluster that was kept, chainwalk or that of -cluster")
	flags.BoolVar(&o.missing, "missing", false, "say what is missing on this machine")
}

func (o *options) valid(args []string) bool {
	if o.join {
		return len(args) > 1
	}
	return (o.only == "" || o.only == partScenarios || o.only == partChanges) && !(o.fault != "" && o.proxy != cluster.Chainwalk) &&
		!(o.kubernetes != "" && o.proxy != cluster.KubeProxy)
}

// The parts of a run.
const (
	partScenarios = "scenarios"
	partChanges   = "changes"
)

// name is the kind of cluster in a few words, as a name of files.
func (o *options) name() string {
	name := fmt.Sprintf("%s-%s-%s-%s", o.proxy, o.mode, o.tool, o.family)
	if o.fault != "" {
		name += "-" + o.fault
	}
	return name
}

// artifacts is the folder of what is kept of a cluster, by its number, after a failure.
func (o *options) artifacts(number int) string {
	folder := filepath.Join(o.folder, o.name()+"-artifacts")
	if number > 0 {
		folder += "-beside"
	}
	return folder
}
