package traffic

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/chainwalk/chainwalk/kindtest/probe"
)

// namespace is where the objects of changes are.
const namespace = metav1.NamespaceDefault

// stage is where one change happens, and what is to be taken away after it.
type stage struct {
	Bench
	undo []func(context.Context) error
}

// later remembers what to do at the end; what was remembered last is done first.
func (s *stage) later(do func(context.Context) error) { s.undo = append(s.undo, do) }

// cleanupTime is how long taking things away may take, also when nobody waits for the change any more.
const cleanupTime = time.Minute

// end takes away what the change has made.
func (s *stage) end(ctx context.Context, failed error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
	defer cancel()
	errs := []error{failed}
	for _, do := range slices.Backward(s.undo) {
		if err := do(ctx); err != nil && !apierrors.IsNotFound(err) {
			errs = append(errs, fmt.Errorf("clean up: %w", err))
		}
	}
	return errors.Join(errs...)
}

// service makes a Service, and waits for nothing.
func (s *stage) service(ctx context.Context, name string, spec corev1.ServiceSpec) (*corev1.Service, error) {
	services := s.Cluster.Client().Services(namespace)
	made, err := services.Create(ctx, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	s.later(func(ctx context.Context) error { return services.Delete(ctx, name, metav1.DeleteOptions{}) })
	return made, nil
}

// target is an endpoint, with the zones that are hinted to use it.
type target struct {
	agent
	zones []string
}

// slice writes the EndpointSlice of a service: exactly these are its endpoints from now on.
func (s *stage) slice(ctx context.Context, service string, protocol corev1.Protocol, port int32, targets ...target) error {
	slices := s.Cluster.Client().EndpointSlices(namespace)
	want := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: service + "-1", Labels: map[string]string{discoveryv1.LabelServiceName: service}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Port: &port, Protocol: &protocol, Name: ptr.To("")}},
	}
	if s.v6() {
		want.AddressType = discoveryv1.AddressTypeIPv6
	}
	for _, t := range targets {
		endpoint := discoveryv1.Endpoint{
			Addresses: []string{t.address.String()}, NodeName: &t.machine, Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true)},
		}
		if len(t.zones) > 0 {
			endpoint.Hints = &discoveryv1.EndpointHints{}
			for _, zone := range t.zones {
				endpoint.Hints.ForZones = append(endpoint.Hints.ForZones, discoveryv1.ForZone{Name: zone})
			}
		}
		want.Endpoints = append(want.Endpoints, endpoint)
	}
	have, err := slices.Get(ctx, want.Name, metav1.GetOptions{})
	switch {
	case err == nil:
		want.ResourceVersion = have.ResourceVersion
		_, err = slices.Update(ctx, want, metav1.UpdateOptions{})
	case apierrors.IsNotFound(err):
		s.later(func(ctx context.Context) error { return slices.Delete(ctx, want.Name, metav1.DeleteOptions{}) })
		_, err = slices.Create(ctx, want, metav1.CreateOptions{})
	}
	return err
}

// clusterIP is where a service is called.
func clusterIP(service *corev1.Service) netip.AddrPort {
	return netip.AddrPortFrom(netip.MustParseAddr(service.Spec.ClusterIP), uint16(service.Spec.Ports[0].Port))
}

// load is traffic that goes on.
type load struct {
	stage *stage
	from  agent
	name  string
}

// begin starts a load of an agent.
func (s *stage) begin(ctx context.Context, from agent, l probe.Load) (*load, error) {
	if err := s.Machine(from.machine).StartLoad(ctx, from.name, l); err != nil {
		return nil, err
	}
	s.later(func(ctx context.Context) error { return s.Machine(from.machine).Reset(ctx, from.name) })
	return &load{s, from, l.Name}, nil
}

// stop ends the load and says what came of all questions.
func (l *load) stop(ctx context.Context) ([]probe.Asked, error) {
	return l.stage.Machine(l.from.machine).StopLoad(ctx, l.from.name, l.name)
}

// all fails with the first question that was not answered.
func all(asked []probe.Asked) error {
	failed := 0
	var first *probe.Asked
	for i := range asked {
		if asked[i].End != probe.Answered {
			if failed++; first == nil {
				first = &asked[i]
			}
		}
	}
	switch {
	case len(asked) == 0:
		return errors.New("nothing was asked at all")
	case failed > 0:
		return fmt.Errorf("%d of %d questions were not answered, the first one number %d of connection %d at %s: %s %s%s", failed, len(asked),
			first.Seq, first.Conn, first.When.Format(time.TimeOnly), first.End, first.With, first.Why)
	}
	return nil
}

// servers are who answered, sorted.
func servers(asked []probe.Asked) []string {
	var out []string
	for i := range asked {
		if asked[i].End == probe.Answered {
			out = append(out, asked[i].Server)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// exec runs a program on a machine; any status but 0 is an error.
func (s *stage) exec(ctx context.Context, machine string, argv ...string) (string, error) {
	exited, err := s.Machine(machine).Exec(ctx, probe.Command{Argv: argv})
	if err == nil && exited.Status != 0 {
		err = fmt.Errorf("%s on %s: status %d: %s", strings.Join(argv, " "), machine, exited.Status, strings.TrimSpace(exited.Stderr))
	}
	return exited.Stdout, err
}

// ip is the program ip with the family of an address.
func ip(a netip.Addr, words ...string) []string {
	family := "-4"
	if a.Is6() {
		family = "-6"
	}
	return append([]string{"ip", family}, words...)
}
