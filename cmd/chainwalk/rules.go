package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"

	"github.com/spf13/cobra"
	v1 "k8s.io/api/core/v1"
	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"

	"github.com/chainwalk/chainwalk/internal/document"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
	"github.com/chainwalk/chainwalk/scenarios/users/live"
	"github.com/chainwalk/chainwalk/scenarios/world/sim"
)

type rulesOptions struct {
	files        []string
	config       string
	beside       *kubeproxyconfig.KubeProxyConfiguration // that of a file beside the objects; nil: there is none
	node         string
	nodeIPs      []string
	tools        string
	mode         string
	family       string
	clusterCIDR  string
	diff         string
	output       string
	restoreInput bool
	ignored      ignored
	deadOptions
}

func newRulesCommand(s streams) *cobra.Command {
	var o rulesOptions
	cmd := &cobra.Command{
		Use:   "rules -f OBJECTS | rules --dead|--shadowed RULES...",
		Short: "Print the rules that kube-proxy writes for these objects, or find the rules that no packet matches",
		Long: `Syncs the proxier once on the fake kernel and prints what iptables-save and then ip6tables-save print there. In mode
nftables, which --mode or the configuration names, it prints what "nft list ruleset" prints of each family.

The objects are Services, EndpointSlices and Nodes as "kubectl get -o yaml" prints them. The Node object
gives the node's addresses, pod CIDRs and labels; without one, --node-ip gives the addresses.
The configuration comes from --config, or from the ConfigMap kube-system/kube-proxy among the objects; --config reads that ConfigMap too.
Without a clusterCIDR, the range of the nodes' podCIDRs is used, and a note says so.

With --diff it prints how a node differs instead. DUMP is what iptables-save and ip6tables-save printed there, one after the other, a
NodeSnapshot, or a folder with files of the node. The proxier syncs on a copy of the node. A rule that it would add is missing (+), a rule
that it would remove is stale or foreign (-), and a rule at another place has the mark (~). It leaves other programs' rules alone. The
exit status is 1 if there is any difference.

With --dead it prints rules that no packet matches: rules that earlier rules cover, rules of chains that no packet comes to, and rules
whose conditions never hold together. --shadowed prints only the covered ones. RULES are texts that iptables-save or "nft list ruleset"
printed, NodeSnapshots and folders; without any, it examines what kube-proxy writes for the objects. It compares addresses, protocols,
ports and sets, and never calls a rule dead that some packet matches. The exit status is 1 if there are such rules, 2 if none was found
but some table could not be judged.`,
		Example: `  kubectl get services,endpointslices,nodes -A -o yaml | chainwalk rules -f - --node worker1
  chainwalk rules -f objects.yaml | chainwalk trace --rules - 'tcp 10.244.0.11:40000 > 10.96.0.10:53'
  chainwalk rules -f objects.yaml --config kube-proxy.yaml --node worker1 --restore-input
  chainwalk rules -f objects.yaml --mode nftables --family 4
  chainwalk rules -f objects.yaml --cluster-cidr 10.244.0.0/16 --node worker1 --diff dump.txt
  chainwalk rules -f objects.yaml --node worker1 --diff node.yaml -o json
  chainwalk rules --dead firewall.rules`,
		Args: func(cmd *cobra.Command, args []string) error {
			if o.asked() {
				return nil
			}
			return noArgs(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case o.output != "text" && o.output != "json":
				return fmt.Errorf("-o %s: want text or json", o.output)
			case o.asked():
				return runDead(s, o, args)
			case len(o.files) == 0:
				return errors.New(missingFlag(cmd.Flags().Lookup("filename")))
			}
			return runRules(s, o)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVarP(&o.files, "filename", "f", nil, "file with Kubernetes objects (repeatable, - is stdin)")
	flags.StringVar(&o.config, "config", "", "KubeProxyConfiguration (v1alpha1) file, or the ConfigMap with it")
	flags.StringVar(&o.clusterCIDR, "cluster-cidr", "", "the range of the pods' addresses, or one of each family with a comma between")
	flags.StringVar(&o.node, "node", "", "the node to write rules for (default: hostnameOverride, or the only Node)")
	flags.StringSliceVar(&o.nodeIPs, "node-ip", nil, "the node's addresses, instead of those of the Node object")
	flags.StringVar(&o.mode, "mode", "", "iptables or nftables: the mode instead of that of the configuration")
	flags.StringVar(&o.tools, "tools", "", "the iptables tools to imitate: legacy or nft (default: legacy, with --diff those of the dump)")
	flags.StringVar(&o.diff, "diff", "", "file with iptables-save text or a NodeSnapshot of the node: print how the node differs (- is stdin)")
	flags.StringVarP(&o.output, "output", "o", "text", "with --diff, --dead and --shadowed: how to print the answer: text or json")
	flags.BoolVar(&o.dead, "dead", false, "print the rules that no packet matches, and why")
	flags.BoolVar(&o.shadowed, "shadowed", false, "print the rules that no packet matches because rules before them take all of theirs")
	flags.StringVar(&o.family, "family", "", "4 or 6: the only family whose rules to print (default: both)")
	flags.BoolVar(&o.restoreInput, "restore-input", false, "print the bytes given to iptables-restore, or to nft, instead")
	o.ignored.addFlag(flags)
	cmd.MarkFlagsMutuallyExclusive("family", "restore-input")
	cmd.MarkFlagsMutuallyExclusive("diff", "restore-input", "dead", "shadowed")
	completeWords(cmd, "mode", "iptables", "nftables")
	completeWords(cmd, "tools", "legacy", "nft")
	completeWords(cmd, "family", "4", "6")
	completeWords(cmd, "output", "text", "json")
	return cmd
}

func runRules(s streams, o rulesOptions) error {
	if o.output == "json" && o.diff == "" {
		return errors.New("-o json is for --diff, --dead and --shadowed: rules themselves are printed as iptables-save prints them")
	}
	in, families, err := rulesInput(s, o)
	if err != nil {
		return err
	}
	if o.diff != "" {
		if err := needSlices(in.Objects); err != nil {
			return err
		}
		return diffRules(s, o, in, families)
	}
	rules, err := syncedRules(s, in)
	if err != nil {
		return err
	}
	if o.restoreInput {
		_, err = s.out.Write(bytes.Join(rules.RestoreInputs, nil))
		return err
	}
	return writeRules(rules, in, families, s.out)
}

// rulesInput is what the flags say of the rules that kube-proxy is to write.
func rulesInput(s streams, o rulesOptions) (in sim.RulesInput, families []netfilter.Family, err error) {
	if in.Dialect, err = parseTools(o.tools); err != nil {
		return in, nil, err
	}
	if families, err = parseFamilies(o.family); err != nil {
		return in, nil, err
	}
	if in.Objects, err = readKnownObjects(s, o.files, &o.ignored); err != nil {
		return in, nil, err
	}
	return in, families, o.complete(s, &in)
}

// complete adds to what the rules of objects follow from the node and the configuration that the flags name.
func (o *rulesOptions) complete(s streams, in *sim.RulesInput) error {
	warnOfObjects(s, in.Objects)
	config, err := rulesConfig(s, *o, in.Objects)
	if err != nil {
		return err
	}
	if in.Node, err = rulesNode(*o, config, in.Objects); err != nil {
		return err
	}
	in.Configuration, err = o.inMode(config)
	return err
}

// syncedRules are the rules that kube-proxy writes. What it warns of goes to standard error.
func syncedRules(s streams, in sim.RulesInput) (*sim.NodeRules, error) {
	rules, err := sim.Rules(in)
	if err != nil {
		return nil, err
	}
	for _, warning := range slices.Concat(rules.Warnings, rules.Logged) {
		fmt.Fprintf(s.errOut, "chainwalk: warning: %s\n", warning)
	}
	return rules, nil
}

// writeRules prints rules as the tool of their language does.
func writeRules(rules *sim.NodeRules, in sim.RulesInput, families []netfilter.Family, out io.Writer) error {
	write := rules.Save
	if in.Configuration.Mode == manifest.ModeNFTables {
		write = rules.Listing
	}
	for _, family := range families {
		if err := write(family, out); err != nil {
			return err
		}
	}
	return nil
}

// inMode returns the configuration in the mode of the flag --mode, and refuses what is not done in its mode.
func (o *rulesOptions) inMode(config *kubeproxyconfig.KubeProxyConfiguration) (*kubeproxyconfig.KubeProxyConfiguration, error) {
	switch mode := kubeproxyconfig.ProxyMode(o.mode); mode {
	case "":
	case manifest.ModeIPTables, manifest.ModeNFTables:
		config = manifest.InMode(config, mode)
	default:
		return nil, fmt.Errorf("--mode %s: want iptables or nftables", o.mode)
	}
	if config.Mode != manifest.ModeNFTables {
		return config, nil
	}
	switch {
	case o.diff != "":
		return nil, errors.New("--diff compares rules of iptables only, and the mode is nftables: compare two listings, or give --mode iptables")
	case o.tools != "":
		return nil, errors.New("--tools names tools of iptables, and the mode is nftables: leave it out, or give --mode iptables")
	}
	return config, nil
}

// parseFamilies reads the flag --family; empty is both.
func parseFamilies(family string) ([]netfilter.Family, error) {
	switch family {
	case "":
		return []netfilter.Family{netfilter.IPv4, netfilter.IPv6}, nil
	case "4", "IPv4", "ipv4":
		return []netfilter.Family{netfilter.IPv4}, nil
	case "6", "IPv6", "ipv6":
		return []netfilter.Family{netfilter.IPv6}, nil
	}
	return nil, fmt.Errorf("--family %s: want 4 or 6", family)
}

// rulesConfig is the configuration of the file, or that among the objects, or the default one.
func rulesConfig(s streams, o rulesOptions, objects []manifest.Object) (*kubeproxyconfig.KubeProxyConfiguration, error) {
	var config *kubeproxyconfig.KubeProxyConfiguration
	var err error
	switch {
	case o.config != "":
		config, err = readProxyConfig(s, o.config)
	case o.beside != nil:
		config = o.beside.DeepCopy()
	default:
		config, err = manifest.KubeProxyConfigurationOf(objects)
	}
	if err != nil {
		return nil, err
	}
	switch {
	case config == nil && o.clusterCIDR == "":
		fmt.Fprintf(s.errOut, "chainwalk: note: %s\n", live.ConfigurationAssumed)
		config = live.AssumedConfiguration(objects)
	case config == nil:
		config = &kubeproxyconfig.KubeProxyConfiguration{}
	}
	if o.clusterCIDR != "" {
		config.ClusterCIDR = o.clusterCIDR
	}
	return config, nil
}

func readProxyConfig(s streams, file string) (*kubeproxyconfig.KubeProxyConfiguration, error) {
	if file == "" {
		return &kubeproxyconfig.KubeProxyConfiguration{}, nil
	}
	r, name, err := document.Open(file, s.in)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }() // only read
	return manifest.ReadKubeProxyConfiguration(name, r)
}

// rulesNode decides which node the rules are for, and puts its name into the configuration.
func rulesNode(o rulesOptions, config *kubeproxyconfig.KubeProxyConfiguration, objects []manifest.Object) (*v1.Node, error) {
	if o.node != "" {
		config.HostnameOverride = o.node
	}
	node, err := pickNode(objects, config.HostnameOverride)
	switch {
	case len(o.nodeIPs) > 0 && config.HostnameOverride != "":
		// The Node object need not be there.
		node, err = withAddresses(node, config.HostnameOverride, o.nodeIPs)
	case err == nil && len(o.nodeIPs) > 0:
		node, err = withAddresses(node, "", o.nodeIPs)
	case err == nil && node == nil:
		err = errors.New("the objects have no Node: give one, or --node NAME with --node-ip ADDRESS")
	}
	if err != nil {
		return nil, err
	}
	config.HostnameOverride = node.Name
	return node, nil
}

// withAddresses returns the node with these addresses instead of its own, or a new one.
func withAddresses(node *v1.Node, name string, addresses []string) (*v1.Node, error) {
	if node == nil {
		if name == "" {
			return nil, errors.New("--node-ip without a Node object needs --node NAME")
		}
		node = &v1.Node{}
		node.Name = name
	}
	node = node.DeepCopy()
	node.Status.Addresses = nil
	for _, text := range addresses {
		address, err := netip.ParseAddr(text)
		if err != nil {
			return nil, fmt.Errorf("--node-ip: %q is not an IP address", text)
		}
		node.Status.Addresses = append(node.Status.Addresses, v1.NodeAddress{Type: v1.NodeInternalIP, Address: address.String()})
	}
	return node, nil
}
