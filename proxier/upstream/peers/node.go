package peers

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"

	"k8s.io/utils/exec"

	"github.com/chainwalk/chainwalk/fakekernel"
	"github.com/chainwalk/chainwalk/internal/namespace"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/proxier/upstream/bothkernels"
	"github.com/chainwalk/chainwalk/proxier/upstream/cases"
	"github.com/chainwalk/chainwalk/proxier/upstream/kubenft"
)

// The node that both proxiers run on: with the name and the addresses of the first node of a scenario.
const (
	NodeName = "node1"
	// PodBridge is the device of pods, and PodDevicePrefix what the names of the others begin with.
	PodBridge       = "cni0"
	PodDevicePrefix = "veth"
)

// nodeIPv4 and nodeIPv6 are the node's main addresses, podsIPv4 and podsIPv6 the ranges of all pods.
var (
	nodeIPv4 = netip.MustParseAddr("192.168.0.2")
	nodeIPv6 = netip.MustParseAddr("2001:db8::2")
	podsIPv4 = netip.MustParsePrefix("10.244.0.0/16")
	podsIPv6 = netip.MustParsePrefix("fd00:10:244::/56")
)

// Addresses returns the addresses of all devices of the node, with their ranges.
func Addresses() []netip.Prefix {
	var list []netip.Prefix
	for _, text := range []string{
		"127.0.0.1/8", "::1/128", "192.168.0.2/24", "2001:db8::2/64", "fe80::1/64",
		"192.168.1.2/24", "2001:db8:1::2/64", "10.244.1.1/24", "fd00:10:244:1::1/64",
	} {
		list = append(list, netip.MustParsePrefix(text))
	}
	return list
}

// node is what a proxier may ask of the node besides iptables.
type node struct {
	settings *cases.Settings
	kernel   *fakekernel.Kernel
	programs exec.Interface // the tools: those of kernel, or of both kernels
	both     *bothkernels.Kernels
	real     *namespace.Namespace // nil: there is none
	sysctls  map[string]int
	flows    *Flows
}

// flush does what a reload of a firewall does: it empties the tables of mode iptables, and deletes those of mode nftables.
func (n *node) flush() {
	if n.settings.Mode != cases.NFTables {
		flushTables(n.kernel)
		return
	}
	for _, family := range []string{"ip", "ip6"} {
		_, _ = n.programs.Command(nft, "delete", "table", family, kubenft.Table).CombinedOutput() // it may be gone
	}
}

const (
	sysctlRouteLocalnet = "net/ipv4/conf/all/route_localnet"
	sysctlTCPLiberal    = "net/netfilter/nf_conntrack_tcp_be_liberal"
)

func newNode(settings *cases.Settings) (*node, error) {
	options := fakekernel.Options{}
	if settings.Dialect == "nft" {
		options.Dialect = netfilter.NFT
	}
	n := &node{settings: settings, kernel: fakekernel.New(options), sysctls: map[string]int{sysctlRouteLocalnet: 0}, flows: newFlows()}
	if settings.TCPLiberal != nil {
		n.sysctls[sysctlTCPLiberal] = *settings.TCPLiberal
	}
	n.programs = n.kernel.Exec()
	return n, n.join()
}

// join puts the real kernel beside the fake one, if the settings want that.
func (n *node) join() error {
	if !n.settings.Real {
		return nil
	}
	if n.settings.Mode != cases.NFTables {
		return errors.New("settings.real: only mode nftables runs on the real kernel too")
	}
	if lacks := namespace.Lacks("nft"); len(lacks) > 0 {
		return fmt.Errorf("settings.real: %s", strings.Join(lacks, ", "))
	}
	var err error
	if n.real, err = namespace.New(); err != nil {
		return err
	}
	n.both = bothkernels.New(n.real.Exec(), n.programs)
	n.programs = n.both.Exec()
	return nil
}

// kernels compares what both kernels hold, and returns all that they have answered differently since it was asked for last.
func (n *node) kernels() []string {
	if n.both == nil {
		return nil
	}
	_, _ = n.programs.Command(nft, "list", "ruleset").CombinedOutput() // what they say is compared
	return n.both.Differences()
}

// close gives the real kernel's namespace up.
func (n *node) close() error {
	if n.real == nil {
		return nil
	}
	return n.real.Close()
}

var errNoSysctl = errors.New("no such file or directory")

// GetSysctl is what kube-proxy calls.
func (n *node) GetSysctl(name string) (int, error) {
	value, ok := n.sysctls[name]
	if !ok {
		return -1, fmt.Errorf("sysctl %s: %w", name, errNoSysctl)
	}
	return value, nil
}

// SetSysctl is what kube-proxy calls.
func (n *node) SetSysctl(name string, value int) error {
	n.sysctls[name] = value
	return nil
}

// Get is what this project's proxier calls.
func (n *node) Get(name string) (int, error) { return n.GetSysctl(name) }

// Set is what this project's proxier calls.
func (n *node) Set(name string, value int) error { return n.SetSysctl(name, value) }

// InterfaceAddrs is what kube-proxy calls.
func (n *node) InterfaceAddrs() ([]net.Addr, error) {
	var list []net.Addr
	for _, prefix := range Addresses() {
		list = append(list, &net.IPNet{
			IP: prefix.Addr().AsSlice(), Mask: net.CIDRMask(prefix.Bits(), prefix.Addr().BitLen()),
		})
	}
	return list, nil
}

// NodeAddresses is what this project's proxier calls.
func (n *node) NodeAddresses() ([]netip.Addr, error) {
	var list []netip.Addr
	for _, prefix := range Addresses() {
		list = append(list, prefix.Addr())
	}
	return list, nil
}

var errAccounting = errors.New("netlink: operation not permitted")

// Ensure makes an accounting object, for both.
func (n *node) Ensure(name string) error {
	if n.settings.Accounting == "failing" {
		return errAccounting
	}
	if _, ok := n.kernel.Namespace().Accounts().Get(name); ok {
		return nil
	}
	return n.kernel.Namespace().Accounts().Add(name)
}
