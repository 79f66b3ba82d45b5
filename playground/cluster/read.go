package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/internal/document"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/playground/rules"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/explain/names"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
	"github.com/chainwalk/chainwalk/scenarios/format/mistake"
	"github.com/chainwalk/chainwalk/scenarios/users/live"
	"github.com/chainwalk/chainwalk/scenarios/world/controller"
	"github.com/chainwalk/chainwalk/scenarios/world/sim"
)

// Paste is what the tab was given beside the packet.
type Paste struct {
	// Text are Kubernetes objects, as kubectl prints them.
	Text string `json:"text"`
	// Node is the node whose rules are shown, and that packets from outside are handed to; empty, or one that is not there: the first.
	Node string `json:"node"`
	// Mode is the kind of tools that kube-proxy finds in its mode iptables, legacy or nft, or its mode nftables.
	Mode string `json:"mode"`
}

// Read is what came of the objects.
type Read struct {
	Problems []rules.Problem `json:"problems"`
	Notes    []string        `json:"notes"`
	Objects  []Object        `json:"objects"`
	Nodes    []string        `json:"nodes"`
	Node     string          `json:"node"`
	// Rules is what iptables-save, and then ip6tables-save, print on the node, in mode nftables what nft lists, and Owners are the objects of
	// its lines; empty for lines of none.
	Rules  string   `json:"rules"`
	Owners []string `json:"owners"`
	// Packets ask for what the objects offer. Names may stand for addresses.
	Packets []rules.About `json:"packets"`
	Names   []string      `json:"names"`
}

// Object is one of those that were pasted.
type Object struct {
	Name string `json:"name"` // such as "service shop/web"
	Line int    `json:"line"` // where it begins, from 1
	// Rules are the lines of the rules that were written for it, from 1.
	Rules []int `json:"rules"`
}

// Tab is the second tab: a cluster that is made once, and what is asked of it. The zero Tab has no cluster.
type Tab struct {
	cluster live.Cluster
	book    *names.Book
	node    string
}

// Read makes the cluster of objects in the place of the one before.
func (t *Tab) Read(p Paste) Read {
	*t = Tab{}
	out := Read{Problems: []rules.Problem{}, Notes: []string{}, Objects: []Object{}, Nodes: []string{}, Owners: []string{},
		Packets: []rules.About{}, Names: []string{}}
	if strings.TrimSpace(p.Text) == "" {
		return out
	}
	ignored := map[string]bool{}
	objects, err := manifest.ReadKnownObjects("objects", strings.NewReader(p.Text),
		func(_ document.Position, what string) { ignored[what] = true })
	if err != nil {
		out.Problems = append(out.Problems, problemsOf(err)...)
		return out
	}
	for _, m := range mistake.InObjects(objects) {
		out.Problems = append(out.Problems, problemAt(m.Position, m.Msg, true))
	}
	if len(ignored) > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("%d kinds of objects and fields are not known and were passed over", len(ignored)))
	}
	if err := t.build(objects, p, &out); err != nil {
		out.Problems = append(out.Problems, problemsOf(err)...)
		*t = Tab{}
	}
	return out
}

// build makes the cluster, has the proxiers of all nodes sync, and tells of it.
func (t *Tab) build(objects []manifest.Object, p Paste, out *Read) error {
	for _, node := range manifest.Of[*corev1.Node](objects) {
		out.Nodes = append(out.Nodes, node.Name)
	}
	if len(out.Nodes) == 0 {
		return errors.New("there is no Node object: add one, such as\napiVersion: v1\nkind: Node\nmetadata: {name: node1}\n" +
			"spec: {podCIDRs: [10.244.1.0/24]}\nstatus: {addresses: [{type: InternalIP, address: 192.168.0.11}]}")
	}
	t.node = out.Nodes[0]
	if slices.Contains(out.Nodes, p.Node) {
		t.node = p.Node
	}
	out.Node = t.node
	seen := live.Cluster{Objects: objects}
	scenario, notes, err := seen.Scenario(live.ScenarioOptions{Name: "the objects"})
	if err != nil {
		return err
	}
	out.Notes = append(out.Notes, notes...)
	mode, dialect := modeOf(p.Mode)
	scenario.IPTables.Dialects = []netfilter.Dialect{dialect}
	resolved, err := scenarios.ResolveWith(scenario, controller.New)
	if err != nil {
		return err
	}
	ctx := context.Background()
	resolved = resolved.With(dialect).In(mode)
	world, err := sim.NewWorld(ctx, resolved, sim.Options{})
	if err != nil {
		return err
	}
	if err := world.Sync(ctx, out.Nodes); err != nil {
		return err
	}
	t.cluster, t.book = live.Cluster{Objects: objects, Dialect: dialect}, names.New(objects)
	for _, name := range out.Nodes {
		taken, err := snapshot.Of(world.Host(name))
		if err != nil {
			return err
		}
		t.cluster.Snapshots = append(t.cluster.Snapshots, taken)
		if name == t.node {
			if err := t.tellRules(taken, objects, out); err != nil {
				return err
			}
		}
	}
	t.tellPackets(objects, out)
	return nil
}

// modeOf is the mode of kube-proxy that a word of the page stands for, and the tools that it finds.
func modeOf(word string) (scenarios.Mode, netfilter.Dialect) {
	if word == string(scenarios.ModeNFTables) {
		return scenarios.ModeNFTables, netfilter.NFT
	}
	return scenarios.ModeIPTables, cmp.Or(netfilter.Dialect(word), netfilter.Legacy)
}

// problemsOf are the errors of a text with their places.
func problemsOf(err error) []rules.Problem {
	var several document.Errors
	if !errors.As(err, &several) {
		return []rules.Problem{problemAt(document.FirstPosition(err), err.Error(), false)}
	}
	var out []rules.Problem
	for _, one := range several {
		out = append(out, problemAt(document.FirstPosition(one), one.Error(), false))
	}
	return out
}

// problemAt is a message with its place, which it does not repeat.
func problemAt(at document.Position, message string, warning bool) rules.Problem {
	message = strings.TrimPrefix(message, at.String()+": ")
	return rules.Problem{Line: at.Line, Column: at.Column, Message: message, Warning: warning}
}
