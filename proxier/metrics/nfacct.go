package metrics

import (
	"fmt"

	"k8s.io/component-base/metrics"
	"k8s.io/klog/v2"

	"github.com/chainwalk/chainwalk/proxier/nfacct"
)

// PacketCounters reads the kernel's accounting objects (nfnetlink_acct).
type PacketCounters interface {
	// Counter returns the packets counted by the object so far.
	Counter(name string) (packets uint64, err error)
}

// RegisterPacketCounters registers the metrics that show the accounting
// objects. An object is read each time the metrics are scraped; one that
// cannot be read is left out of that scrape and logged.
func RegisterPacketCounters(registry Registry, counters PacketCounters, logger klog.Logger) error {
	collector := &packetCollector{counters: counters, logger: logger, descs: map[string]*metrics.Desc{
		nfacct.InvalidPackets: packetDesc("iptables_ct_state_invalid_dropped_packets_total",
			"Packets dropped because conntrack found them invalid, which may be replies that came too late"),
		nfacct.LocalhostPackets: packetDesc("iptables_localhost_nodeports_accepted_packets_total",
			"Packets accepted at a node port of a loopback address"),
	}}
	if err := registry.CustomRegister(collector); err != nil {
		return fmt.Errorf("metrics of accounting objects: %w", err)
	}
	return nil
}

func packetDesc(name, help string) *metrics.Desc {
	return metrics.NewDesc(metrics.BuildFQName("", subsystem, name), help, nil, nil, metrics.ALPHA, "")
}

// packetCollector shows accounting objects by name.
type packetCollector struct {
	metrics.BaseStableCollector
	descs    map[string]*metrics.Desc
	counters PacketCounters
	logger   klog.Logger
}

// DescribeWithStability implements metrics.StableCollector.
func (c *packetCollector) DescribeWithStability(descs chan<- *metrics.Desc) {
	for _, desc := range c.descs {
		descs <- desc
	}
}

// CollectWithStability implements metrics.StableCollector.
func (c *packetCollector) CollectWithStability(samples chan<- metrics.Metric) {
	for object, desc := range c.descs {
		packets, err := c.counters.Counter(object)
		if err != nil {
			c.logger.Error(err, "Leaving a metric out: its accounting object cannot be read", "object", object)
			continue
		}
		samples <- metrics.NewLazyConstMetric(desc, metrics.CounterValue, float64(packets))
	}
}
