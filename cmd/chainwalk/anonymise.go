package main

import (
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/chainwalk/chainwalk/scenarios/users/anonymise"
	"github.com/chainwalk/chainwalk/scenarios/users/gather"
	"github.com/chainwalk/chainwalk/scenarios/users/live"
)

// anonymiseOptions say whether, and by which key, names and addresses become others.
type anonymiseOptions struct {
	on  bool
	key string
}

func (o *anonymiseOptions) addFlags(flags *pflag.FlagSet, usage string) {
	flags.BoolVar(&o.on, "anonymise", false, usage)
	o.addKey(flags)
}

func (o *anonymiseOptions) addKey(flags *pflag.FlagSet) {
	flags.StringVar(&o.key, "key", "",
		"32 hexadecimal digits: the same key gives the same new addresses; keep it secret (default: a new key each time)")
}

// check refuses flags that mean nothing where no folder is kept.
func (o *anonymiseOptions) check(save string) error {
	switch {
	case o.key != "" && !o.on:
		return errors.New("--key is for --anonymise: give that as well")
	case o.on && save == "":
		return errors.New("--anonymise is for the folder of --save: give that as well, or use \"chainwalk anonymise\" for a folder that is there")
	}
	return nil
}

// newKey is the key that was given, or one that nobody knows: the same one for all that a command writes.
func (o *anonymiseOptions) newKey() (anonymise.Key, error) {
	if o.key == "" {
		key := anonymise.NewKey()
		o.key = hex.EncodeToString(key[:])
	}
	key, err := anonymise.ParseKey(o.key)
	if err != nil {
		return key, fmt.Errorf("--key: %w", err)
	}
	return key, nil
}

// anonymous is what was gathered with other names and addresses. Errors call the snapshot of a node by what stands before its name.
func (o *anonymiseOptions) anonymous(g *gather.Gathered, before string) (*gather.Gathered, error) {
	key, err := o.newKey()
	if err != nil {
		return nil, err
	}
	other, _, err := anonymise.Of(key, dumpOf(g, before))
	if err != nil {
		return nil, fmt.Errorf("--anonymise: %w", err)
	}
	out := &gather.Gathered{Objects: other.Objects, Anonymous: true}
	for i := range other.Nodes {
		n := &other.Nodes[i]
		out.Nodes = append(out.Nodes, gather.Node{Name: n.Name, Snapshot: n.Snapshot, Why: n.Why})
	}
	return out, nil
}

// dumpOf is what was gathered, for the package that renames it. Errors call the snapshot of a node by what stands before its name.
func dumpOf(g *gather.Gathered, before string) *anonymise.Dump {
	dump := &anonymise.Dump{Objects: g.Objects}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		dump.Nodes = append(dump.Nodes, anonymise.Node{Name: n.Name, Snapshot: n.Snapshot, Why: n.Why, File: before + n.Name})
	}
	return dump
}

func newAnonymiseCommand(s streams) *cobra.Command {
	var from liveOptions
	o := anonymiseOptions{on: true}
	cmd := &cobra.Command{
		Use:   "anonymise (FOLDER | -f OBJECTS --node SNAPSHOT...) NEWFOLDER",
		Short: "Write a cluster's folder again with other names and addresses, so that you can give it away",
		Long: `Reads the folder that "chainwalk gather --save" has written, or files, and writes a new folder with other names,
addresses, comments and times, the same ones everywhere. doctor, why and trace give the same answers for it, with the new names.
Ports stay, and two addresses share as many leading bits after as before. A field that chainwalk does not know and that may hold
a name is left out, or refused with its file and line.

The new addresses depend on a random key, which chainwalk forgets at the end, so the old ones cannot be found by trying. docs/gather.md
says what such a folder still shows. Look through it before you give it away.`,
		Example: `  chainwalk gather --save cluster
  chainwalk anonymise cluster for-the-issue
  chainwalk doctor --saved for-the-issue`,
		Args: cobra.MaximumNArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 2 {
				from.saved = args[0]
			}
			if want := len(from.files) > 0; len(args) != 2 && !want || len(args) != 1 && want {
				return errors.New("give the folder of a cluster, or files with -f and --node, and a new folder")
			}
			return runAnonymise(s, &from, &o, args[len(args)-1])
		},
	}
	cmd.Flags().StringArrayVarP(&from.files, "filename", "f", nil, "file with Kubernetes objects (repeatable, - is stdin)")
	cmd.Flags().StringArrayVar(&from.snapshots, "node", nil, "file with the NodeSnapshot of a node (repeatable, - is stdin)")
	from.ignored.addFlag(cmd.Flags())
	o.addKey(cmd.Flags())
	return cmd
}

func runAnonymise(s streams, from *liveOptions, o *anonymiseOptions, folder string) error {
	if err := gather.CheckFolder(folder); err != nil {
		return err
	}
	g, err := readKept(s, from)
	if err != nil {
		return err
	}
	before := "snapshot of "
	if from.saved != "" {
		before = from.saved + ": " + before
	}
	other, err := o.anonymous(g, before)
	if err != nil {
		return err
	}
	return keep(s, folder, other)
}

// readKept is what a folder or files have of a cluster, as it was gathered.
func readKept(s streams, from *liveOptions) (*gather.Gathered, error) {
	var cluster live.Cluster
	if err := from.readFiles(s, &cluster); err != nil {
		return nil, err
	}
	return gatheredOf(&cluster), nil
}

// gatheredOf is a cluster as a folder keeps it.
func gatheredOf(cluster *live.Cluster) *gather.Gathered {
	g := &gather.Gathered{Objects: cluster.Objects}
	for _, node := range cluster.Snapshots {
		g.Nodes = append(g.Nodes, gather.Node{Name: node.Hostname, Snapshot: node})
	}
	for _, name := range slices.Sorted(maps.Keys(cluster.NoSnapshot)) {
		g.Nodes = append(g.Nodes, gather.Node{Name: name, Why: cluster.NoSnapshot[name]})
	}
	return g
}
