package gather

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	"sigs.k8s.io/yaml"

	"github.com/chainwalk/chainwalk/packetsim/snapshot"
)

// What a folder holds. Of a node there is one of two files, by its name: its snapshot, or why there is none.
const (
	objectsFile = "objects.yaml"
	proxyFile   = "kube-proxy.yaml"
	readmeFile  = "README"
	nodesFolder = "nodes"
	nodeSuffix  = ".yaml"
	whySuffix   = ".missing"
)

// CheckFolder refuses a folder that Save would not write to: one that holds something.
func CheckFolder(folder string) error {
	entries, err := os.ReadDir(folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case len(entries) > 0:
		return fmt.Errorf("%s: the folder is not empty: name another one, so that nothing is mixed with what is there", folder)
	}
	return nil
}

// Save writes what is known of a cluster to a folder, which it makes, and which must not hold anything yet. Errors name the folder or a
// file in it, and no flag.
func (g *Gathered) Save(folder string, when time.Time) error {
	if err := CheckFolder(folder); err != nil {
		return err
	}
	files, err := g.files(when)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(folder, nodesFolder), 0o755); err != nil {
		return err
	}
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(folder, f.name), f.text, 0o600); err != nil { // addresses and names of a cluster are for its owner
			return err
		}
	}
	return nil
}

// file is one of the folder.
type file struct {
	name string
	text []byte
}

func (g *Gathered) files(when time.Time) ([]file, error) {
	var objects, config bytes.Buffer
	for _, o := range g.Objects {
		into := &objects
		if _, ok := o.Object.(*corev1.ConfigMap); ok {
			into = &config
		}
		text, err := yaml.Marshal(o.Object)
		if err != nil {
			return nil, fmt.Errorf("write %s: %w", o.Ref(), err)
		}
		into.WriteString("---\n")
		into.Write(text)
	}
	out := []file{{readmeFile, []byte(g.readme(when))}, {objectsFile, objects.Bytes()}}
	if config.Len() > 0 {
		out = append(out, file{proxyFile, config.Bytes()})
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if wrong := validation.NameIsDNSSubdomain(n.Name, false); len(wrong) > 0 {
			return nil, fmt.Errorf("a node is called %q, which is no name for a file: %s", n.Name, strings.Join(wrong, ", "))
		}
		if n.Snapshot == nil {
			out = append(out, file{filepath.Join(nodesFolder, n.Name+whySuffix), []byte(n.Why + "\n")})
			continue
		}
		text, err := n.text()
		if err != nil {
			return nil, err
		}
		out = append(out, file{filepath.Join(nodesFolder, n.Name+nodeSuffix), text})
	}
	return out, nil
}

// text is the snapshot of a node as a file.
func (n *Node) text() ([]byte, error) {
	if n.Text != nil {
		return n.Text, nil
	}
	var b bytes.Buffer
	if err := n.Snapshot.Write(&b, snapshot.YAML); err != nil {
		return nil, fmt.Errorf("snapshot of %s: %w", n.Name, err)
	}
	return b.Bytes(), nil
}

// readme says what the folder is.
func (g *Gathered) readme(when time.Time) string {
	var b strings.Builder
	gathered := "as chainwalk gathered it at " + when.UTC().Format(time.RFC3339)
	switch {
	case g.Foretold:
		gathered = "after a change, with nodes as chainwalk migrate foretold them at " + when.UTC().Format(time.RFC3339) + ", not as gathered"
	case g.Anonymous: // the time would tell by how much those in the files are moved
		gathered = "that chainwalk has given other names, addresses and times"
	}
	fmt.Fprintf(&b, "A cluster %s: %d of %d nodes. chainwalk doctor --saved FOLDER says what is wrong with it.\n", gathered,
		len(g.Snapshots()), len(g.Nodes))
	for i := range g.Nodes {
		if n := &g.Nodes[i]; n.Snapshot == nil {
			fmt.Fprintf(&b, "%s gave no snapshot: %s\n", n.Name, n.Why)
		}
	}
	for _, note := range g.Notes {
		fmt.Fprintf(&b, "%s\n", note)
	}
	return b.String()
}

// Folder is what Save wrote, as files for those who read files.
type Folder struct {
	// Objects are the files with objects, Snapshots those of the nodes.
	Objects, Snapshots []string
	// Silent are the nodes without a snapshot, with the reasons.
	Silent map[string]string
}

// ReadFolder finds the files of a folder that Save wrote.
func ReadFolder(path string) (*Folder, error) {
	out := &Folder{Silent: map[string]string{}}
	objects := filepath.Join(path, objectsFile)
	if _, err := os.Stat(objects); err != nil {
		return nil, fmt.Errorf("--saved %s: want a folder that chainwalk gather --save has written: %w", path, err)
	}
	out.Objects = []string{objects}
	if config := filepath.Join(path, proxyFile); exists(config) {
		out.Objects = append(out.Objects, config)
	}
	entries, err := os.ReadDir(filepath.Join(path, nodesFolder))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("--saved: %w", err)
	}
	for _, entry := range entries {
		name := filepath.Join(path, nodesFolder, entry.Name())
		if node, ok := strings.CutSuffix(entry.Name(), whySuffix); ok {
			why, err := os.ReadFile(name)
			if err != nil {
				return nil, fmt.Errorf("--saved: %w", err)
			}
			out.Silent[node] = strings.TrimSpace(string(why))
		} else if strings.HasSuffix(entry.Name(), nodeSuffix) {
			out.Snapshots = append(out.Snapshots, name)
		}
	}
	slices.Sort(out.Snapshots)
	return out, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
