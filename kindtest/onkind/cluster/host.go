package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/kind/pkg/cluster/nodes"
	"sigs.k8s.io/kind/pkg/cluster/nodeutils"
	"sigs.k8s.io/kind/pkg/exec"

	"github.com/chainwalk/chainwalk/internal/scratchimage"
)

// Where chainwalk is in each host, and where its agents' sockets are.
const (
	programPath  = "/usr/local/bin/chainwalk"
	socketFolder = "/run/chainwalk"
)

// run runs a command to its end and returns what it prints. Its error has what it said.
func run(cmd exec.Cmd, stdin io.Reader) (string, error) {
	var stdout, stderr bytes.Buffer
	if stdin != nil {
		cmd = cmd.SetStdin(stdin)
	}
	if err := cmd.SetStdout(&stdout).SetStderr(&stderr).Run(); err != nil {
		var failed *exec.RunError
		if errors.As(err, &failed) {
			err = fmt.Errorf("%s: %w", failed.PrettyCommand(), failed.Inner)
		}
		said := or(strings.TrimSpace(stderr.String()), stdout.String())
		return stdout.String(), fmt.Errorf("%w: %s", err, lastLines(said))
	}
	return stdout.String(), nil
}

// lastLines are the end of what a command said, where the reason is.
func lastLines(text string) string {
	const most = 20
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-most):], "\n")
}

// docker runs the docker command.
func docker(ctx context.Context, argv ...string) (string, error) {
	out, err := run(exec.CommandContext(ctx, "docker", argv...), nil)
	return strings.TrimSpace(out), err
}

// in runs a shell script in a host.
func in(ctx context.Context, host, script string, args ...string) (string, error) {
	argv := append([]string{"exec", "--interactive", "--privileged", host, "sh", "-s", "--"}, args...)
	return run(exec.CommandContext(ctx, "docker", argv...), strings.NewReader(script))
}

// inAll runs a script in every node at once.
func (m *members) inAll(ctx context.Context, script func(Node) string) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, node := range m.nodes {
		group.Go(func() error {
			_, err := in(ctx, node.Name, script(node))
			return err
		})
	}
	return group.Wait()
}

// copyProgram puts chainwalk into a host. A file beside is moved to its place, since the old one may be running.
func copyProgram(ctx context.Context, host, binary string) error {
	file, err := os.Open(binary)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	const script = `mkdir -p /run/chainwalk && cat > "$0.new" && chmod 755 "$0.new" && mv "$0.new" "$0"`
	_, err = run(exec.CommandContext(ctx, "docker", "exec", "--interactive", host, "sh", "-c", script, programPath), file)
	return err
}

// boundNode ends its commands when a context ends. What kind's packages run in a node knows no context.
type boundNode struct {
	nodes.Node
	ctx context.Context // of one call, for an interface that has none
}

func (n boundNode) Command(command string, args ...string) exec.Cmd {
	return n.CommandContext(n.ctx, command, args...)
}

// loadImage gives a node an image, unless it has it.
func loadImage(ctx context.Context, node nodes.Node, i *scratchimage.Image) error {
	bound := boundNode{node, ctx}
	known, err := exec.OutputLines(bound.Command("ctr", "--namespace=k8s.io", "images", "list", "--quiet", "name=="+i.String()))
	if err == nil && len(known) > 0 {
		return nil
	}
	reader, writer := io.Pipe()
	go func() { _ = writer.CloseWithError(i.Archive(writer)) }()
	err = nodeutils.LoadImageArchive(bound, reader)
	_ = reader.Close()
	if err != nil {
		return fmt.Errorf("loading the image %s into %s: %w", i, node, err)
	}
	return nil
}
