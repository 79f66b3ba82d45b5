package proxier

import (
	"errors"
	"fmt"
	"time"

	"k8s.io/klog/v2"

	"github.com/chainwalk/chainwalk/proxier/internal/ipt"
	"github.com/chainwalk/chainwalk/proxier/internal/model"
	"github.com/chainwalk/chainwalk/proxier/internal/nft"
	"github.com/chainwalk/chainwalk/proxier/iptables"
	"github.com/chainwalk/chainwalk/proxier/nftables"
)

// Rules says in which language a Proxier writes its rules, and has the tools for
// it. IPTables and NFTables are.
type Rules interface {
	// check says why the rules cannot be those of the Config.
	check(config *Config) error
	newWriter(config *Config) writer
	// needsServiceCIDRs says whether the rules depend on the ranges that cluster IPs come from.
	needsServiceCIDRs() bool
}

// writer makes the kernel hold the rules for the decisions of the model, in one
// language. What it needs for that beyond the decisions is its own matter: chains
// out of use, counters, what it remembers of the kernel. Its methods are called one
// after the other, but Monitor beside the others.
type writer interface {
	// Full makes the kernel hold the rules for the Model, whatever it held before. It
	// returns what the kernel holds rules for then.
	Full(m *model.Model) (model.Totals, error)
	// Partial makes the kernel hold the rules for the last Model with the changes, if
	// nobody else wrote since. After an error Full follows. It may not keep the changes.
	Partial(changes *model.Changes) (model.Totals, error)
	// Intact says whether the rules are still there, as far as one can tell by little.
	// It may say that they are not and return an error for what it could not look at.
	Intact() (bool, error)
	// Monitor calls lost each time somebody else removed the rules, until stop is closed.
	// It looks for that once in every interval.
	Monitor(lost func(), interval time.Duration, stop <-chan struct{})
	// Cleanup removes the rules of a proxy in this language, whoever wrote them. Errors
	// are logged.
	Cleanup() (failed bool)
}

// IPTables are the Rules of iptables.
type IPTables struct {
	// Tools are the tools of the family. Required.
	Tools iptables.Interface
	// Counters may be nil: no rule then counts.
	Counters NFAcct
}

func (r IPTables) check(config *Config) error {
	switch {
	case r.Tools == nil:
		return errors.New("IPTables has no Tools")
	case string(r.Tools.Protocol()) != string(config.Family):
		return fmt.Errorf("IPTables runs the wrong tools: the family is %s", config.Family)
	}
	return nil
}

func (IPTables) needsServiceCIDRs() bool { return false }

func (r IPTables) newWriter(config *Config) writer {
	return ipt.New(ipt.Config{
		Tools:          r.Tools,
		Counters:       r.Counters,
		Metrics:        config.Metrics,
		MasqueradeMark: 1 << config.MasqueradeBit,
		LargeCluster:   largeCluster,
		UnusedPeriod:   config.SyncPeriod,
		Clock:          config.Clock,
		Logger:         config.Logger,
		Marks:          config.Marks,
	})
}

// NFTables are the Rules of nftables.
type NFTables struct {
	// Tools run nft for the family. Required.
	Tools nftables.Interface
}

func (r NFTables) check(config *Config) error {
	switch {
	case r.Tools == nil:
		return errors.New("NFTables has no Tools")
	case r.Tools.Family() != config.Family:
		return fmt.Errorf("NFTables runs nft for the wrong family: the family is %s", config.Family)
	case config.LocalhostNodePorts:
		return errors.New("NFTables cannot serve node ports at loopback addresses: turn LocalhostNodePorts off")
	}
	return nil
}

func (NFTables) needsServiceCIDRs() bool { return true }

func (r NFTables) newWriter(config *Config) writer {
	return nft.New(nft.Config{
		Tools:          r.Tools,
		Metrics:        config.Metrics,
		MasqueradeMark: 1 << config.MasqueradeBit,
		RetryPeriod:    config.SyncPeriod,
		Clock:          config.Clock,
		Logger:         config.Logger,
		Marks:          config.Marks,
	})
}

// Cleanup removes the rules that a proxy has left in the kernel, this one or
// kube-proxy. Rules of others stay. Sysctls, conntrack entries and nfacct objects
// stay too: their earlier values are not known. Rules that cannot be removed do not keep
// the others: errors are logged, and failed says whether there was one. It can be
// called again.
func Cleanup(logger klog.Logger, rules ...Rules) (failed bool) {
	for _, r := range rules {
		if r.newWriter(&Config{Logger: logger}).Cleanup() {
			failed = true
		}
	}
	return failed
}
