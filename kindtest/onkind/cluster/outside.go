package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"strings"
)

// Labels of containers: kind's own for a node's cluster, and ours for the container outside.
const (
	outsideLabel = "dev.chainwalk.cluster"
)

// network is the Docker network of kind's nodes.
func network() string { return or(os.Getenv("KIND_EXPERIMENTAL_DOCKER_NETWORK"), "kind") }

// noteNetwork remembers whether kind's network was there before, since then it stays.
func (c *Cluster) noteNetwork(ctx context.Context) error {
	names, err := docker(ctx, "network", "ls", "--format", "{{.Name}}", "--filter", "name=^"+network()+"$")
	c.madeNetwork = err == nil && names == ""
	return err
}

func (c *Cluster) outsideName() string { return c.config.Name + "-outside" }

// startOutside makes the container outside from the image of the nodes, which has tools for its routes. It has all privileges, since its
// agent gives itself addresses and sends packets as they are.
func (c *Cluster) startOutside(ctx context.Context) error {
	name := c.outsideName()
	if _, err := docker(ctx, "rm", "--force", "--volumes", name); err != nil && !strings.Contains(err.Error(), "No such container") {
		return err
	}
	image, err := docker(ctx, "inspect", "--format", "{{.Image}}", c.nodes[0].Name)
	if err != nil {
		return err
	}
	c.madeOutside = true
	_, err = docker(ctx, "run", "--detach", "--name", name, "--hostname", name, "--label", outsideLabel+"="+c.config.Name,
		"--network", network(), "--privileged", "--sysctl", "net.ipv6.conf.all.disable_ipv6=0",
		"--entrypoint", "/usr/bin/sleep", image, "infinity")
	if err != nil {
		return err
	}
	if err := copyProgram(ctx, name, c.config.Binary); err != nil {
		return err
	}
	if c.outside, err = inspectOutside(ctx, name); err != nil {
		return err
	}
	if _, err := in(ctx, name, routeScript(name, c.nodes)); err != nil {
		return err
	}
	argv := append([]string{"exec", "--detach", name, programPath}, agentArgs(name)...)
	if _, err := docker(ctx, argv...); err != nil {
		return err
	}
	_, err = in(ctx, name, waitForSockets([]string{socketOf(name)}))
	return err
}

// inspectOutside reads the addresses that Docker gave a container.
func inspectOutside(ctx context.Context, name string) (Outside, error) {
	text, err := docker(ctx, "inspect", "--format", "{{json .NetworkSettings.Networks}}", name)
	if err != nil {
		return Outside{}, err
	}
	return parseOutside(name, text)
}

func parseOutside(name, text string) (Outside, error) {
	var networks map[string]struct{ IPAddress, GlobalIPv6Address string }
	if err := json.Unmarshal([]byte(text), &networks); err != nil {
		return Outside{}, fmt.Errorf("what Docker says of the networks of %s: %w", name, err)
	}
	outside := Outside{Name: name}
	for _, n := range networks {
		for _, given := range []string{n.IPAddress, n.GlobalIPv6Address} {
			if given == "" {
				continue
			}
			address, err := netip.ParseAddr(given)
			if err != nil {
				return Outside{}, fmt.Errorf("address of %s: %w", name, err)
			}
			outside.Addresses = append(outside.Addresses, address)
		}
	}
	return outside, nil
}

// agentUnit is the systemd unit of a node's agent.
const agentUnit = "chainwalk-agent"

// startAgents starts an agent on each node's own network.
func (c *Cluster) startAgents(ctx context.Context) error {
	return c.inAll(ctx, agentScript)
}

func agentScript(node Node) string {
	return fmt.Sprintf("systemctl stop %[1]s 2>/dev/null || true\nsystemd-run --quiet --collect --unit=%[1]s %[2]s %[3]s\n%[4]s",
		agentUnit, programPath, strings.Join(agentArgs(node.Name), " "), waitForSockets([]string{socketOf(node.Name)}))
}
