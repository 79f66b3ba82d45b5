package kind

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/chainwalk/chainwalk/kindtest/probe"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// sentinel knows when the proxies have seen all that was written: its service and its slices get another port each time, and once a node
// reaches it there, the node's proxy has written what it was told before. It works for any proxy.
type sentinel struct {
	backend *Backend
	ips     []netip.Addr // its cluster IPs, one for each family of the cluster
	number  int
	pace    pace
}

const (
	sentinelName      = "chainwalk-sentinel"
	sentinelNamespace = metav1.NamespaceSystem
	// sentinelPort is where the agent outside listens for it.
	sentinelPort uint16 = 7999
	// firstPort and ports give the ports that it takes in turn.
	firstPort, ports = 10000, 20000
)

// start makes the service, in place of one that an earlier run has left.
func (t *sentinel) start(ctx context.Context) error {
	if err := t.remove(ctx); err != nil {
		return err
	}
	policy := corev1.IPFamilyPolicyPreferDualStack
	service, err := t.backend.client.Services(sentinelNamespace).Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: sentinelName, Labels: map[string]string{sessionLabel: "sentinel"}},
		Spec:       corev1.ServiceSpec{IPFamilyPolicy: &policy, Ports: t.servicePorts()},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("make the sentinel: %w", err)
	}
	for _, text := range service.Spec.ClusterIPs {
		t.ips = append(t.ips, parse(text))
	}
	t.backend.facts.TakenIPs = append(t.backend.facts.TakenIPs, t.ips...)
	for _, ip := range t.ips {
		if _, err := t.backend.client.EndpointSlices(sentinelNamespace).Create(ctx, t.slice(ip),
			metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("make the sentinel: %w", err)
		}
	}
	links := newLinks(t.backend)
	lines := map[string][]string{}
	for _, ip := range t.ips { // to be told at once that its port is not there yet
		links.through(lines, ip)
		links.through(lines, nobody(ip.Is6()))
	}
	if err := links.batch(ctx, lines); err != nil {
		return err
	}
	return t.backend.outside().Serve(ctx, t.backend.facts.Outside.Name, t.listeners())
}

// listeners are where the agent outside must always listen.
func (t *sentinel) listeners() []probe.Listener {
	var out []probe.Listener
	for _, ip := range t.ips {
		out = append(out, probe.Listener{Proto: inet.TCP, Addr: ofFamily(t.backend.facts.Outside.Addresses, ip.Is6()), Port: sentinelPort})
	}
	return out
}

func (t *sentinel) portName() string { return fmt.Sprintf("s%d", t.number) }

func (t *sentinel) port() uint16 { return uint16(firstPort + t.number%ports) }

func (t *sentinel) servicePorts() []corev1.ServicePort {
	return []corev1.ServicePort{{Name: t.portName(), Protocol: corev1.ProtocolTCP, Port: int32(t.port())}}
}

func (t *sentinel) slice(ip netip.Addr) *discoveryv1.EndpointSlice {
	name, port, protocol, kind := t.portName(), int32(sentinelPort), corev1.ProtocolTCP, discoveryv1.AddressTypeIPv4
	if ip.Is6() {
		kind = discoveryv1.AddressTypeIPv6
	}
	endpoint := ofFamily(t.backend.facts.Outside.Addresses, ip.Is6())
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Name: sliceName(kind), Labels: map[string]string{discoveryv1.LabelServiceName: sentinelName, sessionLabel: "sentinel"},
		},
		AddressType: kind,
		Ports:       []discoveryv1.EndpointPort{{Name: &name, Port: &port, Protocol: &protocol}},
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{endpoint.String()}}},
	}
}

func sliceName(kind discoveryv1.AddressType) string {
	if kind == discoveryv1.AddressTypeIPv6 {
		return sentinelName + "-ipv6"
	}
	return sentinelName + "-ipv4"
}

// wait returns when the proxies of these nodes have written what was written to the API server before.
func (t *sentinel) wait(ctx context.Context, nodes []string) error {
	t.number++
	t.pace.begin()
	client := t.backend.client
	updateService := func() error {
		ports, err := json.Marshal(map[string]any{"spec": map[string]any{"ports": t.servicePorts()}})
		if err != nil {
			return err
		}
		_, err = client.Services(sentinelNamespace).Patch(ctx, sentinelName, types.MergePatchType, ports, metav1.PatchOptions{})
		return err
	}
	updateSlice := func(ip netip.Addr) error {
		_, err := client.EndpointSlices(sentinelNamespace).Update(ctx, t.slice(ip), metav1.UpdateOptions{})
		return err
	}
	if err := inParallel(updateService, func() error { return together(t.ips, updateSlice) }); err != nil {
		return fmt.Errorf("change the sentinel: %w", err)
	}
	return together(nodes, func(node string) error {
		return together(t.ips, func(ip netip.Addr) error { return t.reached(ctx, node, netip.AddrPortFrom(ip, t.port())) })
	})
}

// patience is how long a proxy may take to write what it was told, and lookAgain how soon to look again: not too often, as each look is
// work for a machine that has rules to write.
const (
	patience  = time.Minute
	lookAgain = 30 * time.Millisecond
)

// tries of the sentinel wait for an answer twice as long as the try before, within these bounds: a packet to a port that is not there yet
// may end nowhere.
const shortestTry, longestTry = 100 * time.Millisecond, time.Second

// reached waits until a node reaches the sentinel.
func (t *sentinel) reached(ctx context.Context, node string, at netip.AddrPort) error {
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	again := time.NewTicker(lookAgain)
	defer again.Stop()
	var last probe.Result
	for try := shortestTry; ; try = min(2*try, longestTry) {
		began := time.Now()
		results, err := t.backend.relays[node].Dial(waiting, node, probe.Dial{Proto: inet.TCP, To: at, Timeout: try})
		if err == nil && len(results) > 0 {
			last = results[0]
			if last.End == probe.Answered && last.Server == t.backend.facts.Outside.Name {
				t.pace.note(time.Since(began))
				return nil
			}
		}
		select {
		case <-waiting.Done():
			if ctx.Err() != nil {
				return errors.Join(context.Cause(ctx), err)
			}
			return errors.Join(fmt.Errorf("%s: the proxy has not written in %s what it was told: %s to the sentinel %s", node, patience, last.End,
				at), err)
		case <-again.C:
		}
	}
}

// remove takes the sentinel away.
func (t *sentinel) remove(ctx context.Context) error {
	services, slices := t.backend.client.Services(sentinelNamespace), t.backend.client.EndpointSlices(sentinelNamespace)
	now := metav1.DeleteOptions{}
	return inParallel(
		func() error { return gone(services.Delete(ctx, sentinelName, now)) },
		func() error { return gone(slices.Delete(ctx, sliceName(discoveryv1.AddressTypeIPv4), now)) },
		func() error { return gone(slices.Delete(ctx, sliceName(discoveryv1.AddressTypeIPv6), now)) },
	)
}

// gone is no error where what was to be deleted is not there.
func gone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
