package toyproxy

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/chainwalk/chainwalk/fakekernel"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/search/gen"
	"github.com/chainwalk/chainwalk/scenarios/search/gen/rapidgen"
	"github.com/chainwalk/chainwalk/scenarios/users/proxytest"
)

func syncNode(n *proxytest.Node) error { return Sync(n.Exec(), n.Services(), n.EndpointSlices()) }

// TestScenarios plays the scenario files with the toy as every node's proxy.
func TestScenarios(t *testing.T) {
	scenarios.Test(t, proxytest.Backend(syncNode), "testdata")
}

// known are the features of generated clusters that the toy knows of.
var known = []gen.Feature{
	gen.SeveralNodes, gen.SeveralServices, gen.SeveralPorts, gen.UDP, gen.SeveralSlices, gen.NotReady, gen.HostEndpoints, gen.ManyEndpoints,
}

// TestGeneratedClusters has the specification judge what the toy makes of clusters that nobody thought of: what it promises of cluster
// IPs that have endpoints. The rest of the Service API the toy does not know.
func TestGeneratedClusters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		scenario := rapidgen.Scenario(gen.Options{Without: gen.AllBut(known...)}).Draw(t, "scenario")
		cluster, err := proxytest.New(scenario)
		if err != nil {
			t.Fatal(err)
		}
		if err := cluster.Run(syncNode); err != nil {
			t.Fatal(err)
		}
		failures, err := cluster.Judge()
		if err != nil {
			t.Fatal(err)
		}
		for i := range failures {
			if failures[i].Clause.Name == "cluster-ip-served" {
				t.Error(failures[i].String())
			}
		}
	})
}

// TestRules is a unit test: the program's commands run on a fake kernel, and the rules are looked at.
func TestRules(t *testing.T) {
	kernel := fakekernel.New(fakekernel.Options{Dialect: netfilter.NFT})
	if err := Sync(kernel.Exec(), nil, nil); err != nil {
		t.Fatal(err)
	}
	out, err := kernel.Exec().Command("iptables", "-t", "nat", "-S", "TOY").CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "-N TOY" {
		t.Errorf("%v: %s", err, out)
	}
}
