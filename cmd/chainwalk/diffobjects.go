package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chainwalk/chainwalk/fakekernel"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
	"github.com/chainwalk/chainwalk/scenarios/world/sim"
)

// objectsOptions say on which node, and by which configuration, kube-proxy writes the rules of objects.
type objectsOptions struct {
	rules rulesOptions
	// to are the node, mode and configuration of the second side, where they are others.
	toNode, toMode, toConfig string
}

func (o *objectsOptions) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&o.rules.node, "node", "", "of objects: the node to write rules for (default: the snapshot's, or the only Node)")
	flags.StringVar(&o.rules.mode, "mode", "", "of objects: iptables or nftables, instead of the mode of the configuration")
	flags.StringVar(&o.rules.config, "config", "", "of objects: KubeProxyConfiguration (v1alpha1) file, or the ConfigMap with it")
	flags.StringVar(&o.rules.clusterCIDR, "cluster-cidr", "",
		"of objects: the range of the pods' addresses, or one of each family with a comma between")
	flags.StringVar(&o.toNode, "to-node", "", "the node of AFTER, if it is another one")
	flags.StringVar(&o.toMode, "to-mode", "", "the mode of AFTER, if it is another one")
	flags.StringVar(&o.toConfig, "to-config", "", "the configuration of AFTER, if it is another one")
	completeWords(cmd, "mode", string(manifest.ModeIPTables), string(manifest.ModeNFTables))
	completeWords(cmd, "to-mode", string(manifest.ModeIPTables), string(manifest.ModeNFTables))
}

// changed says whether a flag gives the second side something else.
func (o *objectsOptions) changed() bool { return o.toNode != "" || o.toMode != "" || o.toConfig != "" }

// of are the options of the first side, or of the second one.
func (o *objectsOptions) of(side int) rulesOptions {
	out := o.rules
	if side == 1 {
		out.node, out.mode, out.config = cmp.Or(o.toNode, out.node), cmp.Or(o.toMode, out.mode), cmp.Or(o.toConfig, out.config)
	}
	return out
}

// diffSide is a side of diff as it was read.
type diffSide struct {
	*readFrom
	objects *sideReader    // nil: it is a host
	in      sim.RulesInput // what the rules of objects follow from
	host    *hostSource
}

// readSide reads a side.
func (o *diffOptions) readSide(s streams, path string) (*diffSide, error) {
	of, err := readPath(s, path)
	if err != nil {
		return nil, err
	}
	side := &diffSide{readFrom: of}
	if is, err := of.areObjects(); !is || err != nil {
		return side, err
	}
	r := &sideReader{ignored: &o.hosts.ignored}
	if of.folder {
		err = r.read(path)
	} else {
		err = r.readText(of.name, of.text)
	}
	o.hosts.ignored.warn(s)
	switch {
	case err != nil:
		return nil, err
	case len(r.objects) == 0:
		return nil, fmt.Errorf("%s: a configuration without objects: give it with --config, or --to-config", path)
	case len(r.side.Cluster.Snapshots)+len(r.side.Rules) > 0:
		return nil, fmt.Errorf("%s: objects, and snapshots or rules beside them: give the objects, and a snapshot as the other side", path)
	}
	for _, note := range r.notes {
		fmt.Fprintf(s.errOut, "chainwalk: note: %s\n", note)
	}
	side.objects = r
	return side, needSlices(r.objects)
}

// areObjects says whether a file, or one of the files in a folder, has Kubernetes objects.
func (r *readFrom) areObjects() (is bool, err error) {
	if !r.folder {
		return looksLikeObjects(r.text), nil
	}
	err = filepath.WalkDir(r.path, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || is || entry.IsDir() || !scenarios.IsYAML(name) {
			return err
		}
		text, err := os.ReadFile(name) //nolint:gosec // it is in the folder that was asked for
		is = is || looksLikeObjects(text)
		return err
	})
	return is, err
}

// looksLikeObjects tells objects in YAML and JSON from rules and snapshots.
func looksLikeObjects(text []byte) bool {
	return bytes.Contains(text, []byte("apiVersion")) && bytes.Contains(text, []byte("kind")) &&
		!snapshot.IsSave(text) && !bytes.Contains(append([]byte("\n"), text...), []byte("\nhostname:"))
}

// sides are the hosts that are compared, each with the objects that name what is there.
func (o *diffOptions) sides(s streams, paths []string) (sides [2]*hostSource, objects [2][]manifest.Object, err error) {
	s.errOut = &onceEach{to: s.errOut}
	read, err := o.readSides(s, paths)
	if err != nil {
		return sides, objects, err
	}
	local, err := localAddresses(o.hosts.local)
	if err != nil {
		return sides, objects, err
	}
	for _, side := range read {
		if side.objects == nil {
			if side.host, err = o.hosts.source(s, side.readFrom, local, ""); err != nil {
				return sides, objects, err
			}
		}
	}
	for i, side := range read {
		if side.objects == nil {
			continue
		}
		if side.host, err = o.written(s, i, side, read[1-i]); err != nil {
			return sides, objects, err
		}
		objects[i] = side.in.Objects
	}
	for i, side := range read {
		if sides[i] = side.host; len(objects[i]) == 0 {
			objects[i] = objects[1-i]
		}
	}
	return sides, objects, nil
}

// readSides reads both sides. One path alone is of objects, whose second side has another node, mode or configuration.
func (o *diffOptions) readSides(s streams, paths []string) (read [2]*diffSide, err error) {
	if len(paths) == 2 && paths[0] == "-" && paths[1] == "-" {
		return read, errors.New("- is given twice: standard input can be read only once")
	}
	for i, path := range paths {
		if read[i], err = o.readSide(s, path); err != nil {
			return read, err
		}
	}
	switch {
	case len(paths) == 1 && read[0].objects == nil:
		return read, fmt.Errorf("%s has no Kubernetes objects: give AFTER too", paths[0])
	case len(paths) == 1:
		again := *read[0]
		read[1] = &again
	case read[0].objects == nil && read[1].objects == nil && o.objects.given() != "":
		return read, fmt.Errorf("%s is for Kubernetes objects, and neither side has any", o.objects.given())
	case read[1].objects == nil && o.objects.changed():
		return read, fmt.Errorf("%s has no Kubernetes objects, and --to-node, --to-mode and --to-config are for those of AFTER", paths[1])
	}
	return read, nil
}

// given is a flag that was given; empty: none was.
func (o *objectsOptions) given() string {
	for _, f := range [...]struct{ name, value string }{
		{"--node", o.rules.node}, {"--mode", o.rules.mode}, {"--config", o.rules.config}, {"--cluster-cidr", o.rules.clusterCIDR},
		{"--to-node", o.toNode}, {"--to-mode", o.toMode}, {"--to-config", o.toConfig},
	} {
		if f.value != "" {
			return f.name
		}
	}
	return ""
}

// follow works out what the rules of a side's objects follow from. The other side may be a snapshot, which knows the name of its node.
func (o *diffOptions) follow(s streams, i int, side, other *diffSide) (err error) {
	options := o.objects.of(i)
	options.beside = side.objects.side.Cluster.Config
	if other.objects == nil && other.host.taken != nil {
		options.node = cmp.Or(options.node, other.host.taken.Hostname)
	}
	if options.mode != string(manifest.ModeNFTables) {
		options.tools = o.hosts.tools
	}
	if side.in.Dialect, err = parseTools(o.hosts.tools); err != nil {
		return err
	}
	side.in.Objects = side.objects.objects
	if err := options.complete(s, &side.in); err != nil {
		return fmt.Errorf("%s: %w", side.path, err)
	}
	return nil
}

// addressesOf are the addresses of a Node object.
func addressesOf(in sim.RulesInput) (out []netip.Addr) {
	for _, address := range in.Node.Status.Addresses {
		if a, err := netip.ParseAddr(address.Address); err == nil {
			out = append(out, a)
		}
	}
	return out
}

// base is a new host for kube-proxy to write its rules on: as that of the other side, or one of which nothing but the addresses is known.
// Of a text beside objects, the addresses of the Node are its own.
func (o *diffOptions) base(side, other *diffSide) (*hostSource, error) {
	if other.objects != nil {
		known := snapshot.RulesOptions{Local: addressesOf(side.in), Dialect: side.in.Dialect}
		host, err := snapshot.HostOfSave(side.path, strings.NewReader(""), known)
		return &hostSource{known: host}, err
	}
	tools, err := o.toolsOf(other)
	if err != nil {
		return nil, err
	}
	quiet := streams{errOut: io.Discard} // it was told when the side itself was read
	local := other.host.input.Local
	if other.host.saved != nil && len(local) == 0 {
		local = addressesOf(side.in)
		if other.host, err = o.hosts.source(quiet, other.readFrom, local, ""); err != nil {
			return nil, err
		}
	}
	return o.hosts.source(quiet, other.readFrom, local, tools)
}

// written is the host after kube-proxy has started and synced.
func (o *diffOptions) written(s streams, i int, side, other *diffSide) (*hostSource, error) {
	if err := o.follow(s, i, side, other); err != nil {
		return nil, err
	}
	base, err := o.base(side, other)
	if err != nil {
		return nil, err
	}
	in := side.in
	if in.Host, err = base.host(); err != nil {
		return nil, err
	}
	if _, err := syncedRules(s, in); err != nil {
		return nil, fmt.Errorf("%s: %w", side.path, err)
	}
	name := fmt.Sprintf("%s (%s, mode %s)", side.path, in.Node.Name, cmp.Or(in.Configuration.Mode, manifest.ModeIPTables))
	out := &hostSource{name: name, known: in.Host}
	if o.certificate == "" {
		return out, nil
	}
	taken, err := snapshot.Of(in.Host)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if err := taken.Write(&text, snapshot.YAML); err != nil {
		return nil, fmt.Errorf("%s: %w", side.path, err)
	}
	out.input = o.hosts.input(name, text.Bytes(), nil)
	return out, nil
}

// toolsOf are the iptables tools that kube-proxy uses on a host; empty where it has no rules of theirs.
func (o *diffOptions) toolsOf(side *diffSide) (netfilter.Dialect, error) {
	var texts []fakekernel.SaveText
	switch {
	case side.host.taken != nil:
		for _, rules := range side.host.taken.IPTables {
			texts = append(texts, fakekernel.SaveText{Family: rules.Family, Dialect: rules.Dialect, Text: rules.Save})
		}
	case snapshot.IsSave(side.text):
		texts = fakekernel.SaveTexts(string(side.text))
	}
	if len(texts) == 0 {
		return "", nil
	}
	return proxyDialect(side.path, texts, netfilter.Dialect(o.hosts.tools))
}

// onceEach passes on each message once: both sides may say the same.
type onceEach struct {
	to   io.Writer
	seen map[string]bool
}

func (w *onceEach) Write(message []byte) (int, error) {
	if w.seen == nil {
		w.seen = map[string]bool{}
	}
	if w.seen[string(message)] {
		return len(message), nil
	}
	w.seen[string(message)] = true
	return w.to.Write(message)
}
