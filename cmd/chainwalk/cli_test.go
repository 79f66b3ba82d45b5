package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "github.com/chainwalk/chainwalk/internal/garbage"
	"github.com/chainwalk/chainwalk/internal/race"
)

// cases are the shipped scenario files.
const cases = "../../scenarios/testdata/cases"

// call runs the command line with a standard input.
func call(stdin string, args ...string) (status int, out, errOut string) {
	var stdout, stderr bytes.Buffer
	status = run(args, strings.NewReader(stdin), &stdout, &stderr)
	return status, stdout.String(), stderr.String()
}

// write puts a file into a folder of the test's own and returns its path.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// TestRunShippedScenarios runs a few; scenarios/world/sim runs them all.
func TestRunShippedScenarios(t *testing.T) {
	all, err := filepath.Glob(filepath.Join(cases, "*.yaml"))
	require.NoError(t, err)
	assert.GreaterOrEqual(t, len(all), 40, "shipped scenario files")
	few, err := filepath.Glob(filepath.Join(cases, "hairpin*.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, few)
	status, out, errOut := call("", append([]string{"run"}, few...)...)
	require.Equal(t, exitHeld, status, out+errOut)
	assert.Regexp(t, fmt.Sprintf(`^ok    %s: %d scenarios on sim, \d+ checks\n`, regexp.QuoteMeta(cases), len(few)), out)
	status, out, errOut = call("", append([]string{"run", "-v"}, few...)...)
	require.Equal(t, exitHeld, status, out+errOut)
	assert.Equal(t, len(few), strings.Count("\n"+out, "\nok    "), "one verdict each")
}

// TestRunEndsWithAPacketThatIsAnswered, and says nothing on standard error if all held, whatever the proxies log of broken tools and odd
// objects.
func TestRunEndsWithAPacketThatIsAnswered(t *testing.T) {
	status, out, errOut := call("", "run", cases, "--run", "icmp|reject|no-endpoints|fail|family|within-the-first|several")
	require.Equal(t, exitHeld, status, out+errOut)
	assert.Empty(t, errOut)
	for _, text := range []string{"nat:KUBE-SERVICES:rule:", "-j DNAT --to-destination ", "\n      there, ", "\n      back, "} {
		assert.True(t, strings.Contains(out, text), text)
	}
	assert.Regexp(t, `\n        delivered here as [^\n]*\n\n\d+ scenarios, 0 failed, 0 skipped`, out, "its last line")
}

// TestRunTellsWhatWasLoggedWhereItFails.
func TestRunTellsWhatWasLoggedWhereItFails(t *testing.T) {
	odd := strings.Replace(failing("odd"), "endpoints: [{", "endpoints: [{addresses: [\"fd00::9\"]}, {", 1)
	status, out, errOut := call("", "run", write(t, "odd.yaml", odd))
	assert.Equal(t, exitNotHeld, status, errOut)
	assert.Contains(t, out,
		"  logged: Skipping endpoint whose address is not of the slice's type (endpointSlice default/web-1, address fd00::9")
	assert.NotContains(t, errOut, "Skipping")
}

const small = `name: a small scenario
topology: {pods: [{name: client, node: node1}]}
objects:
- apiVersion: v1
  kind: Service
  metadata: {name: web}
  spec: {clusterIP: 172.30.0.41, ports: [{port: 80}]}
- apiVersion: discovery.k8s.io/v1
  kind: EndpointSlice
  metadata: {name: web-1, labels: {kubernetes.io/service-name: web}}
  addressType: IPv4
  ports: [{port: 8080}]
  endpoints: [{addresses: [10.244.2.2], nodeName: node2}]
steps:
- connect: {from: client, to: "tcp 172.30.0.41:80", expect: {endpoints: ["10.244.2.2:8080"], source: kept}}
`

func TestRunWritesAPage(t *testing.T) {
	status, out, errOut := call("", "run", "-o", "html",
		write(t, "scenario.yaml", strings.Replace(small, "source: kept", "source: masqueraded", 1)))
	assert.Equal(t, exitNotHeld, status, errOut)
	for _, want := range []string{
		"<!DOCTYPE html>", "1 of 1 scenario failed", "entry made: tcp SYN_SENT", "ESTABLISHED, a reply of tcp", "<ins>10.244.2.2:8080</ins>",
		"the source is not masqueraded", "nat:KUBE-SERVICES:rule:1", "name: a small scenario\ntopology: {pods: [{name: client",
	} {
		assert.True(t, strings.Contains(out, want), want)
	}
}

// TestPageOfARunSaysWhyEndpointsAreNotReached, with their ways and without.
func TestPageOfARunSaysWhyEndpointsAreNotReached(t *testing.T) {
	file := write(t, "scenario.yaml", strings.Replace(small, "nodeName: node2}", "nodeName: node2, conditions: {ready: false}}", 1))
	for _, ways := range []string{"none", "one"} {
		status, out, errOut := call("", "run", "-o", "html", "--ways", ways, file)
		assert.Equal(t, exitNotHeld, status, errOut)
		assert.Contains(t, out, "<h2>Not reached, and why</h2>\n<dl>\n<div><dt>10.244.2.2:8080</dt><dd>not ready</dd></div></dl>")
	}
}

func TestRunExitStatus(t *testing.T) {
	for _, tc := range []struct {
		name, scenario string
		args           []string
		status         int
		out, errOut    []string // texts that must be there
	}{
		{
			name: "held", scenario: small, status: exitHeld,
			out: []string{"ok    a small scenario", "1 scenario, 0 failed", "DNAT --to-destination 10.244.2.2:8080"},
		},
		{
			name: "an expectation that does not hold", scenario: strings.Replace(small, `["10.244.2.2:8080"]`, `["10.244.2.3:8080"]`, 1),
			status: exitNotHeld,
			out: []string{"FAIL  a small scenario", "scenario.yaml:15:", "tcp 172.30.0.41:80 from client", "10.244.2.3:8080", "10.244.2.2:8080",
				"decided by -A KUBE-SEP-", "nat:KUBE-SERVICES:rule:1"},
		},
		{
			name: "a misspelt field", scenario: strings.Replace(small, "expect:", "expects:", 1), status: exitUsage,
			errOut: []string{"scenario.yaml:15:53: ", `unknown field "steps[0].connect.expects" (did you mean "expect"?)`},
		},
		{
			name: "a word that does not exist", scenario: strings.Replace(small, "source: kept", "source: keep", 1), status: exitUsage,
			errOut: []string{"scenario.yaml:15:", "kept, masqueraded"},
		},
		{name: "an empty file", scenario: "", status: exitUsage, errOut: []string{"scenario.yaml"}},
		{name: "binary garbage", scenario: "\x00\xff\x13name", status: exitUsage, errOut: []string{"scenario.yaml:1:1"}},
		{name: "another backend", scenario: small, args: []string{"--on", "moon"}, status: exitUsage, errOut: []string{"--on moon"}},
		{name: "another output", scenario: small, args: []string{"-o", "xml"}, status: exitUsage,
			errOut: []string{"-o xml: want text, json, junit or html"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := write(t, "scenario.yaml", tc.scenario)
			status, out, errOut := call("", append([]string{"run", path}, tc.args...)...)
			assert.Equal(t, tc.status, status, out+errOut)
			for _, text := range tc.out {
				assert.Contains(t, out, text)
			}
			for _, text := range tc.errOut {
				assert.Contains(t, errOut, text)
			}
			if tc.status == exitUsage && tc.args != nil {
				assert.Empty(t, out, "nothing but the message")
			}
		})
	}
}

func TestRunReportsForPrograms(t *testing.T) {
	path := write(t, "scenario.yaml", small)
	_, out, _ := call("", "run", path, "-o", "json")
	assert.True(t, json.Valid([]byte(out)), out)
	_, out, _ = call("", "run", path, "-o", "junit")
	assert.Contains(t, out, `<testsuite name="a small scenario"`)
}

const node = `{apiVersion: v1, kind: Node, metadata: {name: n1}, spec: {podCIDRs: [10.0.0.0/24]}, ` +
	`status: {addresses: [{type: InternalIP, address: 192.168.0.2}]}}`

func TestRulesOfOddObjects(t *testing.T) {
	service := func(spec string) string {
		return "\n---\n{apiVersion: v1, kind: Service, metadata: {name: web}, spec: " + spec + "}"
	}
	slice := func(fields string) string {
		return "\n---\n{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: web-1, " +
			"labels: {kubernetes.io/service-name: web}}, " + fields + "}"
	}
	for _, tc := range race.Some([]struct {
		name, objects string
		status        int
		want, not     string // texts of the rules, or of the message
	}{
		{name: "leading zeros are decimal", objects: node + service(`{clusterIP: 172.30.0.041, ports: [{port: 80}]}`) +
			slice(`addressType: IPv4, ports: [{port: 80}], endpoints: [{addresses: [10.020.00.001]}]`),
			want: "--to-destination 10.20.0.1:80", not: "041"},
		{name: "a slice without its Service", objects: node + slice(`addressType: IPv4, ports: [{port: 80}], `+
			`endpoints: [{addresses: [10.0.0.9]}]`),
			want: "KUBE-SERVICES", not: "10.0.0.9"},
		{name: "an IPv6 address in an IPv4 slice", objects: node + service(`{clusterIP: 172.30.0.41, ports: [{port: 80}]}`) +
			slice(`addressType: IPv4, ports: [{port: 80}], endpoints: [{addresses: ["fd00::9"]}, {addresses: [10.0.0.9]}]`),
			want: "--to-destination 10.0.0.9:80", not: "fd00::9"},
		{name: "an unknown kind", objects: node + "\n---\n{apiVersion: v1, kind: Gadget, metadata: {name: g}}", status: exitUsage,
			want: "<stdin>:3:"},
		{name: "an unknown field", objects: node + service(`{clusterIPs: [172.30.0.41], port: 80}`), status: exitUsage,
			want: `unknown field "spec.port" (did you mean "ports"?)`},
		{name: "nothing", objects: "", status: exitUsage, want: "no object"},
		{name: "no Node", objects: service(`{clusterIP: 172.30.0.41, ports: [{port: 80}]}`), status: exitUsage, want: "--node-ip"},
		{name: "binary garbage", objects: "\x7fELF\x02\x01\x01\x00", status: exitUsage, want: "<stdin>:1:1"},
		{name: "a line of 2 MB", objects: strings.Repeat("x", 2<<20), status: exitUsage, want: "<stdin>:1:"},
	}, 5) {
		t.Run(tc.name, func(t *testing.T) {
			status, out, errOut := call(tc.objects, "rules", "-f", "-")
			require.Equal(t, tc.status, status, errOut)
			got := out
			if tc.status == exitUsage {
				got = errOut
				assert.Empty(t, out)
			}
			assert.Contains(t, got, tc.want)
			if tc.not != "" {
				assert.NotContains(t, got, tc.not)
			}
			assert.NotContains(t, errOut, "goroutine", "no panic")
		})
	}
}

func TestRulesNodeOptions(t *testing.T) {
	two := node + "\n---\n" + strings.ReplaceAll(strings.Replace(node, "n1", "n2", 1), "192.168.0.2", "192.168.0.3")
	status, _, errOut := call(two, "rules", "-f", "-")
	assert.Equal(t, exitUsage, status)
	assert.Contains(t, errOut, "choose one with --node: n1, n2")

	status, _, errOut = call(two, "rules", "-f", "-", "--node", "n3")
	assert.Equal(t, exitUsage, status)
	assert.Contains(t, errOut, `no Node object is named "n3": the objects have n1, n2`)

	status, out, errOut := call(two, "rules", "-f", "-", "--node", "n3", "--node-ip", "192.168.0.9")
	assert.Equal(t, exitHeld, status, errOut)
	assert.Contains(t, out, "KUBE-SERVICES")

	status, out, errOut = call(two, "rules", "-f", "-", "--node", "n2", "--restore-input")
	assert.Equal(t, exitHeld, status, errOut)
	assert.True(t, strings.HasPrefix(out, "*filter\n:KUBE-SERVICES - [0:0]\n"), out[:60])
	assert.Equal(t, 2, strings.Count(out, "*nat\n"), "one input for each family")
}

func TestTraceWalksEveryDump(t *testing.T) {
	for _, tools := range dumpTools {
		for _, name := range dumpNodes {
			for file, packet := range map[string]string{
				"iptables-save.txt":  "tcp 10.244.7.7:40000 > 10.96.125.22:80 in veth9",
				"ip6tables-save.txt": "tcp [fd00:10:244:7::7]:40000 > [fd00:10:96::2b36]:80 in veth9",
			} {
				path := filepath.Join(clusterDump, tools, name, file)
				status, out, errOut := call("", "trace", "--tools", tools, "--rules", path, "-o", "json", packet)
				require.Equal(t, exitHeld, status, path+": "+errOut)
				var result struct {
					Version  int
					Outcomes []struct {
						Probability float64
						Verdict, To string
						DNAT        string
					}
				}
				require.NoError(t, json.Unmarshal([]byte(out), &result))
				assert.Equal(t, 1, result.Version)
				require.Len(t, result.Outcomes, 3, path)
				sum := 0.0
				for _, o := range result.Outcomes {
					sum += o.Probability
					assert.Equal(t, "accept", o.Verdict, path)
					assert.Equal(t, "forward", o.To, path)
					assert.True(t, strings.HasSuffix(o.DNAT, ":8080"), o.DNAT)
				}
				assert.InDelta(t, 1, sum, 1e-12)
			}
		}
	}
}

func TestTraceErrors(t *testing.T) {
	rules := write(t, "rules", "*filter\n:INPUT ACCEPT [0:0]\n-A INPUT -p tcp -m tcp --dporf 80 -j ACCEPT\nCOMMIT\n")
	odd := write(t, "odd", "version: 1\nhostnam: n1\n")
	good := write(t, "good", "*filter\n:INPUT ACCEPT [0:0]\nCOMMIT\n")
	for _, tc := range []struct {
		name string
		args []string
		want string
	}{
		{"no rules", []string{"tcp 10.0.0.1:1 > 10.0.0.2:2"}, "--node is missing: give the file with a NodeSnapshot"},
		{"an unknown word", []string{"--rules", rules, "tcp 10.0.0.1:1 > 10.0.0.2:2"}, "rules:3:24: unknown option"},
		{"no such file", []string{"--rules", "nowhere", "tcp 10.0.0.1:1 > 10.0.0.2:2"}, "nowhere"},
		{"no packet", []string{"--rules", good, "tcp 10.0.0.1:1"}, "packet: "},
		{"both families", []string{"--rules", good, "tcp 10.0.0.1:1 > [fd00::1]:2"}, "packet: "},
		{"no address", []string{"--rules", good, "--local", "here", "tcp 10.0.0.1:1 > 10.0.0.2:2"}, `--local: "here" is not an IP address`},
		{"no snapshot", []string{"--node", rules, "tcp 10.0.0.1:1 > 10.0.0.2:2 in eth0"},
			"rules is what iptables-save prints, not a NodeSnapshot: give it to \"chainwalk trace --rules\""},
		{"a field that no snapshot has", []string{"--node", odd, "tcp 10.0.0.1:1 > 10.0.0.2:2 in eth0"}, "odd:2:1: "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			status, out, errOut := call("", append([]string{"trace"}, tc.args...)...)
			assert.Equal(t, exitUsage, status)
			assert.Empty(t, out)
			assert.Contains(t, errOut, tc.want)
		})
	}
}

func TestSchemaIsTheOneInDocs(t *testing.T) {
	status, out, errOut := call("", "schema")
	require.Equal(t, exitHeld, status, errOut)
	shipped, err := os.ReadFile("../../docs/scenario.schema.json")
	require.NoError(t, err)
	assert.Equal(t, string(shipped), out, "go run ./cmd/chainwalk schema > docs/scenario.schema.json")
}

func TestCompletion(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		status, out, _ := call("", "completion", shell)
		assert.Equal(t, exitHeld, status)
		assert.Contains(t, out, "chainwalk", shell)
	}
	_, out, _ := call("", "__complete", "run", "--output", "")
	assert.Contains(t, out, "junit", "values of flags are completed")
}

func TestUnknownCommand(t *testing.T) {
	status, _, errOut := call("", "wlak")
	assert.Equal(t, exitUsage, status)
	assert.Contains(t, errOut, `unknown command "wlak"`)
}

func TestTraceOfASnapshot(t *testing.T) {
	snapshot := filepath.Join(clusterDump, "legacy", "demo-worker.yaml")
	for _, tc := range []struct {
		name, packet string
		want         []string
		not          string
	}{
		{
			name: "a first packet", packet: "tcp 10.244.2.2:40000 > 10.96.125.22:80 in vethb0aa81ba",
			want: []string{"shop/web:http -> 3 endpoints, 1/3 each, source kept, forwarded by eth0 or vethb246c797\n",
				"outcome 1 of 3, 1/3: to 10.244.1.2:8080, source kept, forwarded by eth0 to 172.18.0.2",
				"destination 10.96.125.22:80 becomes 10.244.1.2:8080"},
		},
		{
			name: "a live connection", packet: "tcp 172.18.0.3:55080 > 172.18.0.4:6443 local flags ACK",
			want: []string{"packet of a known connection: sent by eth0 to 172.18.0.4\n"}, not: "nat:",
		},
		{
			name: "masquerade to a pod of the node", packet: "tcp 172.18.0.3:50000 > 10.96.233.187:80 local",
			want: []string{"source 172.18.0.3:50000 becomes 10.244.2.1:?, a port that the kernel chooses (SNAT)"},
		},
		{
			name: "nobody serves it", packet: "tcp 172.18.0.1:50000 > 172.18.0.3:30084 in eth0",
			want: []string{"rejected: shop/empty:http has no endpoints\n", "answers: icmp 172.18.0.3 > 172.18.0.1 type 3/3; sent by eth0"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			status, out, errOut := call("", "trace", "--node", snapshot, tc.packet)
			require.Equal(t, exitHeld, status, errOut)
			for _, text := range tc.want {
				assert.Contains(t, out, text)
			}
			if tc.not != "" {
				assert.NotContains(t, out, tc.not)
			}
		})
	}
}

func TestTraceAsAPageAndAsADiagram(t *testing.T) {
	snapshot := filepath.Join(clusterDump, "legacy", "demo-worker.yaml")
	args := []string{"trace", "--node", snapshot, "tcp 10.244.2.2:40000 > 10.96.125.22:80 in vethb0aa81ba", "-o"}
	status, out, errOut := call("", append(args, "html")...)
	require.Equal(t, exitHeld, status, errOut)
	for _, want := range []string{"<!DOCTYPE html>", "shop/web:http -&gt; 3 endpoints", "nat:KUBE-SERVICES:rule:16",
		"<ins>10.244.1.2:8080</ins>", "decided here", "15 rules did not match, 1 nearly",
		`failed: -p udp`} {
		assert.True(t, strings.Contains(out, want), want)
	}
	status, out, errOut = call("", append(args, "mermaid")...)
	require.Equal(t, exitHeld, status, errOut)
	assert.Contains(t, out, "flowchart TD\n")
	assert.Equal(t, 3, strings.Count(out, ":::decided"), out)
	status, _, errOut = call("", append(args, "dot")...)
	assert.Equal(t, exitUsage, status)
	assert.Contains(t, errOut, "want text, json, html or mermaid")
}

func TestTraceSaysThatThereAreNoRules(t *testing.T) {
	status, _, errOut := call("", "trace", "--rules", "-", "tcp 10.0.0.1:1 > 10.0.0.2:2")
	assert.Equal(t, exitHeld, status, "a kernel without tables lets everything pass")
	assert.Contains(t, errOut, "<stdin> holds no table")
}

// TestTraceTellsMoreOrLess: --summary has no steps, --all-rules those rules that did not match as well, and colours are for terminals.
func TestTraceTellsMoreOrLess(t *testing.T) {
	const rules = "*filter\n:FORWARD DROP [0:0]\n-A FORWARD -p udp -j ACCEPT\n-A FORWARD -p sctp -j ACCEPT\nCOMMIT\n"
	file := write(t, "rules.txt", rules)
	trace := func(flags ...string) string {
		status, out, errOut := call("", append([]string{"trace", "--rules", file, "tcp 10.0.0.1:1 > 10.0.0.2:80"}, flags...)...)
		require.Equal(t, exitHeld, status, errOut)
		return out
	}
	const sentence = "dropped by the policy of filter FORWARD"
	assert.Equal(t, sentence+"\npacket: tcp 10.0.0.1:1 > 10.0.0.2:80 in eth0\n", trace("--summary"))
	assert.NotContains(t, trace(), "rule:1")
	assert.Contains(t, trace("--all-rules"), "filter:FORWARD:rule:1    -A FORWARD -p udp -j ACCEPT  <- no match: -p udp\n")
	assert.Contains(t, trace("--all-rules", "-o", "json"), `"failed": "-p sctp"`)
	assert.True(t, strings.HasPrefix(trace("--color", "always"), "\x1b[1m"+sentence+"\x1b[0m\n"))
	t.Setenv("NO_COLOR", "1")
	assert.Equal(t, trace("--color", "never"), trace())
	status, _, errOut := call("", "trace", "--rules", file, "--color", "red", "tcp 10.0.0.1:1 > 10.0.0.2:80")
	assert.Equal(t, exitUsage, status)
	assert.Equal(t, "chainwalk: --color red: want auto, always or never\n", errOut)
}

// TestTraceSaysWhatARuleThatNobodyKnowsMayDo: other packets are traced, whatever else is in the rules.
func TestTraceSaysWhatARuleThatNobodyKnowsMayDo(t *testing.T) {
	const rules = "*filter\n:INPUT ACCEPT [0:0]\n:FORWARD DROP [0:0]\n:OUTPUT ACCEPT [0:0]\n" +
		"[3:4] -A FORWARD -p tcp -m tcp --dport 22 -m geoip ! --source-country  DE,FR -j ACCEPT\n-A FORWARD -p udp -j LOGMARK\nCOMMIT\n"
	file := write(t, "rules.txt", rules)
	for _, tools := range []string{"legacy", "nft"} {
		status, out, errOut := call("", "trace", "--rules", file, "--tools", tools, "tcp 10.0.0.1:1 > 10.0.0.2:80")
		assert.Equal(t, exitHeld, status, errOut)
		assert.Contains(t, out, "filter:FORWARD:policy:3")
		status, out, errOut = call("", "trace", "--rules", file, "--tools", tools, "tcp 10.0.0.1:1 > 10.0.0.2:22")
		assert.Equal(t, exitNotHeld, status)
		assert.True(t, strings.HasPrefix(out, "NOT KNOWN: the packet meets a rule that chainwalk does not know: "+
			"if -m geoip matches at filter:FORWARD:rule:1, forwarded as it was by eth0 to 10.0.0.2; "+
			"if -m geoip does not match at filter:FORWARD:rule:1, dropped by the policy of filter FORWARD\n"), out)
		assert.Equal(t, "chainwalk: host node: not supported: an extension that is not known: match geoip of filter:FORWARD:rule:1 ("+file+
			", line 5: -A FORWARD -p tcp -m tcp --dport 22 -m geoip ! --source-country  DE,FR -j ACCEPT)\n", errOut)
		status, out, errOut = call("", "trace", "--rules", file, "--tools", tools, "-o", "json", "udp 10.0.0.1:1 > 10.0.0.2:22")
		assert.Contains(t, out, `"opaque": "not supported: an extension that is not known: target LOGMARK of filter:FORWARD:rule:2`)
		assert.Contains(t, out, `"verdict": "unknown"`)
		assert.Equal(t, exitNotHeld, status)
		assert.Contains(t, errOut, "target LOGMARK of filter:FORWARD:rule:2 ("+file+", line 6: -A FORWARD -p udp -j LOGMARK)")
	}
}
