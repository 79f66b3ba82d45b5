package probe

import (
	"net/netip"

	"github.com/chainwalk/chainwalk/scenarios"
)

// The bodies of requests that have no type of their own.
type (
	serveBody struct {
		Listeners []Listener `json:"listeners"`
	}
	dropBody struct {
		Conn string         `json:"conn"`
		Side scenarios.Side `json:"side"`
	}
	fetchBody struct {
		URL string `json:"url"`
	}
	forgetBody struct {
		Addresses []netip.Addr `json:"addresses"`
	}
	nameBody struct {
		Name string `json:"name"`
	}
	changeBody struct {
		Changes []Change `json:"changes"`
	}
	askedBody struct {
		Name  string `json:"name"`
		After int    `json:"after"`
	}
)
