package main

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/chainwalk/chainwalk/internal/document"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
)

// rulesHost is a host of which no more is known than the rules of --rules and the addresses of --local.
type rulesHost struct {
	*packetsim.Host
	saved *snapshot.Saved
}

// readRulesHost reads the rules that a text has of the family of a packet, which comes by eth0 if it does not say.
func readRulesHost(s streams, o traceOptions, in *inet.Input) (*rulesHost, error) {
	if in.In == "" && !in.Local {
		in.In = snapshot.RulesDevice
	}
	if _, err := parseTools(o.live.tools); err != nil {
		return nil, err
	}
	family := inet.FamilyOf(in.Src)
	known := snapshot.RulesOptions{Family: family, Dialect: netfilter.Dialect(o.live.tools)}
	var err error
	if known.Local, err = localAddresses(o.local); err != nil {
		return nil, err
	}
	r, name, err := document.Open(o.rules, s.in)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }() // only read
	h := &rulesHost{}
	if h.saved, err = snapshot.ReadSaved(name, r, known); errors.Is(err, snapshot.ErrIsSnapshot) {
		return nil, fmt.Errorf("%w: give it to --node", err)
	} else if err != nil {
		return nil, err
	}
	if h.Host, err = h.saved.Host(*in); err != nil {
		return nil, err
	}
	if h.saved.IsEmpty(family) {
		fmt.Fprintf(s.errOut, "chainwalk: warning: %s holds no table\n", name)
	}
	return h, nil
}

// localAddresses are the addresses of --local.
func localAddresses(words []string) (out []netip.Addr, err error) {
	for _, word := range words {
		addr, err := netip.ParseAddr(word)
		if err != nil {
			return nil, fmt.Errorf("--local: %q is not an IP address", word)
		}
		out = append(out, addr)
	}
	return out, nil
}
