package proxier_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/chainwalk/chainwalk/proxier"
	"github.com/chainwalk/chainwalk/proxier/iptables"
)

// recorder is an iptables.Interface that writes down what it is told. It knows
// no rules: of the nat table it keeps the names of the chains only.
type recorder struct {
	protocol iptables.Protocol
	calls    []string
	restored []string
	natNames []string
	// fail makes the call that begins with the key fail.
	fail map[string]error
	// randomFully is what HasRandomFully says.
	randomFully bool
	// monitored is called by Monitor.
	monitored func(reload func())
}

var errFault = errors.New("fault")

func newRecorder(protocol iptables.Protocol) *recorder {
	return &recorder{protocol: protocol, fail: map[string]error{}, randomFully: true}
}

func (r *recorder) note(format string, args ...any) error {
	call := fmt.Sprintf(format, args...)
	r.calls = append(r.calls, call)
	for prefix, err := range r.fail {
		if strings.HasPrefix(call, prefix) {
			return err
		}
	}
	return nil
}

func (r *recorder) EnsureChain(table iptables.Table, chain iptables.Chain) (bool, error) {
	return false, r.note("chain %s %s", table, chain)
}

func (r *recorder) EnsureRule(position iptables.RulePosition, table iptables.Table, chain iptables.Chain, args ...string) (bool, error) {
	return false, r.note("rule %s %s %s %q", table, position, chain, args)
}

func (r *recorder) SaveInto(table iptables.Table, buffer *bytes.Buffer) error {
	if err := r.note("save %s", table); err != nil {
		return err
	}
	fmt.Fprintf(buffer, "*%s\n", table)
	for _, name := range r.natNames {
		fmt.Fprintf(buffer, ":%s - [0:0]\n", name)
	}
	buffer.WriteString("COMMIT\n")
	return nil
}

func (r *recorder) RestoreAll(data []byte, flush iptables.FlushFlag, counters iptables.RestoreCountersFlag) error {
	if err := r.note("restore flush=%t counters=%t", flush, counters); err != nil {
		return err
	}
	r.restored = append(r.restored, string(data))
	_, nat, _ := strings.Cut(string(data), "*nat\n")
	for line := range strings.Lines(nat) {
		name := strings.TrimSuffix(strings.TrimPrefix(line, ":"), " - [0:0]\n")
		if strings.HasPrefix(line, ":") && !slices.Contains(r.natNames, name) {
			r.natNames = append(r.natNames, name)
		}
		if name, ok := strings.CutPrefix(line, "-X "); ok {
			r.natNames = slices.DeleteFunc(r.natNames, func(s string) bool { return s == strings.TrimSpace(name) })
		}
	}
	return nil
}

func (r *recorder) last() string {
	if len(r.restored) == 0 {
		return ""
	}
	return r.restored[len(r.restored)-1]
}

func (r *recorder) RuleExists(table iptables.Table, chain iptables.Chain, args ...string) (bool, error) {
	err := r.note("check %s %s %q", table, chain, args)
	return err == nil, nil
}

func (r *recorder) Monitor(
	canary iptables.Chain, tables []iptables.Table, rules []iptables.Rule, reload func(), interval time.Duration, _ <-chan struct{},
) {
	_ = r.note("monitor %s %v %d rules %s", canary, tables, len(rules), interval)
	r.monitored(reload)
}

func (r *recorder) Protocol() iptables.Protocol { return r.protocol }
func (r *recorder) IsIPv6() bool                { return r.protocol == iptables.ProtocolIPv6 }
func (r *recorder) HasRandomFully() bool        { return r.randomFully }

func (r *recorder) Present() error { panic("not expected") }

func (r *recorder) FlushChain(iptables.Table, iptables.Chain) error { panic("not expected") }

func (r *recorder) DeleteChain(iptables.Table, iptables.Chain) error { panic("not expected") }

func (r *recorder) ChainExists(iptables.Table, iptables.Chain) (bool, error) { panic("not expected") }

func (r *recorder) DeleteRule(iptables.Table, iptables.Chain, ...string) error {
	panic("not expected")
}

func (r *recorder) Restore(iptables.Table, []byte, iptables.FlushFlag, iptables.RestoreCountersFlag) error {
	panic("not expected")
}

// recorderOf are the tools of the Config.
func recorderOf(config proxier.Config) *recorder {
	return config.Rules.(proxier.IPTables).Tools.(*recorder)
}

// countWith has the rules count in the accounting objects.
func countWith(config *proxier.Config, counters proxier.NFAcct) {
	rules := config.Rules.(proxier.IPTables)
	rules.Counters = counters
	config.Rules = rules
}

// host is a node's Sysctls, Network and NFAcct.
type host struct {
	sysctls   map[string]int
	readOnly  bool
	addresses []netip.Addr
	noNetwork error
	nfacct    map[string]error
	ensured   []string
}

func (h *host) Get(name string) (int, error) {
	value, ok := h.sysctls[name]
	if !ok {
		return 0, fmt.Errorf("no sysctl %s", name)
	}
	return value, nil
}

func (h *host) Set(name string, value int) error {
	if h.readOnly {
		return errors.New("read-only file system")
	}
	h.sysctls[name] = value
	return nil
}

func (h *host) NodeAddresses() ([]netip.Addr, error) { return h.addresses, h.noNetwork }

func (h *host) Ensure(name string) error {
	h.ensured = append(h.ensured, name)
	return h.nfacct[name]
}

// discard is a recorder that counts the bytes of a restore. It keeps the text,
// as the nat table to save, only if it is told to.
type discard struct {
	*recorder
	keep  bool
	bytes int
	saved []byte
}

func (d *discard) SaveInto(_ iptables.Table, buffer *bytes.Buffer) error {
	_, err := buffer.Write(d.saved)
	return err
}

func (d *discard) RestoreAll(data []byte, _ iptables.FlushFlag, _ iptables.RestoreCountersFlag) error {
	d.recorder.calls = d.recorder.calls[:0]
	d.bytes = len(data)
	if d.keep {
		_, nat, _ := bytes.Cut(data, []byte("COMMIT\n"))
		d.saved = bytes.Clone(nat)
	}
	return nil
}
