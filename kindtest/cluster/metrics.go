package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"

	corev1 "k8s.io/api/core/v1"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Metrics are those of a node's proxy, in Prometheus' text format.
func (c *Cluster) Metrics(ctx context.Context, node string) ([]byte, error) {
	if c.foreign != nil {
		// kubeadm's kube-proxy offers them to its own machine only.
		text, err := in(ctx, node, "curl --silent --fail http://127.0.0.1:"+metricsPort+"/metrics")
		return []byte(text), err
	}
	pods, err := c.proxyPods(ctx)
	if err != nil {
		return nil, err
	}
	return c.metricsOf(ctx, pods[node], c.files[node].metricsPort)
}

// metricsOf asks through the API server, which reaches the nodes also where this machine does not.
func (c *Cluster) metricsOf(ctx context.Context, pod *corev1.Pod, port string) ([]byte, error) {
	if pod == nil {
		return nil, errors.New("there is no pod of the proxy")
	}
	return c.client.CoreV1().RESTClient().Get().Namespace(pod.Namespace).Resource("pods").Name(net.JoinHostPort(pod.Name, port)).
		SubResource("proxy").Suffix("metrics").DoRaw(ctx)
}

// process is what the metrics say of the process that has them.
type process struct {
	started float64 // in seconds of Unix, with a fraction
	synced  bool    // in every family that it writes
}

func (c *Cluster) processOf(ctx context.Context, pod *corev1.Pod, port string) (process, error) {
	text, err := c.metricsOf(ctx, pod, port)
	if err != nil {
		return process{}, err
	}
	return parseProcess(text, len(c.nodes[0].PodCIDRs))
}

// parseProcess reads metrics. There are as many times of a last sync as the proxy has families, or one in proxies that do not tell them apart; a
// family that has not synced has none, or 0.
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
