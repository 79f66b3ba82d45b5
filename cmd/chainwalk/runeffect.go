package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/fakekernel"
	"github.com/chainwalk/chainwalk/internal/document"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
	"github.com/chainwalk/chainwalk/scenarios/format/mistake"
	"github.com/chainwalk/chainwalk/scenarios/users/live"
)

// isObjects says whether a path of --diff is of objects: a folder, or a file in YAML. Else it is a build of chainwalk.
func isObjects(path string) bool {
	info, err := os.Stat(path)
	return err == nil && (info.IsDir() || scenarios.IsYAML(path))
}

// diffObjects says what a change of objects, configurations and rules does to packets: of those in one file or folder, and in another one.
func diffObjects(ctx context.Context, s streams, args []string, o runOptions) error {
	if err := o.checkObjects(args); err != nil {
		return err
	}
	var sides [2]live.Side
	var notes []string
	var mistakes [2][]mistake.Mistake
	for i, path := range []string{o.diff, args[0]} {
		r := sideReader{ignored: &o.ignored}
		if err := r.read(path); err != nil {
			return fmt.Errorf("--diff: %w", err)
		}
		o.ignored.warn(s)
		sides[i], mistakes[i] = r.side, mistake.InObjects(r.objects)
		notes = append(notes, r.notes...)
	}
	effect, err := live.EffectOf(ctx, sides[0], sides[1])
	if err != nil {
		return fmt.Errorf("--diff: %w", err)
	}
	effect.Notes = append(notes, effect.Notes...)
	effect.Mistakes = newMistakes(mistakes[0], mistakes[1])
	write := map[string]func() error{
		"text": func() error { return effect.WriteText(s.out) }, "json": func() error { return effect.WriteJSON(s.out) },
		"markdown": func() error { return effect.WriteMarkdown(s.out) },
	}[o.output]
	if err := write(); err != nil {
		return err
	}
	if len(effect.Changes) > 0 {
		return errNotHeld
	}
	return nil
}

// newMistakes are the mistakes of after that before does not have, at whatever line they are. A service without a cluster IP is no mistake:
// nobody has applied these files yet.
func newMistakes(before, after []mistake.Mistake) (out []string) {
	for _, m := range after {
		old := slices.ContainsFunc(before, func(b mistake.Mistake) bool { return b.Kind == m.Kind && b.Object == m.Object && b.Msg == m.Msg })
		if !old && m.Kind != mistake.ClusterIPMissing {
			out = append(out, m.String())
		}
	}
	return out
}

// checkObjects refuses what --diff of objects cannot be with.
func (o *runOptions) checkObjects(args []string) error {
	switch {
	case len(args) != 1 || !isObjects(args[0]):
		return errors.New("--diff BEFORE AFTER: of objects, give two folders or files in YAML and nothing else")
	case !slices.Contains([]string{"text", "json", "markdown"}, o.output):
		return fmt.Errorf("-o %s: with --diff of objects want text, json or markdown", o.output)
	case o.backend != scenarios.BackendSim:
		return fmt.Errorf("--on %s: --diff of objects runs in the simulation", o.backend)
	case o.watch || o.list || o.failFast || o.match != "":
		return errors.New("--diff of objects runs no scenario: leave out --watch, --list, --fail-fast and --run")
	}
	return nil
}

// sideReader reads what is known of a cluster before or after a change.
type sideReader struct {
	ignored *ignored
	side    live.Side
	objects []manifest.Object // with the places where they stand
	notes   []string
}

// read reads a file, or all files below a folder whose names say that they may be meant.
func (r *sideReader) read(path string) error {
	r.side.Cluster = &live.Cluster{}
	return filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		isRules := slices.Contains([]string{".v4", ".v6", ".rules"}, filepath.Ext(name))
		if name != path && !scenarios.IsYAML(name) && !isRules {
			return nil
		}
		text, err := os.ReadFile(name) //nolint:gosec // it is the file that was asked for
		if err != nil {
			return err
		}
		if isRules {
			return r.rules(name, string(text))
		}
		return r.document(name, text)
	})
}

// readText reads the text of a file.
func (r *sideReader) readText(name string, text []byte) error {
	r.side.Cluster = &live.Cluster{}
	return r.document(name, text)
}

// rules takes what iptables-save printed: rules that every node has beside kube-proxy's.
func (r *sideReader) rules(name, text string) error {
	if !snapshot.IsSave([]byte(text)) {
		r.notes = append(r.notes, name+" is not what iptables-save prints: it is not read")
		return nil
	}
	for _, save := range fakekernel.SaveTexts(text) {
		if save.Family == 0 && filepath.Ext(name) == ".v6" {
			save.Family = netfilter.IPv6
		}
		family, asFamily := scenarios.FamilyIPv4, netfilter.IPv4
		if save.Family == netfilter.IPv6 {
			family, asFamily = scenarios.FamilyIPv6, netfilter.IPv6
		}
		dialect := save.Dialect
		if dialect == "" {
			dialect = netfilter.Legacy
		}
		if _, err := fakekernel.ReadSave(name, save.Text, asFamily, dialect); err != nil {
			return err
		}
		r.side.Rules = append(r.side.Rules, scenarios.Preload{Family: family, Save: save.Text})
	}
	return nil
}

// document takes a file in YAML: objects, a configuration of kube-proxy, a NodeSnapshot. It passes over everything else.
func (r *sideReader) document(name string, text []byte) error {
	docs, err := document.Parse(name, bytes.NewReader(text))
	if err != nil || len(docs) == 0 {
		return err
	}
	cluster := r.side.Cluster
	switch has := func(words string) bool { return strings.Contains("\n"+string(text), "\n"+words) }; {
	case has("kind: KubeProxyConfiguration"):
		if cluster.Config != nil {
			return fmt.Errorf("%s: a second KubeProxyConfiguration: give the one that the nodes have", name)
		}
		cluster.Config, err = manifest.ReadKubeProxyConfiguration(name, bytes.NewReader(text))
	case manifest.AreObjects(docs):
		var objects []manifest.Object
		if objects, err = manifest.Decode(name, docs, r.ignored.ignore()); err != nil && !r.ignored.on {
			err = fmt.Errorf("%w\n--ignore-unknown passes over what is not known, and says what that is", err)
		}
		r.objects = append(r.objects, objects...)
		for _, o := range objects {
			cluster.Objects = append(cluster.Objects, o.WithoutSource())
		}
	case has("hostname:"):
		var node *snapshot.NodeSnapshot
		node, err = snapshot.Read(name, bytes.NewReader(text))
		cluster.Snapshots = append(cluster.Snapshots, node)
	case has("steps:"): // a scenario, which run runs
	default:
		r.notes = append(r.notes, name+" has no objects: it is not read")
	}
	return err
}
