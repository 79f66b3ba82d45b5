package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chainwalk/chainwalk/fakekernel"
	"github.com/chainwalk/chainwalk/internal/document"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
)

// onePacket wants one argument. A shell takes the > of a packet without quotes for a redirection.
func onePacket(_ *cobra.Command, args []string) error {
	const example = `'tcp 10.244.0.11:40000 > 10.96.0.10:53 in eth0'`
	switch {
	case len(args) == 0:
		return errors.New("no PACKET is given: write one such as " + example)
	case len(args) == 1:
		return nil
	case slices.Contains(args, ">"):
		return fmt.Errorf("PACKET is one argument: put it in quotes: '%s'", strings.Join(args, " "))
	}
	return errors.New("PACKET is one argument: put it in quotes, such as " + example +
		" (without them the shell takes > for a redirection and writes a file of that name)")
}

// rulesHost is a host of which no more is known than the rules of --rules and the addresses of --local.
type rulesHost struct {
	*packetsim.Host
	text  []byte
	name  string
	known snapshot.RulesOptions
}

// readRulesHost reads the rules that a text has of the family of a packet, which comes by eth0 if it does not say.
func readRulesHost(s streams, o traceOptions, in *inet.Input) (*rulesHost, error) {
	if in.In == "" && !in.Local {
		in.In = snapshot.RulesDevice
	}
	if _, err := parseTools(o.tools); err != nil {
		return nil, err
	}
	family := inet.FamilyOf(in.Src)
	h := &rulesHost{known: snapshot.RulesOptions{Family: family, Dialect: netfilter.Dialect(o.tools)}}
	for _, text := range o.local {
		addr, err := netip.ParseAddr(text)
		if err != nil {
			return nil, fmt.Errorf("--local: %q is not an IP address", text)
		}
		h.known.Local = append(h.known.Local, addr)
	}
	if in.In != "" {
		h.known.Devices = []string{in.In}
	}
	r, name, err := document.Open(o.rules, s.in)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }() // only read
	if h.text, err = io.ReadAll(r); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	h.name = name
	if h.Host, err = h.with(h.known); errors.Is(err, snapshot.ErrIsSnapshot) {
		return nil, fmt.Errorf("%w: give it to --node", err)
	} else if err != nil {
		return nil, err
	}
	if kernel := fakekernel.Of(h.Netfilter()); kernel == nil || len(kernel.Rules(family).Tables) == 0 {
		fmt.Fprintf(s.errOut, "chainwalk: warning: %s holds no table\n", name)
	}
	return h, nil
}

// with is a host with the same rules of which something else is known.
func (h *rulesHost) with(known snapshot.RulesOptions) (*packetsim.Host, error) {
	return snapshot.HostOfSave(h.name, bytes.NewReader(h.text), known)
}

// notLocal says that the rules would do something else with a packet if its destination were an address of the node's own, as that of a
// node port is; empty if they would not, or if somebody has said which addresses are.
func (h *rulesHost) notLocal(in inet.Input, outcomes []packetsim.Outcome) string {
	if len(h.known.Local) > 0 || in.Dst.IsMulticast() {
		return ""
	}
	known := h.known
	known.Local = []netip.Addr{in.Dst}
	local, err := h.with(known)
	if err != nil {
		return ""
	}
	others, err := local.Walk(in)
	if err != nil || !slices.ContainsFunc(others, ruled) || slices.ContainsFunc(outcomes, ruled) {
		return ""
	}
	return fmt.Sprintf("no address of the node is known, so %s is taken for another machine's: if it is the node's own, as of a node port, "+
		"--local %s says so, and other rules decide (they test the type or the address of the destination)", in.Dst, in.Dst)
}

// ruled says whether rules have translated or stopped a packet.
func ruled(o packetsim.Outcome) bool { return o.DNAT != "" || o.Verdict != packetsim.Accept }
