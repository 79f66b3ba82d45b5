//go:build clusters

package migration

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/yaml"

	"github.com/chainwalk/chainwalk/internal/overlay"
	"github.com/chainwalk/chainwalk/kindtest/onkind/beside"
	"github.com/chainwalk/chainwalk/kindtest/onkind/cluster"
	"github.com/chainwalk/chainwalk/kindtest/onkind/kind"
	"github.com/chainwalk/chainwalk/kindtest/onkind/nodeimage"
	"github.com/chainwalk/chainwalk/kindtest/onkind/provision"
	"github.com/chainwalk/chainwalk/kindtest/probe"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/users/allpackets"
	"github.com/chainwalk/chainwalk/scenarios/users/live"
)

const variable = "CHAINWALK_MIGRATION"

// proxy is the proxy of the clusters. The kube-proxy is the one that was built for the node image here; where none was, it is the node
// image's own.
func proxy(t *testing.T) cluster.Proxy {
	t.Helper()
	p := cluster.Proxy{Name: cmp.Or(os.Getenv("PROXY"), cluster.KubeProxy)}
	if p.Name != cluster.KubeProxy {
		return p
	}
	root, err := overlay.Root()
	require.NoError(t, err)
	cache, err := nodeimage.Cache()
	require.NoError(t, err)
	binaries, err := nodeimage.BuiltBinaries(t.Context(), root, cache)
	if errors.Is(err, fs.ErrNotExist) {
		return p
	}
	require.NoError(t, err)
	p.Binary = binaries.Path(cluster.KubeProxy)
	return p
}

// bench is a cluster whose kube-proxies change their mode, with what is foretold of it. It runs scenarios as package beside does, but for
// the prediction: before a change it is made from the nodes as they are, and afterwards from the nodes that chainwalk migrate foretold.
type bench struct {
	*beside.Backend
	t         *testing.T
	cluster   *cluster.Cluster
	machines  beside.Machines
	chainwalk string // the program
	folder    string // where what is foretold and seen is left, for people
	// foretold are the nodes after the last change as they were foretold before it, nil before the first one.
	foretold map[string]*snapshot.NodeSnapshot
	changes  []change
}

// change is one that was made.
type change struct {
	to     string
	answer live.Migration
	// compared is what chainwalk diff says of each node, as it was foretold and as it is.
	compared map[string]*allpackets.Diff
}

// built is the program as it is released, which the nodes run too.
func built(t *testing.T) string {
	t.Helper()
	root, err := overlay.Root()
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "chainwalk")
	require.NoError(t, cluster.BuildProgram(t.Context(), root, "chainwalk", path))
	return path
}

// newBench makes a cluster with a proxy in a mode, until the end of the test.
func newBench(t *testing.T, chainwalk, mode string) *bench {
	t.Helper()
	root, err := overlay.Root()
	require.NoError(t, err)
	b := &bench{t: t, chainwalk: chainwalk, folder: filepath.Join(root, "bin", "migrate-e2e", "from-"+mode)}
	require.NoError(t, os.RemoveAll(b.folder))
	own := proxy(t)
	own.Mode = mode
	b.cluster, err = cluster.Start(t.Context(), cluster.Config{
		Name: fmt.Sprintf("migrate-%s", mode), Binary: chainwalk, Workers: 1, Provision: provision.Nodes, Image: os.Getenv("NODE_IMAGE"),
		Progress: t.Output(), Proxy: own,
	})
	require.NoError(t, err)
	atEnd(t, b.cluster.Close)
	lasting := context.WithoutCancel(t.Context()) // until they are closed
	b.machines, err = beside.MachinesOf(lasting, b.cluster)
	require.NoError(t, err)
	atEnd(t, func(context.Context) error { return b.machines.Close() })
	backend, err := kind.New(lasting, b.cluster, kind.Options{})
	require.NoError(t, err)
	atEnd(t, backend.Close)
	b.Backend = beside.New(backend, b, "")
	return b
}

// atEnd does something at the end of a test that may take a while.
func atEnd(t *testing.T, do func(context.Context) error) {
	t.Helper()
	t.Cleanup(func() {
		ctx, done := context.WithTimeout(context.Background(), 2*time.Minute)
		defer done()
		require.NoError(t, do(ctx))
	})
}

// Unsupported refuses nothing: what kind cannot do by itself, a change of the mode, is done here.
func (*bench) Unsupported(*scenarios.Scenario) string { return "" }

// Snapshot is a node as it is, or after a change as it was foretold.
func (b *bench) Snapshot(ctx context.Context, node string) (*snapshot.NodeSnapshot, error) {
	if b.foretold != nil {
		return b.foretold[node], nil
	}
	return b.machines.Snapshot(ctx, node)
}

// Start starts a session that can change the mode.
func (b *bench) Start(ctx context.Context, c *scenarios.Cluster) (scenarios.Session, error) {
	s, err := b.Backend.Start(ctx, c)
	if err != nil {
		return nil, err
	}
	return &session{Session: s, bench: b, cluster: c}, nil
}

type session struct {
	scenarios.Session
	bench   *bench
	cluster *scenarios.Cluster
}

// Restart changes the mode of all nodes to the one that their configurations now have.
func (s *session) Restart(ctx context.Context, nodes []string) error {
	mode := string(s.cluster.Configs[nodes[0]].Mode)
	if mode == s.bench.cluster.Mode() || len(nodes) < len(s.bench.cluster.Nodes()) {
		return errors.New("the tests change the mode of all nodes at once, and restart nothing otherwise")
	}
	return s.bench.change(ctx, mode)
}

// change foretells a change of the mode, makes it, and compares the nodes with what was foretold.
func (b *bench) change(ctx context.Context, mode string) error {
	c := change{to: mode, compared: map[string]*allpackets.Diff{}}
	folder := filepath.Join(b.folder, fmt.Sprintf("%d-to-%s", len(b.changes)+1, mode))
	objects, err := b.kubectl(ctx, "get", "services,endpointslices,nodes,pods,servicecidrs", "-A", "-o", "yaml")
	if err != nil {
		return err
	}
	args := []string{"migrate", "-f", filepath.Join(folder, "objects.yaml"), "--config", filepath.Join(folder, "config.yaml"), "--to", mode,
		"--save-after", filepath.Join(folder, "foretold"), "-o", "json"}
	files := map[string][]byte{"objects.yaml": objects, "config.yaml": []byte(b.cluster.Configuration(b.cluster.Nodes()[0].Name))}
	if err := b.take(ctx, files); err != nil {
		return err
	}
	for _, node := range b.cluster.Nodes() {
		args = append(args, "--node", filepath.Join(folder, node.Name+".yaml"))
	}
	if err := write(folder, files); err != nil {
		return err
	}
	if err := b.run(ctx, &c.answer, args...); err != nil {
		return err
	}

	if err := b.cluster.ChangeMode(ctx, mode); err != nil {
		return err
	}
	b.NoteMode()
	if err := b.untilCleaned(ctx, mode); err != nil {
		return err
	}

	now := map[string][]byte{}
	if err := b.take(ctx, now); err != nil {
		return err
	}
	after := filepath.Join(folder, "now")
	if err := write(after, now); err != nil {
		return err
	}
	b.foretold = map[string]*snapshot.NodeSnapshot{}
	for _, node := range b.cluster.Nodes() {
		foretold, seen := filepath.Join(folder, "foretold", "nodes", node.Name+".yaml"), filepath.Join(after, node.Name+".yaml")
		text, err := os.ReadFile(foretold)
		if err != nil {
			return err
		}
		if b.foretold[node.Name], err = snapshot.Read(foretold, bytes.NewReader(text)); err != nil {
			return err
		}
		c.compared[node.Name] = &allpackets.Diff{}
		if err := b.run(ctx, c.compared[node.Name], "diff", foretold, seen, "-o", "json"); err != nil {
			return err
		}
	}
	b.changes = append(b.changes, c)
	return nil
}

// rulesOfOther prints something as long as a node has rules of kube-proxy in the other mode than one.
var rulesOfOther = map[string]string{
	"nftables": "{ iptables-save; ip6tables-save; } | grep -m1 KUBE-SERVICES || true",
	"iptables": "nft list tables | grep kube-proxy || true",
}

// untilCleaned waits until the proxies have removed the rules of the former mode: chainwalk's does it after its first sync.
func (b *bench) untilCleaned(ctx context.Context, mode string) error {
	for _, node := range b.cluster.Nodes() {
		err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
			done, err := b.machines.Machine(node.Name).Exec(ctx, probe.Command{Argv: []string{"sh", "-c", rulesOfOther[mode]}})
			return done.Stdout == "", err
		})
		if err != nil {
			return fmt.Errorf("%s still has rules of the mode before: %w", node.Name, err)
		}
	}
	return nil
}

// take puts snapshots of all nodes into files, by name.
func (b *bench) take(ctx context.Context, files map[string][]byte) error {
	for _, node := range b.cluster.Nodes() {
		taken, err := b.machines.Snapshot(ctx, node.Name)
		if err != nil {
			return err
		}
		if files[node.Name+".yaml"], err = yaml.Marshal(taken); err != nil {
			return err
		}
	}
	return nil
}

func write(folder string, files map[string][]byte) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// kubectl runs the control plane's, with all rights.
func (b *bench) kubectl(ctx context.Context, args ...string) ([]byte, error) {
	args = append([]string{"exec", b.cluster.Nodes()[0].Name, "kubectl", "--kubeconfig=/etc/kubernetes/admin.conf"}, args...)
	out, err := exec.CommandContext(ctx, "docker", args...).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	return out, err
}

// run runs chainwalk, and reads the JSON that it prints.
func (b *bench) run(ctx context.Context, into any, args ...string) error {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, b.chainwalk, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return err
	}
	b.t.Logf("chainwalk %s: status %d\n%s", strings.Join(args, " "), cmd.ProcessState.ExitCode(), stderr.String())
	if err := json.Unmarshal(stdout.Bytes(), into); err != nil {
		return fmt.Errorf("chainwalk %s: %w: %s", args[0], err, stderr.String())
	}
	return nil
}
