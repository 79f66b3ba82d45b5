// Command rules prints the rules that kube-proxy, of the version that is linked, writes on a node for the objects of a file. It runs
// kube-proxy's own proxiers on a fake kernel that has nothing but the addresses of the Node object, with the configuration that
// "chainwalk rules" assumes where none is known, and prints what the tools of the mode print there of both families. The recordings in
// internal/dumps/kube-proxy were made with it. It exits with 2 if it could not.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"

	"github.com/chainwalk/chainwalk/internal/command"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/proxier/upstream/cases"
	"github.com/chainwalk/chainwalk/proxier/upstream/peers"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
	"github.com/chainwalk/chainwalk/scenarios/users/live"
	"github.com/chainwalk/chainwalk/scenarios/world/sim"
)

func main() {
	klog.SetLogger(logr.Discard())
	var o options
	c := command.Command{
		Name: "rules", Flags: o.define, Valid: func(args []string) bool { return len(args) == 1 },
		Look: func(_ context.Context, files []string, out io.Writer) (bool, error) {
			return true, o.write(files[0], out)
		},
	}
	c.Main()
}

// options are the flags.
type options struct {
	mode cases.Mode
	node string
}

func (o *options) define(flags *flag.FlagSet) {
	flags.Func("mode", "iptables or nftables", func(text string) (err error) { o.mode, err = cases.ModeNamed(text); return err })
	flags.StringVar(&o.node, "node", "", "the name of the Node object to write rules for")
}

// write prints the rules for the objects of a file.
func (o *options) write(file string, out io.Writer) error {
	text, err := os.Open(file) //nolint:gosec // it was asked for
	if err != nil {
		return err
	}
	objects, err := manifest.ReadObjects(file, text)
	if err := errors.Join(err, text.Close()); err != nil {
		return err
	}
	nodes := manifest.Of[*v1.Node](objects)
	i := slices.IndexFunc(nodes, func(n *v1.Node) bool { return n.Name == o.node })
	if i < 0 {
		return fmt.Errorf("%s has no Node %q: give one of its nodes with -node", file, o.node)
	}
	config := live.AssumedConfiguration(objects)
	config.HostnameOverride = o.node
	if o.mode == cases.NFTables {
		config = manifest.InMode(config, kubeproxyconfig.ProxyMode(o.mode))
	}
	rules, err := sim.Rules(sim.RulesInput{Objects: objects, Configuration: config, Node: nodes[i], Proxier: peers.Process})
	if err != nil {
		return err
	}
	write := rules.Save
	if o.mode == cases.NFTables {
		write = rules.Listing
	}
	return errors.Join(write(netfilter.IPv4, out), write(netfilter.IPv6, out))
}
