package main

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/spf13/cobra"

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
	saved *snapshot.Saved
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
	known := snapshot.RulesOptions{Family: family, Dialect: netfilter.Dialect(o.tools)}
	for _, text := range o.local {
		addr, err := netip.ParseAddr(text)
		if err != nil {
			return nil, fmt.Errorf("--local: %q is not an IP address", text)
		}
		known.Local = append(known.Local, addr)
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

// notLocal says that the rules would do something else with a packet if its destination were an address of the node's own, as that of a
// node port is; empty if they would not, or if somebody has said which addresses are.
func (h *rulesHost) notLocal(in inet.Input, outcomes []packetsim.Outcome) string {
	if !h.saved.HangsOnLocal(in, outcomes) {
		return ""
	}
	return fmt.Sprintf("no address of the node is known, so %s is taken for another machine's: if it is the node's own, as of a node port, "+
		"--local %s says so, and other rules decide (they test the type or the address of the destination)", in.Dst, in.Dst)
}
