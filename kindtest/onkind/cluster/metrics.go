package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Metrics are the metrics of a node's proxy, in Prometheus' text format.
func (p *nodeProxies) Metrics(ctx context.Context, node string) ([]byte, error) {
	if p.foreign != nil {
		return p.metricsOf(ctx, node, metricsPort)
	}
	return p.metricsOf(ctx, node, p.files[node].metricsPort)
}

// metricsOf asks on the node, on its own loopback: kubeadm's kube-proxy offers them nowhere else, and this machine may not reach the node.
func (p *nodeProxies) metricsOf(ctx context.Context, node, port string) ([]byte, error) {
	hand, err := p.hand(ctx, node)
	if err != nil {
		return nil, err
	}
	loopback := "127.0.0.1"
	if i := slices.IndexFunc(p.nodes, func(n Node) bool { return n.Name == node }); i >= 0 && p.nodes[i].Addresses[0].Is6() {
		loopback = "::1"
	}
	got, err := hand.Fetch(ctx, "http://"+net.JoinHostPort(loopback, port)+"/metrics")
	switch {
	case err != nil:
		return nil, err
	case got.Refused:
		return nil, fmt.Errorf("nobody listens on port %s", port)
	case got.Status != http.StatusOK:
		return nil, fmt.Errorf("port %s says %d: %s", port, got.Status, lastLines(got.Body))
	}
	return []byte(got.Body), nil
}

// process is what the metrics say of the process that has them.
type process struct {
	started float64 // in seconds of Unix, with a fraction
	synced  bool    // in every family that it writes
}

func (p *nodeProxies) processOf(ctx context.Context, node, port string) (process, error) {
	text, err := p.metricsOf(ctx, node, port)
	if err != nil {
		return process{}, err
	}
	return parseProcess(text, len(p.nodes[0].PodCIDRs))
}

// parseProcess reads metrics. There are as many times of a last sync as the proxy has families, or one in proxies that do not tell them
// apart; a family that has not synced has none, or 0.
func parseProcess(text []byte, families int) (process, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	metrics, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return process{}, fmt.Errorf("the metrics: %w", err)
	}
	started := metrics["process_start_time_seconds"].GetMetric()
	if len(started) != 1 {
		return process{}, errors.New("the metrics have no process_start_time_seconds")
	}
	found := process{started: started[0].GetGauge().GetValue()}
	times := metrics["kubeproxy_sync_proxy_rules_last_timestamp_seconds"].GetMetric()
	synced := 0
	for _, metric := range times {
		if metric.GetGauge().GetValue() == 0 {
			continue
		}
		synced++
		if len(metric.GetLabel()) == 0 {
			synced = families
		}
	}
	found.synced = synced >= families
	return found, nil
}

// portOf is the port of an address.
func portOf(address string) string {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		panic(fmt.Sprintf("cluster: %q is no address with a port", address))
	}
	return port
}
