package peers

import (
	"bytes"
	"time"

	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	"k8s.io/kubernetes/pkg/proxy"
	utiliptables "k8s.io/kubernetes/pkg/util/iptables"

	"github.com/chainwalk/chainwalk/proxier"
	"github.com/chainwalk/chainwalk/proxier/iptables"
	"github.com/chainwalk/chainwalk/proxier/nftables"
	"github.com/chainwalk/chainwalk/proxier/upstream/cases"
)

// Sink takes the place of the tools where only the proxier is measured: it counts what it is given and forgets it.
type Sink struct {
	// Bytes is the size of the last restore; 0 if there was none since it was set to 0.
	Bytes int
	// Saved is what every save of table nat prints.
	Saved []byte
	// Keep makes the sink take table nat of the next restore for Saved, or the next transaction of nft.
	Keep bool

	native native
}

func (s *Sink) restore(data []byte) error {
	s.Bytes = len(data)
	if s.Keep {
		_, nat, _ := bytes.Cut(data, []byte("COMMIT\n"))
		s.Saved = bytes.Clone(nat)
	}
	return nil
}

// Measured is a proxier of IPv4 over a Sink.
type Measured interface {
	OnServiceAdd(service *v1.Service)
	OnEndpointSliceAdd(slice *discovery.EndpointSlice)
	OnEndpointSliceUpdate(before, after *discovery.EndpointSlice)
	// Start says that all objects were delivered, and syncs for the first time.
	Start() error
	Sync() error
	// FullSync writes everything. With deleteUnused it looks for chains that are not used any longer, which this project's always
	// does and kube-proxy's in large clusters only once in syncPeriod.
	FullSync(deleteUnused bool) error
}

// measuredSettings are the settings of the measured proxiers.
var measuredSettings = cases.Settings{Detect: "cidr", MasqueradeBit: 14, Accounting: "absent"}

type kubeSink struct {
	utiliptables.Interface
	*Sink
}

func (kubeSink) EnsureChain(utiliptables.Table, utiliptables.Chain) (bool, error) { return true, nil }

func (kubeSink) EnsureRule(utiliptables.RulePosition, utiliptables.Table, utiliptables.Chain, ...string) (bool, error) {
	return true, nil
}

func (s kubeSink) SaveInto(_ utiliptables.Table, buffer *bytes.Buffer) error {
	_, err := buffer.Write(s.Saved)
	return err
}

func (s kubeSink) RestoreAll(data []byte, _ utiliptables.FlushFlag, _ utiliptables.RestoreCountersFlag) error {
	return s.restore(data)
}

func (kubeSink) HasRandomFully() bool { return true }

func (kubeSink) IsIPv6() bool { return false }

func (kubeSink) Monitor(utiliptables.Chain, []utiliptables.Table, func(), time.Duration, <-chan struct{}) {
}

// measuredKube is kube-proxy's proxier over a sink.
type measuredKube struct {
	proxy.Provider
	family *kubeFamily
}

// settingsOfMeasured are the settings of the measured proxiers in a mode.
func settingsOfMeasured(mode cases.Mode) *cases.Settings {
	s := measuredSettings
	s.Mode = mode
	return &s
}

// MeasuredKubeProxy returns kube-proxy's proxier of IPv4 over a sink.
func MeasuredKubeProxy(mode cases.Mode, sink *Sink) (Measured, error) {
	n, err := newNode(settingsOfMeasured(mode))
	if err != nil {
		return nil, err
	}
	s := kubeSurroundingsOf(v1.IPv4Protocol, n)
	if mode == cases.NFTables {
		s.native = sink.exec()
	} else {
		s.programs = kubeSink{Sink: sink}
	}
	f, err := s.family(v1.IPv4Protocol)
	if err != nil {
		return nil, err
	}
	return measuredKube{Provider: f.proxier, family: f}, nil
}

func (m measuredKube) Start() error {
	m.OnServiceSynced()
	m.OnEndpointSlicesSynced() // syncs
	return nil
}

func (m measuredKube) Sync() error { return m.family.sync() }

func (m measuredKube) FullSync(deleteUnused bool) error {
	if deleteUnused && !m.family.native {
		*field[time.Time](m.Provider, "lastIPTablesCleanup") = time.Time{}
	}
	m.family.forceFullSync()
	return m.family.sync()
}

type ourSink struct {
	iptables.Interface
	*Sink
}

func (ourSink) EnsureChain(iptables.Table, iptables.Chain) (bool, error) { return true, nil }

func (ourSink) EnsureRule(iptables.RulePosition, iptables.Table, iptables.Chain, ...string) (bool, error) {
	return true, nil
}

func (s ourSink) SaveInto(_ iptables.Table, buffer *bytes.Buffer) error {
	_, err := buffer.Write(s.Saved)
	return err
}

func (s ourSink) RestoreAll(data []byte, _ iptables.FlushFlag, _ iptables.RestoreCountersFlag) error {
	return s.restore(data)
}

func (ourSink) HasRandomFully() bool { return true }

func (ourSink) Protocol() iptables.Protocol { return iptables.ProtocolIPv4 }

// measuredChainwalk is this project's proxier over a sink.
type measuredChainwalk struct{ *proxier.Proxier }

// MeasuredChainwalk returns this project's proxier of IPv4 over a sink. It has a real clock, as kube-proxy's.
func MeasuredChainwalk(mode cases.Mode, sink *Sink) (Measured, error) {
	n, err := newNode(settingsOfMeasured(mode))
	if err != nil {
		return nil, err
	}
	c := Chainwalk{node: n}
	rules := c.counting(ourSink{Sink: sink})
	if mode == cases.NFTables {
		runner, err := nftables.New(sink.exec(), v1.IPv4Protocol, nftables.Options{})
		if err != nil {
			return nil, err
		}
		rules = proxier.NFTables{Tools: runner}
	}
	config := c.config(v1.IPv4Protocol, rules)
	config.Clock = nil
	p, err := proxier.New(config)
	return measuredChainwalk{p}, err
}

func (m measuredChainwalk) Start() error {
	m.OnServiceSynced()
	m.OnEndpointSlicesSynced()
	return m.Proxier.Sync()
}

func (m measuredChainwalk) FullSync(bool) error { return m.SyncAll() }
