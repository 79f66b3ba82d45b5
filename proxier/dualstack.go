package proxier

import (
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
)

// DualStack gives every event to a Proxier of each family.
type DualStack struct {
	IPv4, IPv6 *Proxier
}

// NewDualStack returns Proxiers for both families.
func NewDualStack(ipv4, ipv6 Config) (*DualStack, error) {
	if ipv4.Family != v1.IPv4Protocol || ipv6.Family != v1.IPv6Protocol {
		return nil, fmt.Errorf("dual-stack: families are %q and %q, must be IPv4 and IPv6 in this order", ipv4.Family, ipv6.Family)
	}
	first, err4 := New(ipv4)
	second, err6 := New(ipv6)
	if err := errors.Join(inFamilyError(v1.IPv4Protocol, err4), inFamilyError(v1.IPv6Protocol, err6)); err != nil {
		return nil, err
	}
	return &DualStack{IPv4: first, IPv6: second}, nil
}

func inFamilyError(family v1.IPFamily, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", family, err)
}

// Sync syncs both families, the second even if the first fails.
func (d *DualStack) Sync() error {
	return errors.Join(d.IPv4.Sync(), d.IPv6.Sync())
}

// SyncAll writes everything in both families, the second even if the first fails.
func (d *DualStack) SyncAll() error {
	return errors.Join(d.IPv4.SyncAll(), d.IPv6.SyncAll())
}

// EnsureCanaries makes those of both families.
func (d *DualStack) EnsureCanaries() error {
	return errors.Join(d.IPv4.EnsureCanaries(), d.IPv6.EnsureCanaries())
}

func (d *DualStack) each(tell func(*Proxier)) {
	tell(d.IPv4)
	tell(d.IPv6)
}

// OnServiceAdd tells both families.
func (d *DualStack) OnServiceAdd(service *v1.Service) {
	d.each(func(p *Proxier) { p.OnServiceAdd(service) })
}

// OnServiceUpdate tells both families.
func (d *DualStack) OnServiceUpdate(oldService, service *v1.Service) {
	d.each(func(p *Proxier) { p.OnServiceUpdate(oldService, service) })
}

// OnServiceDelete tells both families.
func (d *DualStack) OnServiceDelete(service *v1.Service) {
	d.each(func(p *Proxier) { p.OnServiceDelete(service) })
}

// OnServiceSynced tells both families.
func (d *DualStack) OnServiceSynced() {
	d.each((*Proxier).OnServiceSynced)
}

// OnEndpointSliceAdd tells both families; each ignores the other's slices.
func (d *DualStack) OnEndpointSliceAdd(slice *discovery.EndpointSlice) {
	d.each(func(p *Proxier) { p.OnEndpointSliceAdd(slice) })
}

// OnEndpointSliceUpdate tells both families; each ignores the other's slices.
func (d *DualStack) OnEndpointSliceUpdate(oldSlice, slice *discovery.EndpointSlice) {
	d.each(func(p *Proxier) { p.OnEndpointSliceUpdate(oldSlice, slice) })
}

// OnEndpointSliceDelete tells both families; each ignores the other's slices.
func (d *DualStack) OnEndpointSliceDelete(slice *discovery.EndpointSlice) {
	d.each(func(p *Proxier) { p.OnEndpointSliceDelete(slice) })
}

// OnEndpointSlicesSynced tells both families.
func (d *DualStack) OnEndpointSlicesSynced() {
	d.each((*Proxier).OnEndpointSlicesSynced)
}

// OnNodeAdd tells both families.
func (d *DualStack) OnNodeAdd(node *v1.Node) {
	d.each(func(p *Proxier) { p.OnNodeAdd(node) })
}

// OnNodeUpdate tells both families.
func (d *DualStack) OnNodeUpdate(oldNode, node *v1.Node) {
	d.each(func(p *Proxier) { p.OnNodeUpdate(oldNode, node) })
}

// OnNodeDelete tells both families.
func (d *DualStack) OnNodeDelete(node *v1.Node) {
	d.each(func(p *Proxier) { p.OnNodeDelete(node) })
}

// OnNodeSynced tells both families.
func (d *DualStack) OnNodeSynced() {
	d.each((*Proxier).OnNodeSynced)
}

// OnServiceCIDRsChanged tells both families; each ignores the other's ranges.
func (d *DualStack) OnServiceCIDRsChanged(cidrs []string) {
	d.each(func(p *Proxier) { p.OnServiceCIDRsChanged(cidrs) })
}
