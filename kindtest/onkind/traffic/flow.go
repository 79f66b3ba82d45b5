package traffic

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/kindtest/probe"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// recovers is how long a flow may be unanswered while what it depends on changes: the time to tell the proxy, and to write.
const recovers = 5 * time.Second

// endpointGoes has a client ask again and again from one UDP socket. The endpoint that answers goes, with its socket; without a look at
// conntrack the kernel would send the flow there for as long as the client asks. It has to come to the endpoint that is left, and to stay
// there.
func endpointGoes(ctx context.Context, s *stage) (told string, err error) {
	const name, port = "traffic-udp", 5353
	client := s.pods(s.workers()[0].Name)[0]
	a, b := s.pods(s.workers()[0].Name)[1], s.pods(s.workers()[len(s.workers())-1].Name)[2]
	for _, server := range []agent{a, b} {
		if err := s.serve(ctx, server, inet.UDP, port); err != nil {
			return "", err
		}
	}
	service, err := s.service(ctx, name, corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: port, Protocol: corev1.ProtocolUDP}}})
	if err != nil {
		return "", err
	}
	if err := s.slice(ctx, name, corev1.ProtocolUDP, port, target{agent: a}, target{agent: b}); err != nil {
		return "", err
	}
	to := clusterIP(service)
	if err := s.answers(ctx, client, inet.UDP, to, a.name, b.name); err != nil {
		return "", err
	}
	l, err := s.begin(ctx, client, probe.Load{
		Name: name, Kind: probe.Lasting, Proto: inet.UDP, To: to, Every: 50 * time.Millisecond, Timeout: time.Second,
	})
	if err != nil {
		return "", err
	}
	was, err := l.answeredBy(ctx, "")
	if err != nil {
		return "", err
	}
	left, gone := a, b
	if was == a.name {
		left, gone = b, a
	}
	if err := s.Machine(gone.machine).Serve(ctx, gone.name, nil); err != nil {
		return "", err
	}
	if err := s.slice(ctx, name, corev1.ProtocolUDP, port, target{agent: left}); err != nil {
		return "", err
	}
	began := time.Now()
	if _, err := l.answeredBy(ctx, left.name); err != nil {
		return "", fmt.Errorf("the flow stays with %s, which is no endpoint any more: %w", gone.name, err)
	}
	took := time.Since(began)
	if err := l.goOn(ctx); err != nil {
		return "", err
	}
	asked, err := l.stop(ctx)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d datagrams, first to %s, %.1f s after the change to %s", len(asked), was, took.Seconds(), left.name),
		staysWith(asked, left.name)
}

// answeredBy waits until the last question of a load that has an end was answered, by a server if one is given, and says by whom.
func (l *load) answeredBy(ctx context.Context, server string) (who string, err error) {
	last := 0
	err = until(ctx, recovers, "the flow is answered by "+server, func(ctx context.Context) (bool, error) {
		asked, err := l.stage.Machine(l.from.machine).Asked(ctx, l.from.name, l.name, last)
		if err != nil || len(asked) == 0 {
			return false, err
		}
		last += len(asked)
		r := &asked[len(asked)-1]
		who = r.Server
		return r.End == probe.Answered && (server == "" || server == r.Server), nil
	})
	return who, err
}

// more is how many questions a load asks after a change, to see that what has come of it lasts.
const more = 40

// goOn waits until a load has asked so many questions more.
func (l *load) goOn(ctx context.Context) error {
	known := -1
	return until(ctx, time.Minute, "the load has gone on", func(ctx context.Context) (bool, error) {
		asked, err := l.stage.Machine(l.from.machine).Asked(ctx, l.from.name, l.name, max(known, 0))
		if known < 0 {
			known = len(asked)
			return false, err
		}
		return len(asked) >= more, err
	})
}

// staysWith fails if somebody else answers after a server has for the first time, or nobody does.
func staysWith(asked []probe.Asked, server string) error {
	began := false
	for i := range asked {
		a := &asked[i]
		began = began || a.Server == server
		if began && outcomeOf(&a.Result) != server {
			return fmt.Errorf("question %d came to %s after the flow had moved to %s", a.Seq, outcomeOf(&a.Result), server)
		}
	}
	return nil
}

// webService is a service with an endpoint on each of two nodes, which a client of the first one reaches.
func (s *stage) webService(ctx context.Context, name string, hints bool) (client agent, servers []agent, to netip.AddrPort, err error) {
	const port = 8080
	near, far := s.workers()[0], s.workers()[len(s.workers())-1]
	client = s.pods(near.Name)[0]
	servers = []agent{s.pods(near.Name)[1], s.pods(far.Name)[2]}
	targets := []target{{agent: servers[0]}, {agent: servers[1]}}
	if hints {
		targets[0].zones, targets[1].zones = []string{near.Zone}, []string{otherZone}
	}
	for _, server := range servers {
		if err := s.serve(ctx, server, inet.TCP, port); err != nil {
			return client, nil, to, err
		}
	}
	service, err := s.service(ctx, name, corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}})
	if err != nil {
		return client, nil, to, err
	}
	return client, servers, clusterIP(service), s.slice(ctx, name, corev1.ProtocolTCP, port, targets...)
}
