package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"

	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
	"github.com/chainwalk/chainwalk/scenarios/users/gather"
	"github.com/chainwalk/chainwalk/scenarios/users/live"
)

type migrateOptions struct {
	live     liveOptions
	to       string
	toConfig string
	// The versions of kube-proxy before and after.
	fromVersion, toVersion string

	allPackets bool
	// anySize says that allPackets was asked for, on however large a node.
	anySize bool
	output  string
	verbose bool
	// saveAfter is the folder for the cluster after the change; empty: none.
	saveAfter string
}

// mostDevices is how many devices a node may have for all of its packets to be compared unasked: more than the 256 pods that the largest
// usual nodes have.
const mostDevices = 300

func newMigrateCommand(s streams) *cobra.Command {
	var o migrateOptions
	cmd := &cobra.Command{
		Use: "migrate (-f OBJECTS --node SNAPSHOT... | --saved FOLDER | -A) [--to iptables|nftables] [--to-config FILE] " +
			"[--from-version V --to-version V] [--save-after FOLDER]",
		Short: "Say what changes for packets when kube-proxy changes its mode or its configuration",
		Long: `Walks a packet of every class (see doctor) through the given nodes twice: as they are now, and after kube-proxy has started
and synced in the other mode, or with another configuration. Each class has the same fate afterwards, or differs as a document of
Kubernetes says, or is a finding: the packet, its fates before and after, what stops it, and what to set. It also walks the steps of the
change and the way back. It changes nothing on any node.

Then it compares all first packets that each node may meet, and packets of the other states of connections. A kind of packets that fares
differently does so by a clause of the specification, or is a finding, too, with a likely packet, its fates, and the rules that decide. This
takes a second or two for a node of a hundred pods. --all-packets=false leaves it out. A node with more than 300 devices is left out, and
the answer says so, unless --all-packets is given.

--save-after writes the cluster as it will be after the change, in the form of gather --save. Ask any packet of it: trace, ask, why and
doctor take it with --saved. "diff cluster/nodes/N.yaml after/nodes/N.yaml" compares a node. The folder must be new or empty.

The exit status is 0 if everything is the same or documented, 1 if there is a finding, 2 if it could not judge something.`,
		Example: `  kubectl get services,endpointslices,nodes,pods -A -o yaml > objects.yaml
  chainwalk migrate -f objects.yaml --node node1.yaml --node node2.yaml
  chainwalk migrate --saved cluster --to nftables -v
  chainwalk migrate --saved cluster --to-config new.yaml
  chainwalk migrate --saved cluster --from-version 1.35 --to-version 1.37
  chainwalk migrate --saved cluster -o html > change.html
  chainwalk migrate --saved cluster --save-after after
  chainwalk trace --saved after svc/shop/web --from pod/shop/client`,
		Args: noArgs,
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.live.checkSources(cmd, true); err != nil || o.saveAfter == "" {
				return err
			}
			return o.checkAfter()
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.anySize = cmd.Flags().Changed("all-packets")
			return runMigrate(cmd.Context(), s, o)
		},
	}
	o.live.addFlags(cmd)
	flags := cmd.Flags()
	flags.StringVar(&o.to, "to", "", "the mode to change to, iptables or nftables; by default the one that a node does not have")
	flags.StringVar(&o.toConfig, "to-config", "", "the new KubeProxyConfiguration (v1alpha1); by default the old one in the new mode")
	flags.StringVar(&o.fromVersion, "from-version", "",
		"the version of kube-proxy before, such as 1.35, if it changes; each node stays in its mode then")
	flags.StringVar(&o.toVersion, "to-version", "", "the version of kube-proxy afterwards, such as 1.37")
	flags.BoolVar(&o.allPackets, "all-packets", true, "also compare all packets of each node, and not only one of each class")
	flags.StringVarP(&o.output, "output", "o", "text", "how to print the result: text, json or html")
	flags.BoolVarP(&o.verbose, "verbose", "v", false, "print all differences, with the way of each example rule by rule")
	flags.StringVar(&o.saveAfter, "save-after", "",
		"folder for the objects and snapshots of the cluster after the change, which --saved takes")
	completeWords(cmd, "to", string(manifest.ModeIPTables), string(manifest.ModeNFTables))
	completeWords(cmd, "output", "text", "json", "html")
	return cmd
}

func runMigrate(ctx context.Context, s streams, o migrateOptions) error {
	target, err := o.target(s)
	if err != nil {
		return err
	}
	defer collect(collectOften)()
	cluster, err := o.live.read(ctx, s)
	if err != nil {
		return err
	}
	result, err := cluster.Migrate(ctx, target)
	if errors.Is(err, live.ErrBothDialects) {
		return fmt.Errorf("%w (--tools)", err)
	}
	if err != nil {
		return err
	}
	switch o.output {
	case "json":
		err = result.WriteJSON(s.out)
	case "html":
		err = result.WriteHTML(s.out)
	default:
		err = result.WriteText(s.out, o.verbose)
	}
	if err == nil && o.saveAfter != "" {
		err = keepAfter(s, o.saveAfter, result)
	}
	if err != nil {
		return err
	}
	switch result.State() {
	case live.MigrationFinds:
		return errNotHeld
	case live.MigrationUnknown:
		return toolStatus(exitUsage) // the answer says what is not known
	}
	return nil
}

// checkAfter refuses a folder for the cluster after the change that would not be written in the end.
func (o *migrateOptions) checkAfter() error {
	switch save := o.live.gather.save; {
	case save != "" && filepath.Clean(save) == filepath.Clean(o.saveAfter):
		return fmt.Errorf("--save-after %s: --save names the same folder: name another one", o.saveAfter)
	case o.live.gather.anonymise.on:
		return errors.New("--anonymise is for the folder of --save alone: leave it out, and give both folders to \"chainwalk anonymise\"")
	}
	return byFlag("save-after", gather.CheckFolder(o.saveAfter))
}

// keepAfter writes the cluster after the change to a folder.
func keepAfter(s streams, folder string, m *live.Migration) error {
	after, err := m.After()
	if err != nil {
		return byFlag("save-after", err)
	}
	g := gatheredOf(after)
	g.Foretold = true
	for i := range m.Nodes {
		switch n := &m.Nodes[i]; {
		case n.Why == "":
			g.Notes = append(g.Notes, fmt.Sprintf("%s is foretold: kube-proxy has started in mode %s and has synced.", n.Name, n.To))
		case slices.ContainsFunc(g.Nodes, func(kept gather.Node) bool { return kept.Name == n.Name && kept.Snapshot != nil }):
			g.Notes = append(g.Notes, fmt.Sprintf("%s is as it was, for it was not walked: %s", n.Name, n.Why))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(after.NodeConfigs)) {
		g.Notes = append(g.Notes, name+" has a configuration of its own, which is not in kube-proxy.yaml: give it with --node-config again.")
	}
	return byFlag("save-after", keep(s, folder, g))
}

// target is what the flags say that the cluster changes to.
func (o *migrateOptions) target(s streams) (live.Target, error) {
	var out live.Target
	switch mode := kubeproxyconfig.ProxyMode(o.to); mode {
	case "", manifest.ModeIPTables, manifest.ModeNFTables:
		out.Mode = mode
	default:
		return out, fmt.Errorf("--to %s: want iptables or nftables", o.to)
	}
	if o.output != "text" && o.output != "json" && o.output != "html" {
		return out, fmt.Errorf("-o %s: want text, json or html", o.output)
	}
	if out.AllPackets = o.allPackets; !o.anySize {
		out.MostDevices = mostDevices
	}
	var err error
	if out.Versions, err = live.ParseVersions(o.fromVersion, o.toVersion); err != nil {
		return out, err
	}
	if o.toConfig != "" {
		out.Config, err = readProxyConfig(s, o.toConfig)
	}
	return out, err
}
