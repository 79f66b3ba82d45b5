package main

import (
	"bytes"
	"fmt"
	"io"
	"net/netip"
	"os"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/fakekernel"
	"github.com/chainwalk/chainwalk/internal/document"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios/explain/provenance"
	"github.com/chainwalk/chainwalk/scenarios/users/live"
	"github.com/chainwalk/chainwalk/scenarios/world/sim"
)

// diffRules is rules --diff: it says what is other on a node than kube-proxy would leave it.
func diffRules(s streams, o rulesOptions, in sim.RulesInput, families []netfilter.Family) error {
	dump, err := readDump(s, o, in.Node)
	if err != nil {
		return err
	}
	compared := slices.DeleteFunc(families, func(f netfilter.Family) bool { return !slices.Contains(dump.families, f) })
	if len(compared) == 0 {
		return fmt.Errorf("--diff %s: it has no rules of the family that is asked for", o.diff)
	}
	for _, family := range []netfilter.Family{netfilter.IPv4, netfilter.IPv6} {
		if o.family == "" && !slices.Contains(compared, family) {
			fmt.Fprintf(s.errOut, "chainwalk: warning: %s has no rules of IPv%d: they are not compared\n", o.diff, family)
		}
	}
	drift, err := live.DriftOf(in, compared, dump.host)
	if err != nil {
		return err
	}
	for _, warning := range drift.Warnings {
		fmt.Fprintf(s.errOut, "chainwalk: warning: %s\n", warning)
	}
	write := drift.WriteText
	if o.output == "json" {
		write = drift.WriteJSON
	}
	if err := write(s.out); err != nil {
		return err
	}
	if !drift.None() {
		return errNotHeld
	}
	return nil
}

// dump is a node with its rules.
type dump struct {
	families []netfilter.Family
	host     func() (*packetsim.Host, error)
}

func readDump(s streams, o rulesOptions, node *v1.Node) (*dump, error) {
	if info, err := os.Stat(o.diff); err == nil && info.IsDir() {
		of, err := readSnapshot(s, o.diff)
		if err != nil {
			return nil, err
		}
		return dumpOfSnapshot(o.diff, of, o)
	}
	r, name, err := document.Open(o.diff, s.in)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }() // only read
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if snapshot.IsSave(text) {
		return dumpOfTexts(name, fakekernel.SaveTexts(string(text)), o, node)
	}
	nodeSnapshot, err := snapshot.Read(name, bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("--diff takes what iptables-save prints, or a NodeSnapshot: %w", err)
	}
	return dumpOfSnapshot(name, nodeSnapshot, o)
}

// dumpOfSnapshot is a node of which more than the rules is known.
func dumpOfSnapshot(name string, nodeSnapshot *snapshot.NodeSnapshot, o rulesOptions) (*dump, error) {
	var texts []fakekernel.SaveText
	for _, rules := range nodeSnapshot.IPTables {
		texts = append(texts, fakekernel.SaveText{Family: rules.Family, Dialect: rules.Dialect, Text: rules.Save})
	}
	backend, err := proxyDialect(name, texts, netfilter.Dialect(o.tools))
	if err != nil {
		return nil, err
	}
	return &dump{familiesOf(snapshot.OfBackend(texts, backend)), func() (*packetsim.Host, error) {
		return snapshot.NewHost(nodeSnapshot, snapshot.HostOptions{Netfilter: backend})
	}}, nil
}

// dumpOfTexts is a node of which no more than the rules is known, and the addresses of its Node object.
func dumpOfTexts(name string, texts []fakekernel.SaveText, o rulesOptions, node *v1.Node) (*dump, error) {
	if texts[0].Family == 0 {
		families, err := parseFamilies(o.family)
		if err != nil || len(families) > 1 {
			return nil, fmt.Errorf("%s does not tell whether it is of iptables-save or of ip6tables-save: write --family 4 or --family 6", name)
		}
		texts[0].Family = families[0]
	}
	backend, err := proxyDialect(name, texts, netfilter.Dialect(o.tools))
	if err != nil {
		return nil, err
	}
	texts = snapshot.OfBackend(texts, backend)
	eth := packetsim.Device{Name: snapshot.RulesDevice, Up: true}
	for _, address := range node.Status.Addresses {
		if a, err := netip.ParseAddr(address.Address); err == nil {
			eth.Addresses = append(eth.Addresses, packetsim.Address{Prefix: netip.PrefixFrom(a, a.BitLen())})
		}
	}
	return &dump{familiesOf(texts), func() (*packetsim.Host, error) {
		kernel, err := fakekernel.LoadTexts(name, texts, 0)
		if err != nil {
			return nil, err
		}
		return packetsim.NewHost(packetsim.HostConfig{Name: node.Name, Devices: []packetsim.Device{eth}, Netfilter: kernel.Namespace()})
	}}, nil
}

func familiesOf(texts []fakekernel.SaveText) []netfilter.Family {
	var families []netfilter.Family
	for _, t := range texts {
		if !slices.Contains(families, t.Family) {
			families = append(families, t.Family)
		}
	}
	return families
}

// proxyDialect is the dialect that kube-proxy writes: the one asked for, or the only one that holds rules of kube-proxy.
func proxyDialect(name string, texts []fakekernel.SaveText, asked netfilter.Dialect) (netfilter.Dialect, error) {
	if asked != "" {
		return asked, nil
	}
	var all, with []netfilter.Dialect
	for _, t := range texts {
		if !slices.Contains(all, t.Dialect) {
			all = append(all, t.Dialect)
		}
		if provenance.InSave(t.Text) && !slices.Contains(with, t.Dialect) {
			with = append(with, t.Dialect)
		}
	}
	switch {
	case len(with) == 1:
		return with[0], nil
	case len(all) == 1:
		return all[0], nil
	}
	return "", fmt.Errorf("%s has rules of both backends: say with --tools which of them kube-proxy writes, legacy or nft", name)
}
