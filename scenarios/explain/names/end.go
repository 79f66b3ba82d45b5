package names

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Outside is the name of a client that is no part of the cluster.
const Outside = "outside"

// End is one end of a connection: an object of the cluster, an address, or a client outside.
type End struct {
	// Name is the end as it was written.
	Name string
	// Addresses are the addresses of a pod or node, the written address, or the cluster IPs of a service.
	Addresses []netip.Addr
	// Port is the one that was written; empty if none was. That of a service may be a name.
	Port string
	// Service is the service that is meant; nil if none is.
	Service *corev1.Service
	// Node is the node that the end is, or that a pod runs on; empty if that is not known. Host says that the end is in the node's own
	// network.
	Node string
	Host bool
}

// IsOutside says whether the end is a client that is no part of the cluster.
func (e *End) IsOutside() bool { return e.Name == Outside }

// Address is the first address of a family; not valid if there is none.
func (e *End) Address(v6 bool) netip.Addr {
	for _, a := range e.Addresses {
		if a.Is6() == v6 {
			return a
		}
	}
	return netip.Addr{}
}

// IsEnd reports whether a text has the form of an end: an object, an address or outside. A packet has two ends, and so is none.
func IsEnd(text string) bool {
	if strings.ContainsAny(text, " >") {
		return false
	}
	_, err := written(text)
	return err == nil || text == Outside || isName(text)
}

// Client finds the end that opens a connection: pod/[NAMESPACE/]NAME, node/NAME, an address, or outside.
func (b *Book) Client(word string) (*End, error) {
	if word == Outside {
		return &End{Name: word}, nil
	}
	return b.end(word, false)
}

// Server finds the end that is called: svc/[NAMESPACE/]NAME[:PORT], pod/[NAMESPACE/]NAME[:PORT], node/NAME[:PORT] or ADDRESS[:PORT].
func (b *Book) Server(word string) (*End, error) { return b.end(word, true) }

func (b *Book) end(word string, called bool) (*End, error) {
	if !isName(word) {
		return written(word)
	}
	e := &End{Name: word}
	kind, rest, _ := strings.Cut(word, "/")
	name, port, _ := strings.Cut(rest, ":")
	e.Port = port
	if kind == "svc" || kind == "service" {
		if !called {
			return nil, fmt.Errorf("%s: a service opens no connections: write pod/NAMESPACE/NAME, node/NAME, an address, or %s", word, Outside)
		}
		return e, b.endService(e, name)
	}
	t, err := b.target("", strings.TrimSuffix(word, ":"+port), called)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", word, err)
	}
	e.Addresses, e.Node, e.Host = t.addresses, t.node, t.host
	if port == "" {
		return e, nil
	}
	return e, b.endPort(e, kind, name)
}

// endPort turns the name of a pod's port into its number.
func (b *Book) endPort(e *End, kind, name string) error {
	if isNumber(e.Port) {
		if n, err := strconv.ParseUint(e.Port, 10, 16); err != nil || n == 0 {
			return fmt.Errorf("%s: a port is a number from 1 to 65535", e.Name)
		}
		return nil
	}
	if kind != "pod" {
		return fmt.Errorf("%s: %s is no number: only ports of services and pods have names", e.Name, e.Port)
	}
	var last error
	for _, proto := range []string{"tcp", "udp", "sctp"} {
		t := &target{word: e.Name, port: e.Port}
		if last = b.findPod(t, proto, name); last == nil {
			e.Port = t.port
			return nil
		}
	}
	return fmt.Errorf("%s: %w", e.Name, last)
}

func (b *Book) endService(e *End, name string) error {
	var all []string
	for _, s := range b.services {
		all = append(all, s.Namespace+"/"+s.Name)
	}
	i, err := chosen("service", name, all)
	if err != nil {
		return fmt.Errorf("%s: %w", e.Name, err)
	}
	e.Service = b.services[i]
	if e.Service.Spec.Type == corev1.ServiceTypeExternalName {
		return fmt.Errorf("%s is another name of %s (ExternalName): no packet is sent to it", e.Name, e.Service.Spec.ExternalName)
	}
	e.Addresses = clusterIPs(e.Service)
	return nil
}

// written is an address with or without a port.
func written(word string) (*End, error) {
	if at, err := netip.ParseAddrPort(word); err == nil {
		if at.Port() == 0 {
			return nil, fmt.Errorf("%s: a port is a number from 1 to 65535", word)
		}
		return &End{Name: word, Addresses: []netip.Addr{at.Addr().Unmap()}, Port: strconv.Itoa(int(at.Port()))}, nil
	}
	a, err := netip.ParseAddr(word)
	if err != nil {
		return nil, fmt.Errorf("%q is no end of a connection: %w", word, errNoEnd)
	}
	return &End{Name: word, Addresses: []netip.Addr{a.Unmap()}}, nil
}

var errNoEnd = errors.New("write svc/NAMESPACE/NAME[:PORT], pod/NAMESPACE/NAME, node/NAME, an address, or " + Outside)

// Ports are the ports of the service that the end means: the one with its number or name, or all. It is empty if there is no such port.
func (e *End) Ports() []corev1.ServicePort {
	return slices.DeleteFunc(slices.Clone(e.Service.Spec.Ports), func(p corev1.ServicePort) bool {
		return e.Port != "" && e.Port != p.Name && e.Port != strconv.Itoa(int(p.Port))
	})
}
