package netns

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"sync"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/proxier/conntrack"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/world/node"
)

// nodeHost is a host that is a node.
type nodeHost struct {
	*host
	memory memory
}

// kernel is the namespace as the node's proxier meets it.
func (n *nodeHost) kernel() node.Kernel {
	k := node.Kernel{Exec: n.exec, Sysctls: sysctls{n.ns}, Network: addresses{n.ns}, Conntrack: connections{n.ns}}
	if n.exec.dialect == netfilter.Legacy {
		k.HoldLock = n.holdLock
	}
	return k
}

// holdLock takes the lock of the namespace's legacy tools.
func (n *nodeHost) holdLock() (release func(), err error) {
	file, err := os.Open(n.ns.LockFile())
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: hold the lock of the tools: %w", n.Name, err), file.Close())
	}
	return func() {
		_ = unix.Flock(int(file.Fd()), unix.LOCK_UN) // a program that is being started has the file, too, for a moment after it is closed
		_ = file.Close()
	}, nil
}

// sysctls lets a proxier read and set its namespace's kernel settings.
type sysctls struct{ ns *linked }

// Get reads a setting.
func (s sysctls) Get(name string) (int, error) {
	value, err := s.ns.Sysctl(name)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(value)
}

// Set sets a setting.
func (s sysctls) Set(name string, value int) error {
	return s.ns.SetSysctl(name, strconv.Itoa(value))
}

// connections lets a proxier list and delete its namespace's tracked connections.
type connections struct{ ns *linked }

// Walk visits the UDP entries of a family.
func (c connections) Walk(family corev1.IPFamily, visit func(conntrack.Entry)) error {
	return c.ns.Do(func() error { return conntrack.NewKernel().Walk(family, visit) })
}

// Delete deletes those of the entries that are there still.
func (c connections) Delete(family corev1.IPFamily, entries []conntrack.Entry) (deleted int, err error) {
	err = c.ns.Do(func() error {
		deleted, err = conntrack.NewKernel().Delete(family, entries)
		return err
	})
	return deleted, err
}

// addresses tells a proxier its namespace's addresses.
type addresses struct{ ns *linked }

// NodeAddresses lists the addresses of all devices.
func (a addresses) NodeAddresses() ([]netip.Addr, error) {
	list, err := a.ns.link.AddrList(nil, netlink.FAMILY_ALL)
	if err != nil {
		return nil, err
	}
	var out []netip.Addr
	for _, one := range list {
		if address, ok := netip.AddrFromSlice(one.IP); ok {
			out = append(out, address.Unmap())
		}
	}
	return out, nil
}

// Sync syncs the proxiers at the same time, as nodes do, unless somebody looks on.
func (s *session) Sync(_ context.Context, nodes []string) error {
	errs := make([]error, len(nodes))
	var all sync.WaitGroup
	for i, name := range nodes {
		one := func() { errs[i] = s.syncOne(name) }
		if s.watched {
			one()
			continue
		}
		all.Go(one)
	}
	all.Wait()
	return errors.Join(append(errs, s.slept)...)
}

func (s *session) syncOne(name string) error {
	err := s.Node(name).Sync()
	if err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return errors.Join(err, s.nodes[name].rulesChanged())
}

// During has a function called at every point of the syncs from here on. The rules of the node that syncs are read anew for each.
func (s *session) During(ctx context.Context, watch func(context.Context, scenarios.Point)) error {
	s.watched = watch != nil
	if watch == nil {
		return s.Nodes.During(ctx, nil)
	}
	return s.Nodes.During(ctx, func(ctx context.Context, p scenarios.Point) {
		rules := s.nodes[p.Node].watch.rules
		if err := s.nodes[p.Node].rulesChanged(); err != nil {
			rules.fail(err)
		}
		watch(ctx, p)
		rules.forget()
	})
}

// Save prints a node's rules. What connections counted that were not kept is left out.
func (s *session) Save(ctx context.Context, name string, family scenarios.IPFamily) (string, error) {
	text, err := s.Nodes.Save(ctx, name, family)
	if err != nil {
		return "", err
	}
	return s.nodes[name].memory.discountRules(family == scenarios.FamilyIPv6, text), nil
}

// Accounting lists what a node's accounting objects have counted, but for connections that were not kept.
func (s *session) Accounting(ctx context.Context, name string) (map[string]int, error) {
	counted, err := s.Nodes.Accounting(ctx, name)
	for object := range counted {
		counted[object] -= s.nodes[name].memory.accounted[object]
	}
	return counted, err
}

// Fault makes something go wrong on one node.
func (s *session) Fault(ctx context.Context, f scenarios.Fault) error {
	if err := s.Nodes.Fault(ctx, f); err != nil {
		return err
	}
	return s.nodes[f.Node].rulesChanged()
}
