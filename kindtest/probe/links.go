package probe

import (
	"context"
	"net"
	"net/netip"
)

// Change is what becomes of one address, route or device of an agent's host. What is there already, or gone already, is no error.
type Change struct {
	Action Action `json:"action"`
	Device string `json:"device"`
	// Prefix is the address with its network's length, or the destination of the route.
	Prefix netip.Prefix `json:"prefix,omitzero"`
	// Via is the route's next hop; none for what is on the link.
	Via netip.Addr `json:"via,omitzero"`
}

// Action is what a Change does.
type Action string

// The actions.
const (
	AddAddress    Action = "addAddress"
	RemoveAddress Action = "removeAddress"
	AddRoute      Action = "addRoute"
	RemoveRoute   Action = "removeRoute"
	LinkUp        Action = "linkUp"
	LinkDown      Action = "linkDown"
)

// Device is a network device of an agent's host.
type Device struct {
	Name      string           `json:"name"`
	Up        bool             `json:"up"`
	Hardware  net.HardwareAddr `json:"hardware,omitzero"`
	Addresses []netip.Prefix   `json:"addresses,omitzero"`
}

// Change changes addresses, routes and devices in turn, until one fails. IPv6 addresses are usable at once.
func (c *Client) Change(ctx context.Context, agent string, changes []Change) error {
	return c.tell(ctx, agent, opChange, changeBody{changes})
}

// Devices lists the network devices of an agent's host.
func (c *Client) Devices(ctx context.Context, agent string) ([]Device, error) {
	return ask[[]Device](ctx, c, agent, opDevices, nil)
}
