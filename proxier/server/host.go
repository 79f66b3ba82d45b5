package server

import (
	"k8s.io/utils/clock"
	"k8s.io/utils/exec"

	"github.com/chainwalk/chainwalk/proxier"
	"github.com/chainwalk/chainwalk/proxier/conntrack"
	"github.com/chainwalk/chainwalk/proxier/iptables"
	"github.com/chainwalk/chainwalk/proxier/metrics"
	"github.com/chainwalk/chainwalk/proxier/nftables"
	"github.com/chainwalk/chainwalk/proxier/sysctl"
)

// Host is the machine that a proxy runs on. What is not said to be optional is
// required.
type Host struct {
	// Name is the host's name.
	Name string
	// Cores is the number of processors.
	Cores int
	// Exec runs the tools.
	Exec exec.Interface
	// IPTables are options of the tools. Clock and logger are set by Run.
	IPTables iptables.Options
	// NFTables are options of nft. Clock and logger are set by Run.
	NFTables nftables.Options
	// Settings are the kernel's.
	Settings Settings
	// Network knows the host's addresses.
	Network proxier.Network
	// Counters are accounting objects. Nil: rules do not count.
	Counters Counters
	// Conntrack holds the tracked connections. Nil: stale ones stay.
	Conntrack conntrack.Table
	// SetOOMScore sets the process's oom_score_adj. Nil: it stays.
	SetOOMScore func(score int) error
	// Clock is the real one by default.
	Clock clock.WithDelayedExecution
}

// Settings are kernel settings. sysctl.Files has those of a machine.
type Settings interface {
	proxier.Sysctls
	Apply([]sysctl.Setting) (sysctl.Report, error)
}

// Counters are the kernel's accounting objects.
type Counters interface {
	proxier.NFAcct
	metrics.PacketCounters
}
