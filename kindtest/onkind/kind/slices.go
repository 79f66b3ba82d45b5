package kind

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/chainwalk/chainwalk/scenarios/world/controller"
)

// awaitSlices returns when the cluster's own controller has made the slices that follow from the scenario's pods: for every service
// that has such the same endpoints with the same ports and conditions.
func (s *Session) awaitSlices(ctx context.Context) error {
	return together(s.knows.services(), func(service *corev1.Service) error {
		made := s.knows.made(service)
		if len(made) == 0 {
			return nil
		}
		want, err := s.madeThere(made)
		if err != nil {
			return err
		}
		err = poll(ctx, func() (pending string, err error) {
			got, err := s.backend.slicesOf(ctx, service)
			if err != nil || slices.Equal(endpointLines(got), want) {
				return "", err
			}
			return fmt.Sprintf("want %q, got %q", want, endpointLines(got)), nil
		})
		if err != nil {
			return fmt.Errorf("endpoint slices of %s/%s by the cluster's controller: %w", service.Namespace, service.Name, err)
		}
		return nil
	})
}

// madeThere are the lines of slices with the names and addresses of the cluster.
func (s *Session) madeThere(made []*discoveryv1.EndpointSlice) ([]string, error) {
	there := make([]discoveryv1.EndpointSlice, len(made))
	for i, slice := range made {
		there[i] = *slice.DeepCopy()
		if err := s.mapping.slice(&there[i]); err != nil {
			return nil, err
		}
	}
	return endpointLines(there), nil
}

// slicesOf are the slices of a service that the cluster's controller has made.
func (b *Backend) slicesOf(ctx context.Context, service *corev1.Service) ([]discoveryv1.EndpointSlice, error) {
	selector := metav1.FormatLabelSelector(&metav1.LabelSelector{MatchLabels: map[string]string{
		discoveryv1.LabelServiceName: service.Name, discoveryv1.LabelManagedBy: controller.Name,
	}})
	list, err := b.client.EndpointSlices(service.Namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// endpointLines are what a proxy makes of slices, a line for each endpoint, sorted. It does not matter which slice an endpoint is in.
func endpointLines(list []discoveryv1.EndpointSlice) []string {
	out := []string{}
	for i := range list {
		var ports []string
		for _, p := range list[i].Ports {
			ports = append(ports, fmt.Sprintf("%s %s %d", *p.Name, *p.Protocol, *p.Port))
		}
		slices.Sort(ports)
		for j := range list[i].Endpoints {
			out = append(out, endpointLine(&list[i].Endpoints[j])+" "+strings.Join(ports, ", "))
		}
	}
	slices.Sort(out)
	return out
}

func endpointLine(e *discoveryv1.Endpoint) string {
	words := slices.Clone(e.Addresses)
	if e.NodeName != nil {
		words = append(words, "on "+*e.NodeName)
	}
	for _, condition := range []struct {
		name  string
		holds *bool
	}{{"ready", e.Conditions.Ready}, {"serving", e.Conditions.Serving}, {"terminating", e.Conditions.Terminating}} {
		if condition.holds != nil && *condition.holds {
			words = append(words, condition.name)
		}
	}
	if e.Hints != nil {
		for _, zone := range e.Hints.ForZones {
			words = append(words, "for zone "+zone.Name)
		}
		for _, node := range e.Hints.ForNodes {
			words = append(words, "for node "+node.Name)
		}
	}
	return strings.Join(words, " ")
}
