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

// checkArrival wants to know how a packet comes to a node.
func checkArrival(node *snapshot.NodeSnapshot, in inet.Input) error {
	var names []string
	for i := range node.Devices {
		if node.Devices[i].Name == in.In {
			return nil
		}
		names = append(names, node.Devices[i].Name)
	}
	switch {
	case in.Local:
		return nil
	case in.In != "":
		return fmt.Errorf("packet: node %s has no device %q: write one of %s", node.Hostname, in.In, strings.Join(names, ", "))
	}
	advice := fmt.Sprintf("\"in DEVICE\" (one of %s), or \"local\" for what the node sends itself", strings.Join(names, ", "))
	if device := arrivesBy(node, in.Src); device == "local" {
		advice = fmt.Sprintf("\"local\", since %s is its own address", in.Src)
	} else if device != "" {
		advice = fmt.Sprintf("\"in %s\", where its route to %s goes, or \"local\" for what the node sends itself", device, in.Src)
	}
	return fmt.Errorf("packet: it does not say how it comes to node %s: write %s", node.Hostname, advice)
}

// arrivesBy is the device that the main table has for an address, "local" for an address of the node, "" if neither is known.
func arrivesBy(node *snapshot.NodeSnapshot, addr netip.Addr) string {
	device, bits := "", -1
	for i := range node.Routes {
		r := &node.Routes[i]
		if r.Table == packetsim.TableMain && r.Dev != "" && r.Dst.Contains(addr) && r.Dst.Bits() > bits {
			device, bits = r.Dev, r.Dst.Bits()
		}
	}
	for i := range node.Devices {
		if slices.ContainsFunc(node.Devices[i].Addresses, func(a snapshot.Address) bool { return a.Prefix.Addr() == addr }) {
			return "local"
		}
	}
	return device
}

// isSaveText says whether a text is of iptables-save rather than YAML or JSON.
func isSaveText(text []byte) bool {
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' {
			return line[0] == '*' && !bytes.ContainsAny(line, " :")
		}
	}
	return false
}

// loadRules fills a fake kernel with the rules that a text has of the family of a packet. Rules of the other backend come into the kernel
// beside it.
func loadRules(s streams, o traceOptions, src netip.Addr) (*fakekernel.Kernel, error) {
	if _, err := parseTools(o.tools); err != nil {
		return nil, err
	}
	r, name, err := document.Open(o.rules, s.in)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }() // only read
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	family := inet.FamilyOf(src)
	texts, err := textsOf(name, string(text), family)
	if err != nil {
		return nil, err
	}
	kernel, err := fakekernel.LoadTexts(name, choose(texts, netfilter.Dialect(o.tools)), family)
	if err == nil && len(kernel.Rules(family).Tables) == 0 {
		fmt.Fprintf(s.errOut, "chainwalk: warning: %s holds no table\n", name)
	}
	return kernel, err
}

// textsOf are those of a family.
func textsOf(name, text string, family netfilter.Family) ([]fakekernel.SaveText, error) {
	if strings.Contains(text, "\nhostname:") && !isSaveText([]byte(text)) {
		return nil, fmt.Errorf("%s is a NodeSnapshot, not what iptables-save prints: give it to --node", name)
	}
	var texts []fakekernel.SaveText
	all := fakekernel.SaveTexts(text)
	for _, t := range all {
		if t.Family == 0 || t.Family == family {
			texts = append(texts, t)
		}
	}
	if len(texts) == 0 {
		return nil, fmt.Errorf("%s has rules of IPv%d only (%s), and the packet is of IPv%d: add what %s prints", name, all[0].Family,
			all[0].String(), family, (&fakekernel.SaveText{Family: family}).String())
	}
	return texts, nil
}

// choose leaves out the other backend where a text has both, and reads as of the backend what does not say its own.
func choose(texts []fakekernel.SaveText, backend netfilter.Dialect) []fakekernel.SaveText {
	if backend == "" {
		return texts
	}
	var chosen []fakekernel.SaveText
	for _, t := range texts {
		if t.Dialect == backend || t.Dialect == "" {
			t.Dialect = backend
			chosen = append(chosen, t)
		}
	}
	if len(chosen) == 0 { // one backend's rules may be walked as if they were the other's
		for _, t := range texts {
			t.Dialect = backend
			chosen = append(chosen, t)
		}
	}
	return chosen
}
