package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/race"
)

// savedOf is what both families' save tools printed on a node of the dump.
func savedOf(t *testing.T, tools, node string) string {
	var all strings.Builder
	for _, file := range []string{"iptables-save.txt", "ip6tables-save.txt"} {
		text, err := os.ReadFile(filepath.Join(clusterDump, tools, node, file))
		require.NoError(t, err)
		all.Write(text)
	}
	return all.String()
}

// TestRulesDiffOfTheDump: a real kube-proxy's rules have no drift, and what somebody does to them has.
func TestRulesDiffOfTheDump(t *testing.T) {
	race.OneGoroutine(t)
	for _, tools := range someTools(t) {
		diff := func(stdin string, args ...string) (int, string, string) {
			return call(stdin, append([]string{"rules", "-f", filepath.Join(clusterDump, "objects.yaml"), "--node", "demo-worker",
				"--config", filepath.Join(clusterDump, tools, "demo-worker", "kube-proxy.yaml"), "--diff"}, args...)...)
		}
		saved := savedOf(t, tools, "demo-worker")
		for _, tc := range []struct{ stdin, dump string }{{saved, "-"}, {"", filepath.Join(clusterDump, tools, "demo-worker.yaml")},
			{"", filepath.Join(clusterDump, tools, "demo-worker")}} {
			status, out, errOut := diff(tc.stdin, tc.dump)
			assert.Equal(t, exitHeld, status, errOut)
			assert.Equal(t, "no drift: kube-proxy would leave the rules of IPv4 and IPv6 as they are\n", out)
		}
		status, out, errOut := call("", "rules", "-f", filepath.Join(clusterDump, "objects.yaml"), "--node", "demo-worker",
			"--diff", filepath.Join(clusterDump, tools, "demo-worker.yaml"))
		assert.Equal(t, exitHeld, status, out)
		assert.Contains(t, errOut, "note: no kube-proxy configuration is known", "the usual clusterCIDR is taken")
		rule := regexp.MustCompile(`(?m)^.*-A KUBE-SVC-67NZLRHBNDSAWJRO .*10.244.1.2:8080.*\n`)
		lost := strings.Replace(saved, rule.FindString(saved), "", 1)
		status, out, _ = diff(lost, "-")
		assert.Equal(t, exitNotHeld, status)
		assert.Regexp(t, `^\+ demo-worker: iptables -t nat -A KUBE-SVC-67NZLRHBNDSAWJRO .* \(of shop/web\)\n`+
			`drift of IPv4 and IPv6: 1 rules are missing \(\+\), 0 are stale .*, 0 are in another order`, out)

		status, out, _ = diff(strings.Replace(saved, rule.FindString(saved), rule.FindString(saved)+"-A KUBE-SVC-67NZLRHBNDSAWJRO -j RETURN\n"+
			"-A PREROUTING -p tcp -j ACCEPT\n", 1), "-")
		assert.Equal(t, exitNotHeld, status)
		assert.Contains(t, out, "- demo-worker: iptables -t nat -A KUBE-SVC-67NZLRHBNDSAWJRO -j RETURN\n")
		assert.NotContains(t, out, "-A PREROUTING", "a rule of others is no drift")

		redirect := "-A PREROUTING -p tcp -m tcp --dport 80 -j REDIRECT --to-ports 15001"
		elsewhere := "-A PREROUTING -d 203.0.113.99/32 -p tcp -m tcp --dport 80 -j REDIRECT --to-ports 15001"
		first := regexp.MustCompile(`(?m)^.*-A PREROUTING .*-j KUBE-SERVICES\n`).FindString(saved)
		status, out, _ = diff(strings.Replace(saved, first, redirect+"\n"+elsewhere+"\n"+first, 1), "-")
		assert.Equal(t, exitNotHeld, status)
		assert.Equal(t,
			"! demo-worker: iptables -t nat "+redirect+"\n1 rule of other programs comes before those of kube-proxy and could take "+
				"packets to services (!), which kube-proxy leaves alone\n", out)
		status, out, _ = diff(strings.Replace(saved, first, first+redirect+"\n", 1), "-")
		assert.Equal(t, exitHeld, status, "behind kube-proxy's: "+out)

		status, out, _ = diff(lost, "-", "-o", "json")
		assert.Equal(t, exitNotHeld, status)
		checkDriftDocument(t, out)
		status, out, _ = diff(saved, "-", "-o", "json")
		assert.Equal(t, exitHeld, status)
		assert.Contains(t, out, `"missing": [],`)

		after := rule.FindString(saved)
		next := saved[strings.Index(saved, after)+len(after):]
		next = next[:strings.Index(next, "\n")+1]
		status, out, _ = diff(strings.Replace(saved, after+next, next+after, 1), "-")
		assert.Equal(t, exitNotHeld, status)
		assert.Contains(t, out, "~ demo-worker: iptables -t nat -A KUBE-SVC-67NZLRHBNDSAWJRO")

		four, err := os.ReadFile(filepath.Join(clusterDump, tools, "demo-worker", "iptables-save.txt"))
		require.NoError(t, err)
		status, out, errOut = diff(string(four), "-")
		assert.Equal(t, exitHeld, status, out)
		assert.Contains(t, errOut, "has no rules of IPv6: they are not compared")
	}
}

// checkDriftDocument checks the document that says that one rule of shop/web is missing.
func checkDriftDocument(t *testing.T, out string) {
	var document struct {
		Version                 int
		Kind, Node              string
		Families                []int
		Foreign, Missing, Moved []struct {
			Node, Table, Rule, Service string
			Family                     int
		}
	}
	require.NoError(t, json.Unmarshal([]byte(out), &document))
	assert.Equal(t, 1, document.Version)
	assert.Equal(t, []any{"RulesDiff", "demo-worker", []int{4, 6}}, []any{document.Kind, document.Node, document.Families})
	assert.NotNil(t, document.Foreign)
	assert.Empty(t, document.Foreign)
	assert.Empty(t, document.Moved)
	require.Len(t, document.Missing, 1)
	missing := document.Missing[0]
	assert.Equal(t, []any{"demo-worker", 4, "nat", "shop/web"}, []any{missing.Node, missing.Family, missing.Table, missing.Service})
	assert.Regexp(t, `^-A KUBE-SVC-67NZLRHBNDSAWJRO .*10.244.1.2:8080`, missing.Rule)
}

func TestRulesDiffErrors(t *testing.T) {
	objects := write(t, "objects.yaml", twoFamilies)
	const head = "# Generated by iptables-save v1.8.9 on Fri\n"
	for _, tc := range []struct{ name, dump, want string }{
		{"a table of any family", "*filter\n:INPUT ACCEPT [0:0]\nCOMMIT\n", "does not tell whether it is of iptables-save or of ip6tables-save"},
		{"no dump", "nonsense", "--diff takes what iptables-save prints, or a NodeSnapshot: <stdin>:1:1: "},
		{"both backends", head + "*filter\n:KUBE-SERVICES - [0:0]\nCOMMIT\n" + strings.Replace(head, " on", " (nf_tables) on", 1) +
			"*filter\n:KUBE-SERVICES - [0:0]\nCOMMIT\n", "has rules of both backends: say with --tools which of them kube-proxy writes"},
	} {
		status, out, errOut := call(tc.dump, "rules", "-f", objects, "--diff", "-")
		assert.Equal(t, exitUsage, status, tc.name)
		assert.Empty(t, out)
		assert.Contains(t, errOut, tc.want, tc.name)
	}
	for args, want := range map[string]string{
		"-o json":         "-o json is for --diff, --dead and --shadowed: ",
		"-o xml --diff -": "-o xml: want text or json",
	} {
		status, out, errOut := call("", append([]string{"rules", "-f", objects}, strings.Fields(args)...)...)
		assert.Equal(t, exitUsage, status, args)
		assert.Empty(t, out)
		assert.Contains(t, errOut, want)
	}
}

// TestRulesOfAConfigMap: the configuration may be the ConfigMap that kubectl prints, in a file of its own or among the objects.
func TestRulesOfAConfigMap(t *testing.T) {
	const config = `apiVersion: v1
kind: ConfigMap
metadata: {name: kube-proxy, namespace: kube-system, resourceVersion: "7"}
data:
  config.conf: |-
    apiVersion: kubeproxy.config.k8s.io/v1alpha1
    kind: KubeProxyConfiguration
    clusterCIDR: 10.99.0.0/16
  kubeconfig.conf: ""
`
	objects, file := write(t, "objects.yaml", twoFamilies), write(t, "config.yaml", config)
	list := write(t, "list.yaml", "apiVersion: v1\nkind: List\nitems:\n- "+strings.ReplaceAll(strings.TrimSpace(config), "\n", "\n  ")+"\n")
	for _, args := range [][]string{
		{"--config", file}, {"--config", list}, {"-f", file}, {"-f", list}, {"--cluster-cidr", "10.99.0.0/16"},
		{"--config", write(t, "other.yaml", strings.ReplaceAll(config, "10.99", "10.98")), "--cluster-cidr", "10.99.0.0/16"},
	} {
		status, out, errOut := call("", append([]string{"rules", "-f", objects}, args...)...)
		require.Equal(t, exitHeld, status, errOut)
		assert.Contains(t, out, "! -s 10.99.0.0/16 -d 172.30.0.41/32", args)
	}
	for text, want := range map[string]string{
		strings.Replace(config, "clusterCIDR", "clusterCIDRs", 1): `kube-system/kube-proxy:config.conf:3:1: ` +
			`unknown field "clusterCIDRs"`,
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: other}, data: {a: b}}": "no ConfigMap here holds a " +
			"KubeProxyConfiguration",
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: other, namspace: x}, data: {a: b}}": `unknown field "metadata.namspace"`,
	} {
		status, _, errOut := call("", "rules", "-f", objects, "--config", write(t, "bad.yaml", text))
		assert.Equal(t, exitUsage, status)
		assert.Contains(t, errOut, want)
	}
}

// TestRulesDiffLoadsRulesThatNobodyKnows: they are others' rules, and no drift.
func TestRulesDiffLoadsRulesThatNobodyKnows(t *testing.T) {
	for _, tools := range someTools(t) {
		saved := strings.Replace(savedOf(t, tools, "demo-worker"), " -A FORWARD ",
			" -A FORWARD -m geoip --source-country  DE,FR -j TARPIT --honeypot\n[0:0] -A FORWARD ", 1)
		require.Contains(t, saved, "geoip")
		status, out, errOut := call(saved, "rules", "-f", filepath.Join(clusterDump, "objects.yaml"), "--node", "demo-worker",
			"--config", filepath.Join(clusterDump, tools, "demo-worker", "kube-proxy.yaml"), "--diff", "-")
		assert.Equal(t, exitHeld, status, errOut)
		assert.Equal(t, "no drift: kube-proxy would leave the rules of IPv4 and IPv6 as they are\n", out)
	}
}
