package tools

import (
	"errors"

	corev1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/proxier/conntrack"
	"github.com/chainwalk/chainwalk/scenarios"
)

// Conntrack are a node's tracked connections for its proxier: lists and deletions can fail, and somebody may look
// before and after each.
type Conntrack struct {
	conntrack.Table
	Faults *Faults
	Watch  *Watch
}

// errConntrack is what a list and a deletion that are to fail say. A message to the kernel that finds no memory fails so.
var errConntrack = errors.New("netlink: no buffer space available")

// Walk visits the entries of a family.
func (c *Conntrack) Walk(family corev1.IPFamily, visit func(conntrack.Entry)) error {
	return c.do(scenarios.CommandConntrackList, family, func() error { return c.Table.Walk(family, visit) })
}

// Delete deletes entries.
func (c *Conntrack) Delete(family corev1.IPFamily, entries []conntrack.Entry) (deleted int, err error) {
	err = c.do(scenarios.CommandConntrackDelete, family, func() error {
		deleted, err = c.Table.Delete(family, entries)
		return err
	})
	return deleted, err
}

func (c *Conntrack) do(command scenarios.Command, family corev1.IPFamily, do func() error) error {
	of := scenarios.FamilyIPv4
	if family == corev1.IPv6Protocol {
		of = scenarios.FamilyIPv6
	}
	return c.Watch.around(command, "", func() error {
		if c.Faults.take(of, conntrackFails) != nil {
			return errConntrack
		}
		return do()
	})
}
