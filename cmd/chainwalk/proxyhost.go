package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/exec"

	"github.com/chainwalk/chainwalk/fakeipt/toolstate"
	"github.com/chainwalk/chainwalk/fakenft/nftstate"
	"github.com/chainwalk/chainwalk/internal/toolexec"
	"github.com/chainwalk/chainwalk/proxier"
	"github.com/chainwalk/chainwalk/proxier/conntrack"
	"github.com/chainwalk/chainwalk/proxier/nfacct"
	"github.com/chainwalk/chainwalk/proxier/nftables"
	"github.com/chainwalk/chainwalk/proxier/server"
	"github.com/chainwalk/chainwalk/proxier/sysctl"
)

// proxyHost is this machine, with the fake kernel instead of its own if that is asked for.
func proxyHost(fake bool) (host *server.Host, closeHost func(), err error) {
	name, err := os.Hostname()
	if err != nil {
		return nil, nil, err
	}
	if fake {
		store, err := toolstate.FromEnvironment()
		if err != nil {
			return nil, nil, err
		}
		nft, err := nftStore(store)
		if err != nil {
			return nil, nil, err
		}
		tools := &toolexec.Exec{Tools: storedTools{store, nft}, Known: isTool}
		return &server.Host{
			Name: name, Cores: 1, Exec: tools,
			Settings: &fakeSettings{values: map[string]int{}}, Network: noDevices{}, Counters: toolCounters{proxier.NFAcctTool{Exec: tools}},
			Conntrack: noConnections{},
		}, func() {}, nil
	}
	files, err := sysctl.Open("/")
	if err != nil {
		return nil, nil, err
	}
	nft, err := nftOptions()
	if err != nil {
		return nil, nil, err
	}
	host = &server.Host{
		Name: name, Cores: files.Cores(), Exec: exec.New(), NFTables: nft,
		Settings: files, Network: devices{}, Conntrack: conntrack.NewKernel(), SetOOMScore: setOOMScore,
	}
	if counters, err := nfacct.New(); err == nil {
		host.Counters = kernelCounters{counters}
	}
	return host, func() { _ = files.Close() }, nil
}

// storedTools are the tools of both languages over one stored state.
type storedTools struct {
	iptables *toolstate.Store
	nft      *nftstate.Store
}

// Run runs a tool.
func (t storedTools) Run(argv []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if nftstate.IsTool(argv[0]) {
		return t.nft.Run(argv, stdin, stdout, stderr)
	}
	return t.iptables.Run(argv, stdin, stdout, stderr)
}

// skipKernelCheck is the variable by which kube-proxy's mode nftables takes any kernel.
const skipKernelCheck = "KUBE_PROXY_NFTABLES_SKIP_KERNEL_VERSION_CHECK"

// nftOptions has mode nftables look at the release of this machine's kernel.
func nftOptions() (nftables.Options, error) {
	if os.Getenv(skipKernelCheck) != "" {
		return nftables.Options{}, nil
	}
	release, err := os.ReadFile("/proc/sys/kernel/osrelease")
	return nftables.Options{KernelRelease: strings.TrimSpace(string(release))}, err
}

func setOOMScore(score int) error {
	return os.WriteFile("/proc/self/oom_score_adj", []byte(strconv.Itoa(score)), 0)
}

// devices knows the addresses of this machine.
type devices struct{}

func (devices) NodeAddresses() ([]netip.Addr, error) {
	given, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	var addresses []netip.Addr
	for _, address := range given {
		if prefix, err := netip.ParsePrefix(address.String()); err == nil {
			addresses = append(addresses, prefix.Addr())
		}
	}
	return addresses, nil
}

// kernelCounters reads the kernel's accounting objects.
type kernelCounters struct{ nfacct.Kernel }

func (c kernelCounters) Counter(name string) (uint64, error) {
	counter, err := c.Get(name)
	return counter.Packets, err
}

// toolCounters reads accounting objects with the tool nfacct.
type toolCounters struct{ proxier.NFAcctTool }

func (c toolCounters) Counter(name string) (packets uint64, err error) {
	output, err := c.Exec.Command("nfacct", "get", name).CombinedOutput()
	if err == nil {
		_, err = fmt.Sscanf(string(output), "{ pkts = %d,", &packets)
	}
	return packets, err
}

// noDevices is the network of the fake kernel. It has the addresses of the Node object, if that is in a file.
type noDevices struct{ addresses []netip.Addr }

func (n noDevices) NodeAddresses() ([]netip.Addr, error) {
	if len(n.addresses) == 0 {
		return nil, errors.New("the fake kernel has no devices: let nodePortAddresses be \"all\", or give the Node object in a file")
	}
	return n.addresses, nil
}

// noConnections is the conntrack table of the fake kernel, which no packet passes.
type noConnections struct{}

func (noConnections) Walk(v1.IPFamily, func(conntrack.Entry)) error      { return nil }
func (noConnections) Delete(v1.IPFamily, []conntrack.Entry) (int, error) { return 0, nil }

// fakeSettings are the fake kernel's. They last as long as the process.
type fakeSettings struct {
	lock   sync.Mutex
	values map[string]int
}

func (f *fakeSettings) Get(name string) (int, error) {
	f.lock.Lock()
	defer f.lock.Unlock()
	return f.values[name], nil
}

func (f *fakeSettings) Set(name string, value int) error {
	f.lock.Lock()
	defer f.lock.Unlock()
	f.values[name] = value
	return nil
}

// Apply takes any setting: none has an effect on the fake kernel's rules.
func (f *fakeSettings) Apply(settings []sysctl.Setting) (sysctl.Report, error) {
	return sysctl.Report{Changed: settings}, nil
}
