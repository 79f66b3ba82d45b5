package proxier

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/chainwalk/chainwalk/internal/mark"
	"github.com/chainwalk/chainwalk/proxier/conntrack"
	"github.com/chainwalk/chainwalk/proxier/internal/model"
)

// Config is all that a Proxier is told. FromConfiguration makes one from a
// configuration file of kube-proxy.
type Config struct {
	// Family is the address family to serve. Required.
	Family v1.IPFamily
	// NodeName is this node's name in the API. Endpoints with this node name
	// are local. Required.
	NodeName string
	// NodeIP is this node's main address of the family. If it is in a
	// loadBalancerSourceRange, the load balancer VIPs are allowed as sources
	// too. Required; loopback if it is not known.
	NodeIP netip.Addr

	// Rules says in which language the rules are written, and has the tools for it.
	// Required.
	Rules Rules
	// Sysctls is required.
	Sysctls Sysctls
	// Network is required if NodePortAddresses leaves addresses out.
	Network Network

	// LocalDetector recognises traffic of this node's pods.
	LocalDetector LocalDetector
	// MasqueradeAll masquerades all traffic to cluster IPs.
	MasqueradeAll bool
	// MasqueradeBit of the packet mark asks for masquerading: 0 to 31. Nobody
	// else may use it.
	MasqueradeBit int
	// NodePortAddresses are the ranges of the node's addresses that serve node
	// ports. Those of the other family are ignored. None of this family means
	// every address.
	NodePortAddresses []netip.Prefix
	// LocalhostNodePorts serves node ports at 127.0.0.0/8 too, if
	// NodePortAddresses allows these addresses. It makes the kernel route
	// them. It has no effect on IPv6.
	LocalhostNodePorts bool
	// IgnoreExternalIPs leaves the externalIPs of Services alone (feature gate
	// AllowServiceExternalIPs, KEP-5707).
	IgnoreExternalIPs bool
	// ConntrackTCPBeLiberal makes the kernel take TCP segments outside of the
	// window for valid ones. No rule then drops invalid packets. If it is
	// false, the kernel's setting stays and decides.
	ConntrackTCPBeLiberal bool

	// SyncPeriod is how long chains that are out of use may stay in a cluster of
	// more than 1,000 endpoints; 30 seconds by default. In a smaller one they go at
	// once.
	SyncPeriod time.Duration
	// NoHourlyFullSync leaves out the hourly full sync while the cluster has more than 1,000 endpoints, as kube-proxy does since v1.36.
	// What somebody else did to rules of a service then stays until that service changes, or the tables are flushed.
	NoHourlyFullSync bool

	// Conntrack is where stale entries of UDP services are deleted after the rules
	// were written. Nil: nowhere.
	Conntrack conntrack.Table
	// Metrics, Health and ServiceHealth are told what goes on. Each may be nil.
	Metrics       Metrics
	Health        Health
	ServiceHealth ServiceHealthChecks

	// Changed is called when there is a new reason to sync, after the first
	// objects were delivered. It is called by the goroutine that delivers the
	// event and without locks, and must not block. May be nil.
	Changed func()
	// Clock is the real one by default.
	Clock clock.PassiveClock
	// Marks counts the decisions that the Proxier takes, for who judges it. Nil, as in
	// production: nobody counts.
	Marks *mark.Recorder
	// Logger gets what Sync does not return as an error, and what of an object
	// cannot be used. The zero value is silent.
	Logger klog.Logger
}

// ServesLocalhostNodePorts says whether node ports are served at loopback
// addresses, which needs the kernel to route these.
func (c *Config) ServesLocalhostNodePorts() bool {
	rules := c.modelConfig()
	return rules.ServesLocalhost()
}

// NodePortListeners returns nil if node ports are served at every address of the
// node, else a function that returns the addresses at which they are served now.
func (c *Config) NodePortListeners() func() ([]netip.Addr, error) {
	rules, network := c.modelConfig(), c.Network
	if rules.ServesAllAddresses() {
		return nil
	}
	return func() ([]netip.Addr, error) {
		addresses, err := network.NodeAddresses()
		if err != nil {
			return nil, err
		}
		return model.DecideNodePorts(&rules, model.Node{Addresses: addresses}).Addresses, nil
	}
}

// Times and sizes that kube-proxy has too.
const (
	defaultSyncPeriod = 30 * time.Second
	// fullSyncPeriod bounds how long a rule that somebody else removed may be
	// missing.
	fullSyncPeriod = time.Hour
	// largeCluster is the number of endpoints above which rules for endpoints go
	// without comments and unused chains wait for SyncPeriod.
	largeCluster = 1000
)

// validate reports all that is wrong with the Config at once.
func (c *Config) validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	known := c.Family == v1.IPv4Protocol || c.Family == v1.IPv6Protocol
	check(known, "Family is %q: must be IPv4 or IPv6", c.Family)
	check(c.NodeName != "", "NodeName is missing")
	check(c.NodeIP.IsValid(), "NodeIP is missing: give a loopback address if it is not known")
	check(c.Rules != nil, "Rules is missing: say which, for example IPTables")
	check(c.Sysctls != nil, "Sysctls is missing")
	for _, prefix := range c.NodePortAddresses {
		check(prefix.IsValid(), "NodePortAddresses: empty range")
	}
	check(c.LocalDetector.spellable(), "LocalDetector: device name has spaces, quotes or control characters: %q",
		c.LocalDetector.device())
	check(c.MasqueradeBit >= 0 && c.MasqueradeBit <= 31, "MasqueradeBit is %d: must be 0 to 31", c.MasqueradeBit)
	if known {
		check(!c.NodeIP.IsValid() || c.inFamily(c.NodeIP), "NodeIP %s is not %s", c.NodeIP, c.Family)
		if c.Rules != nil {
			if err := c.Rules.check(c); err != nil {
				errs = append(errs, fmt.Errorf("Rules: %w", err))
			}
		}
		pods := c.LocalDetector.traffic.Source
		check(!pods.IsValid() || c.inFamily(pods.Addr()), "LocalDetector: range %s is not %s", pods, c.Family)
		rules := c.modelConfig()
		check(rules.ServesAllAddresses() || c.Network != nil,
			"Network is missing: NodePortAddresses cannot be looked up without it")
	}
	return errors.Join(errs...)
}

func (c *Config) inFamily(address netip.Addr) bool {
	return address.Is6() == (c.Family == v1.IPv6Protocol)
}

// modelConfig returns what the routing decisions need of the Config.
func (c *Config) modelConfig() model.Config {
	config := model.Config{
		Family:             c.Family,
		MasqueradeAll:      c.MasqueradeAll,
		LocalTraffic:       c.LocalDetector.traffic,
		LocalhostNodePorts: c.LocalhostNodePorts,
	}
	for _, prefix := range c.NodePortAddresses {
		if c.inFamily(prefix.Addr()) {
			config.NodePortPrefixes = append(config.NodePortPrefixes, prefix.Masked())
		}
	}
	return config
}
