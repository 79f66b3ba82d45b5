package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"

	"github.com/chainwalk/chainwalk/internal/document"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios/users/gather"
	"github.com/chainwalk/chainwalk/scenarios/users/live"
)

// liveOptions say what is known of a running cluster.
type liveOptions struct {
	files     []string
	snapshots []string
	config    string
	own       []string
	tools     string
	ignored   ignored
	saved     string
	gather    gatherOptions
	hides     bool // --anonymise is for the answer as well, and needs no folder
}

func (o *liveOptions) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVarP(&o.files, "filename", "f", nil, "file with Kubernetes objects (repeatable, - is stdin)")
	flags.StringArrayVar(&o.snapshots, "node", nil, "file with the NodeSnapshot of a node (repeatable, - is stdin)")
	flags.StringVar(&o.config, "config", "",
		"KubeProxyConfiguration (v1alpha1) file of every node, instead of the ConfigMap kube-system/kube-proxy")
	flags.StringArrayVar(&o.own, "node-config", nil, "NODE=FILE: the KubeProxyConfiguration of one node (repeatable)")
	flags.StringVar(&o.tools, "tools", "", "legacy or nft: the variant that kube-proxy writes on a node with rules of both")
	o.ignored.addFlag(flags)
	addSavedFlag(flags, &o.saved)
	o.gather.addFlags(flags)
	completeWords(cmd, "tools", "legacy", "nft")
}

// read reads a whole cluster: from files, from a folder, or from the cluster itself.
func (o *liveOptions) read(ctx context.Context, s streams) (*live.Cluster, error) {
	cluster, err := o.load(ctx, s)
	if err != nil {
		return nil, err
	}
	return cluster, needSlices(cluster.Objects)
}

// load is read for a cluster of which some kinds of objects may be missing.
func (o *liveOptions) load(ctx context.Context, s streams) (*live.Cluster, error) {
	if _, err := parseTools(o.tools); err != nil {
		return nil, err
	}
	cluster := &live.Cluster{Dialect: netfilter.Dialect(o.tools)}
	if err := o.configure(s, cluster); err != nil {
		return nil, err
	}
	if o.gather.asked() {
		gathered, err := o.gather.gathered(ctx, s)
		if err != nil {
			return nil, err
		}
		cluster.Objects, cluster.Snapshots, cluster.NoSnapshot = gathered.Objects, gathered.Snapshots(), gathered.Silent()
	}
	return cluster, o.readFiles(s, cluster)
}

// readFiles adds what files say of the cluster.
func (o *liveOptions) readFiles(s streams, cluster *live.Cluster) error {
	files, snapshots := o.files, o.snapshots
	if o.saved != "" {
		folder, err := gather.ReadFolder(o.saved)
		if err != nil {
			return err
		}
		files, snapshots, cluster.NoSnapshot = append(folder.Objects, files...), append(folder.Snapshots, snapshots...), folder.Silent
	}
	objects, err := readKnownObjects(s, files, &o.ignored)
	if err != nil {
		return err
	}
	for i := range objects {
		cluster.Objects = append(cluster.Objects, objects[i].WithoutSource())
	}
	for _, file := range snapshots {
		node, err := readSnapshot(s, file)
		if err != nil {
			return err
		}
		cluster.Snapshots = append(cluster.Snapshots, node)
		delete(cluster.NoSnapshot, node.Hostname) // one that was taken by hand
	}
	return nil
}

// configure reads the configurations of kube-proxy that are given.
func (o *liveOptions) configure(s streams, cluster *live.Cluster) (err error) {
	if o.config != "" {
		if cluster.Config, err = readProxyConfig(s, o.config); err != nil {
			return err
		}
	}
	for _, own := range o.own {
		node, file, ok := strings.Cut(own, "=")
		if !ok {
			return fmt.Errorf("--node-config %s: want NODE=FILE", own)
		}
		if cluster.NodeConfigs == nil {
			cluster.NodeConfigs = map[string]*kubeproxyconfig.KubeProxyConfiguration{}
		}
		if cluster.NodeConfigs[node], err = readProxyConfig(s, file); err != nil {
			return err
		}
	}
	return nil
}

// readSnapshot reads a NodeSnapshot, or makes one of the files in a folder. What it lacks is said in the answer, where it matters.
func readSnapshot(s streams, file string) (*snapshot.NodeSnapshot, error) {
	read := readSnapshotFile
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		read = snapshotOfFiles
	}
	return read(s, file)
}

func readSnapshotFile(s streams, file string) (*snapshot.NodeSnapshot, error) {
	r, name, err := document.Open(file, s.in)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }() // only read
	text := bufio.NewReader(r)
	if head, _ := text.Peek(text.Size()); snapshot.IsSave(head) { // where it cannot be read, reading on says why
		return nil, fmt.Errorf("%s is what iptables-save prints, not a NodeSnapshot: give it to \"chainwalk trace --rules\", or put it into "+
			"a folder with more of the node and give the folder", name)
	}
	return snapshot.Read(name, text)
}
