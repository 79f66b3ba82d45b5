package kind

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/chainwalk/chainwalk/kindtest/probe"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// elsewhereZone is a zone that no node is in.
const elsewhereZone = "chainwalk-elsewhere"

// tries is how often a node must go to the endpoint of its zone in turn, where one that does not know its zone goes to each of two as
// often: it is wrong once in a million times.
const tries = 20

// zone waits until a node's proxy knows that its zone has changed. Node objects are watched apart from services, so the sentinel gets
// endpoints for zones: while the proxy takes the node to be in the new zone, or to have none any more, it goes to one that answers.
func (t *sentinel) zone(ctx context.Context, node, before string, now *string) error {
	t.number++
	good, bad := elsewhereZone, before
	if now != nil {
		good, bad = *now, elsewhereZone
	}
	if err := t.hints(ctx, good, bad); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return together(t.ips, func(ip netip.Addr) error { return t.zoneSeen(ctx, node, netip.AddrPortFrom(ip, t.port()), now != nil) })
}

// hints gives the sentinel an endpoint that answers for one zone, and one that does not for another.
func (t *sentinel) hints(ctx context.Context, good, bad string) error {
	services, endpointSlices := t.backend.client.Services(sentinelNamespace), t.backend.client.EndpointSlices(
		sentinelNamespace)
	service, err := services.Get(ctx, sentinelName, metav1.GetOptions{})
	if err != nil {
		return err
	}
	service.Spec.Ports = t.servicePorts()
	for _, ip := range t.ips {
		slice := t.slice(ip)
		slice.Endpoints[0].Hints = hint(good)
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{nobody(ip.Is6()).String()}, Hints: hint(bad)})
		if _, err := endpointSlices.Update(ctx, slice, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	_, err = services.Update(ctx, service, metav1.UpdateOptions{})
	return err
}

func hint(zone string) *discoveryv1.EndpointHints {
	return &discoveryv1.EndpointHints{ForZones: []discoveryv1.ForZone{{Name: zone}}}
}

// nobody is an address that the sentinel has for an endpoint that does not answer.
func nobody(v6 bool) netip.Addr { return lastOf(elsewhere(v6)).Prev() }

// zoneSeen waits until a node goes to the endpoint that answers: always, or at all.
func (t *sentinel) zoneSeen(ctx context.Context, node string, at netip.AddrPort, always bool) error {
	again := time.NewTicker(lookAgain)
	defer again.Stop()
	for {
		results, err := t.backend.relays[node].Dial(ctx, node, probe.Dial{Proto: inet.TCP, To: at, Times: tries, Timeout: time.Second})
		answered := 0
		for i := range results {
			if results[i].End == probe.Answered && results[i].Server == t.backend.facts.Outside.Name {
				answered++
			}
		}
		if err == nil && (answered == tries || !always && answered > 0) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: the proxy has not seen in %s that the node's zone has changed: %d of %d answers", node, patience, answered, tries)
		case <-again.C:
		}
	}
}
