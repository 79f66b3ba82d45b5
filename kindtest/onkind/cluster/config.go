package cluster

import (
	"errors"
	"fmt"
	"io"
	"os"

	"sigs.k8s.io/kind/pkg/log"

	"github.com/chainwalk/chainwalk/internal/lazyregexp"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios"
)

// Config says which cluster is wanted.
type Config struct {
	// Name of the cluster. Empty: chainwalk.
	Name string
	// Existing uses the cluster of that name and never deletes it. If it has a DaemonSet kube-system/kube-proxy, that one stays its proxy, and
	// Proxy does not count.
	Existing bool
	// Keep leaves the cluster and all that is in it when it is closed.
	Keep bool
	// Image of the nodes. Empty: the one that kind publishes for its version, unless only that of package nodeimage is on this machine.
	Image string
	// Family of the addresses of pods and services. Empty: both.
	Family scenarios.IPFamily
	// Workers are the nodes beside the control plane. 0: three.
	Workers int
	// Tool is the variant of iptables on the nodes. Empty: nft. It does not count for an existing cluster.
	Dialect netfilter.Dialect
	// Proxy is the service proxy.
	Proxy Proxy
	// Pool is how many pods there are on each node. 0: eight.
	Pool int
	// Binary is the path of chainwalk's binary for Linux, which must be static.
	Binary string
	// Provision makes the containers of the nodes, as provision.Nodes does: that function, or a program that calls it. An existing cluster
	// needs none.
	Provision func(config []byte, logger log.Logger) error
	// Artifacts is the folder that Start exports to before it takes away what it could not bring to an end. Empty: nothing is exported.
	Artifacts string
	// Progress is told what happens, line by line. Nil: nobody is.
	Progress io.Writer
}

// Proxy is the service proxy of a cluster.
type Proxy struct {
	// Name is chainwalk or kube-proxy. Empty: chainwalk.
	Name string
	// Mode of the proxy, as in a KubeProxyConfiguration. Empty: iptables.
	Mode string
	// Binary is the path of the proxy's static binary for Linux. Empty: the Binary of Config for chainwalk, the node image's own for
	// kube-proxy.
	Binary string
}

// The proxies.
const (
	Chainwalk = "chainwalk"
	KubeProxy = "kube-proxy"
)

// DefaultName is the name of a cluster that is given none.
const DefaultName = "chainwalk"

// names is what kind and Docker allow, and what leaves room for "-control-plane" in a host name.
var names = lazyregexp.New(`^[a-z0-9][a-z0-9.-]{0,48}$`)

// withDefaults fills in what a user left out, and refuses what cannot be.
func (c Config) withDefaults() (Config, error) {
	c.Name = or(c.Name, DefaultName)
	c.Family = or(c.Family, scenarios.FamilyDual)
	c.Workers = or(c.Workers, 3)
	c.Dialect = or(c.Dialect, netfilter.NFT)
	c.Pool = or(c.Pool, 8)
	c.Progress = or(c.Progress, io.Discard)
	c.Proxy.Name = or(c.Proxy.Name, Chainwalk)
	c.Proxy.Mode = or(c.Proxy.Mode, "iptables")
	if c.Proxy.Name == Chainwalk {
		c.Proxy.Binary = or(c.Proxy.Binary, c.Binary)
	}
	return c, c.validate()
}

func or[T comparable](value, fallback T) T {
	var zero T
	if value == zero {
		return fallback
	}
	return value
}

func (c Config) validate() error {
	var wrong []error
	refuse := func(format string, values ...any) { wrong = append(wrong, fmt.Errorf("cluster: "+format, values...)) }
	if !names().MatchString(c.Name) {
		refuse("the name %q is not one for a host: use small letters, digits, dots and hyphens, 49 at most", c.Name)
	}
	switch c.Family {
	case scenarios.FamilyIPv4, scenarios.FamilyIPv6, scenarios.FamilyDual:
	default:
		refuse("the family is %q: want ipv4, ipv6 or dual", c.Family)
	}
	switch c.Dialect {
	case netfilter.NFT, netfilter.Legacy:
	default:
		refuse("the tool is %q: want nft or legacy", c.Dialect)
	}
	if name := c.Proxy.Name; name != Chainwalk && name != KubeProxy {
		refuse("the proxy is %q: want chainwalk or kube-proxy", name)
	}
	if mode := c.Proxy.Mode; mode != "iptables" && mode != "nftables" {
		refuse("the mode of %s is %q: want iptables or nftables", c.Proxy.Name, mode)
	}
	if c.Provision == nil && !c.Existing {
		refuse("nothing makes the nodes: set Provision, or use an existing cluster")
	}
	if c.Workers < 0 || c.Workers > 9 {
		refuse("%d workers: want 1 to 9", c.Workers)
	}
	if c.Pool < 0 || c.Pool > 50 {
		refuse("%d pods on each node: want 1 to 50", c.Pool)
	}
	for about, path := range map[string]string{"chainwalk": c.Binary, "the proxy": c.Proxy.Binary} {
		if path == "" && about != "chainwalk" {
			continue // the node image's own
		}
		if _, err := os.Stat(path); err != nil {
			refuse("no binary of %s, build it with CGO_ENABLED=0 GOOS=linux go build ./cmd/chainwalk: %w", about, err)
		}
	}
	return errors.Join(wrong...)
}
