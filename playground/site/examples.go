package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
	"github.com/chainwalk/chainwalk/scenarios/users/live"
	"github.com/chainwalk/chainwalk/scenarios/world/sim"
)

// example is what a tab can be opened with. Its fields beside the first four are the tab's own.
type example struct {
	Name  string `json:"name"`
	Tab   string `json:"tab"`
	Page  string `json:"page"` // of docs/, that it shows something of
	Title string `json:"title"`

	Rules  string `json:"rules,omitempty"`
	Local  string `json:"local,omitempty"`
	Packet string `json:"packet,omitempty"`

	Objects string `json:"objects,omitempty"`
	From    string `json:"from,omitempty"` // the file that the objects are in
	Node    string `json:"node,omitempty"`

	Scenario string `json:"scenario,omitempty"`
}

// group are scenario files with what they have in common.
type group struct {
	Title string `json:"title"`
	Files []file `json:"files"`
}

type file struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// folder has the examples' files; kindObjects are the objects of a real cluster, which the page loads when somebody asks for them.
const (
	folder      = "playground/examples"
	kindObjects = "internal/dumps/kind-v1.34/objects.yaml"
)

// writeExamples makes the examples, and the files that only the third tab loads. kube-proxy writes its rules for an example's objects.
func writeExamples(out string) error {
	all, err := rulesExamples()
	if err != nil {
		return err
	}
	others, err := clusterExamples()
	if err != nil {
		return err
	}
	files, err := scenarioFiles()
	if err != nil {
		return err
	}
	if err := writeJSON(filepath.Join(out, "files.json"), files); err != nil {
		return err
	}
	return writeJSON(filepath.Join(out, "examples.json"), append(all, others...))
}

func writeJSON(name string, of any) error {
	text, err := json.Marshal(of)
	if err != nil {
		return err
	}
	return os.WriteFile(name, text, 0o644)
}

func rulesExamples() ([]example, error) {
	shop, err := rulesFor(filepath.Join(folder, "shop.yaml"), "node1")
	if err != nil {
		return nil, err
	}
	all := []example{
		{Name: "service", Page: "docs/trace.md", Title: "A Service with two endpoints", Rules: shop,
			Packet: "tcp 10.244.1.9:40000 > 10.96.0.80:80 in eth0"},
		{Name: "hairpin-packet", Page: "docs/page.md", Title: "An endpoint calls its own Service", Rules: shop,
			Packet: "tcp 10.244.1.2:40000 > 10.96.0.80:80 in eth0"},
		{Name: "node-port", Page: "docs/trace.md", Title: "A node port, from outside", Rules: shop, Local: "192.168.0.11",
			Packet: "tcp 198.51.100.10:40000 > 192.168.0.11:30080 in eth0"},
		{Name: "no-endpoints", Page: "docs/causes.md", Title: "A Service without endpoints refuses", Rules: shop,
			Packet: "tcp 10.244.1.9:40000 > 10.96.0.81:80 in eth0"},
	}
	for _, f := range []struct{ name, page, title, local, packet string }{
		{"firewall", "docs/symptoms.md", "A firewall drops what it does not know", "192.0.2.1",
			"tcp 198.51.100.10:40000 > 192.0.2.1:8080 in eth0"},
		{"router", "docs/packet.md", "A home router: masquerade and a forwarded port", "203.0.113.2, 192.168.1.1",
			"tcp 198.51.100.10:40000 > 203.0.113.2:8443 in wan0"},
		{"extensions", "docs/extensions.md", "Matches: recent, multiport, iprange, addrtype, statistic", "192.0.2.1",
			"tcp 198.51.100.10:40000 > 192.0.2.1:22 in eth0"},
		{"nftables", "docs/nftables.md", "A firewall of nft: sets, a map of ports, a forwarded port", "203.0.113.2, 192.168.1.1",
			"tcp 198.51.100.10:40000 > 203.0.113.2:8080 in wan0"},
		{"both-tools", "docs/tools.md", "Rules of both tools on one node", "", "tcp 198.51.100.10:40000 > 203.0.113.80:80 in eth0"},
	} {
		text, err := os.ReadFile(filepath.Join(folder, f.name+".rules"))
		if err != nil {
			return nil, err
		}
		all = append(all, example{Name: f.name, Page: f.page, Title: f.title, Rules: string(text), Local: f.local, Packet: f.packet})
	}
	for i := range all {
		all[i].Tab = "rules"
	}
	return all, nil
}

// clusterExamples are the examples of the second and the third tab.
func clusterExamples() ([]example, error) {
	var all []example
	for _, e := range []struct {
		example
		file string
	}{
		{example{Name: "cluster", Tab: "cluster", Page: "docs/why.md", Title: "Two nodes, a Service with an endpoint that is not ready",
			Node: "node1"}, folder + "/shop.yaml"},
		{example{Name: "kind", Tab: "cluster", Page: "docs/live.md", Title: "The objects of a real kind cluster", Node: "demo-worker",
			From: filepath.Base(kindObjects)}, ""},
		{example{Name: "tour", Tab: "cluster", Page: "docs/tour.md", Title: "Objects, their rules, and a packet", Node: "node2"},
			folder + "/shop.yaml"},
		{example{Name: "scenario", Tab: "scenario", Page: "docs/scenarios.md", Title: "A Service's cluster IP"}, cases + "/cluster-ip.yaml"},
		{example{Name: "hairpin", Tab: "scenario", Page: "docs/specification.md", Title: "A pod calls itself by its Service"},
			cases + "/hairpin.yaml"},
		{example{Name: "finding", Tab: "scenario", Page: "docs/findings.md", Title: "An address of the other family"},
			findings + "/address-of-other-family.yaml"},
		{example{Name: "known-bug", Tab: "scenario", Page: "docs/track-record.md",
			Title: "kubernetes#106030: a client stays with an unready endpoint"}, regress + "/106030-affinity-to-unready-endpoints.yaml"},
		{example{Name: "made-small", Tab: "scenario", Page: "docs/fuzz.md", Title: "kubernetes#110334: a chain that is in use again is deleted"},
			regress + "/110334-used-again-deleted.yaml"},
	} {
		if e.From != "" {
			all = append(all, e.example)
			continue
		}
		text, err := os.ReadFile(e.file)
		if err != nil {
			return nil, err
		}
		if e.Tab == "cluster" {
			e.Objects = string(text)
		} else {
			e.Scenario = string(text)
		}
		all = append(all, e.example)
	}
	return all, nil
}

// The folders of scenario files.
const (
	findings = "proxier/upstream/testdata/findings"
	regress  = "scenarios/testdata/regress"
	cases    = "scenarios/testdata/cases"
)

// scenarioFiles lists the files of the third tab: findings and known bugs that the search made small, and the shipped scenarios.
func scenarioFiles() ([]group, error) {
	groups := []group{
		{Title: "Findings in kube-proxy, made small (docs/findings.md)"},
		{Title: "Known bugs, found again and made small (docs/track-record.md)"},
		{Title: "Shipped scenarios (docs/scenarios.md)"},
	}
	for i, dir := range []string{findings, regress, cases} {
		names, err := filepath.Glob(dir + "/*.yaml")
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				return nil, err
			}
			groups[i].Files = append(groups[i].Files, file{filepath.Base(name), string(text)})
		}
	}
	return groups, nil
}

// rulesFor are the rules of a node, as iptables-save prints them there.
func rulesFor(name, node string) (string, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return "", err
	}
	objects, err := manifest.ReadObjects(name, bytes.NewReader(text))
	if err != nil {
		return "", err
	}
	config := live.AssumedConfiguration(objects)
	config.HostnameOverride = node
	in := sim.RulesInput{Objects: objects, Configuration: config, Dialect: netfilter.Legacy}
	for _, n := range manifest.Of[*corev1.Node](objects) {
		if n.Name == node {
			in.Node = n
		}
	}
	if in.Node == nil {
		return "", fmt.Errorf("%s: no Node object is named %q", name, node)
	}
	rules, err := sim.Rules(in)
	if err != nil {
		return "", err
	}
	var save bytes.Buffer
	err = rules.Save(netfilter.IPv4, &save)
	return save.String(), err
}
