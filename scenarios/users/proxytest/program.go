package proxytest

import (
	"bytes"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios/world/tools"
)

// Program runs a program that runs iptables, as it is: with a PATH on which the tools are chainwalk's own, over the node's
// rules. What it has written is on the node afterwards.
type Program struct {
	// Chainwalk is the path of the chainwalk binary, which is the tools.
	Chainwalk string
	// Folder is a folder of the program's own, such as testing.T.TempDir().
	Folder string
}

// toolNames are the tools that a program finds.
var toolNames = [...]string{
	"iptables", "iptables-save", "iptables-restore", "ip6tables", "ip6tables-save", "ip6tables-restore", "ipset", "nfacct",
}

// Run runs a command on a node. Its environment is added to; its exit status is in the error, with what it printed on
// standard error if nobody else takes that.
func (p Program) Run(n *Node, cmd *osexec.Cmd) error {
	folder := filepath.Join(p.Folder, n.Name)
	bin := filepath.Join(folder, "bin")
	if err := p.link(bin); err != nil {
		return err
	}
	kernel := n.cluster.world.Kernel(n.Name)
	environ := append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"),
		"CHAINWALK_STATE="+filepath.Join(folder, "state"), "CHAINWALK_TOOLS="+string(kernel.Dialect()))
	for _, family := range []netfilter.Family{netfilter.IPv4, netfilter.IPv6} {
		save, err := tools.Run(kernel.Exec(), "", tool(family)+"-save", "-c")
		if err != nil {
			return err
		}
		if err := command(bin, environ, bytes.NewBufferString(save), nil, tool(family)+"-restore", "-c"); err != nil {
			return err
		}
	}
	var errOut bytes.Buffer
	if cmd.Env == nil {
		cmd.Env = environ
	} else {
		cmd.Env = append(cmd.Env, environ[len(environ)-3:]...)
	}
	if cmd.Stderr == nil {
		cmd.Stderr = &errOut
	}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w: %s", filepath.Base(cmd.Path), err, strings.TrimSpace(errOut.String()))
	}
	for _, family := range []netfilter.Family{netfilter.IPv4, netfilter.IPv6} {
		var save bytes.Buffer
		if err := command(bin, environ, nil, &save, tool(family)+"-save", "-c"); err != nil {
			return err
		}
		if err := kernel.Load(family, tool(family)+"-save", &save); err != nil {
			return err
		}
	}
	return nil
}

func tool(family netfilter.Family) string {
	if family == netfilter.IPv6 {
		return "ip6tables"
	}
	return "iptables"
}

// link makes the tools in a folder.
func (p Program) link(bin string) error {
	binary, err := filepath.Abs(p.Chainwalk)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return err
	}
	for _, name := range toolNames {
		if err := os.Symlink(binary, filepath.Join(bin, name)); err != nil && !os.IsExist(err) {
			return err
		}
	}
	return nil
}

// command runs a tool of the folder.
func command(bin string, environ []string, in, out *bytes.Buffer, name string, args ...string) error {
	cmd := osexec.Command(filepath.Join(bin, name), args...)
	var errOut bytes.Buffer
	cmd.Env, cmd.Stderr = environ, &errOut
	if in != nil {
		cmd.Stdin = in
	}
	if out != nil {
		cmd.Stdout = out
	}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, strings.TrimSpace(errOut.String()))
	}
	return nil
}
