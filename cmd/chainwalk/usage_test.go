package main

import (
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
)

func TestVersionIsAFlag(t *testing.T) {
	for _, flag := range []string{"--version", "-v", "-V"} {
		status, out, errOut := call("", flag)
		assert.Equal(t, exitHeld, status, errOut)
		assert.Contains(t, out, "\nGo "+runtime.Version()+"\n", flag)
	}
	status, out, _ := call(small, "run", "-", "-v", "--ways", "none")
	assert.Equal(t, exitHeld, status)
	assert.Contains(t, out, "iptables-legacy and -nft", "-v of run tells more")
}

// TestUsageErrorsSayWhatToWrite: the words of the libraries that read the command line are not for people.
func TestUsageErrorsSayWhatToWrite(t *testing.T) {
	for _, row := range []struct{ args, want string }{
		{"tracee", `chainwalk: unknown command "tracee" (did you mean "trace"?)`},
		{"rue", `chainwalk: unknown command "rue" (did you mean "run"?)`},
		{"fuzz merg", `chainwalk: fuzz: unknown command "merg" (did you mean "merge"?)`},
		{"scenario form", `chainwalk: scenario: unknown command "form" (did you mean "from"?)`},
		{"schema more", `chainwalk: schema: unknown argument "more": it takes scenario, doctor, migrate or certificate`},
		{"fuzz judge", "chainwalk: fuzz judge: no PATH is given"},
		{"rules --restore-inputs", `unknown flag: --restore-inputs (did you mean "--restore-input"?)`},
		{"rules", "-f (--filename) is missing: give the file with Kubernetes objects (repeatable, - is stdin)"},
		{"scenario from", "-f (--filename) is missing: give the file with Kubernetes objects"},
		{"doctor -f -", "--node is missing: give the file with the NodeSnapshot of a node (repeatable, - is stdin)"},
		{"doctor", "-f (--filename) is missing: give the file with Kubernetes objects (repeatable, - is stdin)\n--node is missing"},
		{"rules -f", "-f (--filename) needs a value: give the file with Kubernetes objects"},
		{"fuzz --time 10", `--time 10: want a time with its unit, such as 30s (did you mean "10s"?)`},
		{"fuzz --time 1.5", `(did you mean "1.5s"?)`},
		{"fuzz --time 5min", `(did you mean "5m"?)`},
		{"fuzz --time 2days", `(did you mean "48h"?)`},
		{"fuzz --time soon", "--time soon: want a time with its unit, such as 30s\n"},
		{"fuzz --runs many", "--runs many: want a whole number\n"},
		{"fuzz --seed -1", "--seed -1: want a whole number, at least 0\n"},
		{"fuzz --runs 99999999999999999999", "--runs 99999999999999999999: the number is too small or too large\n"},
		{"fuzz --until-found=perhaps", "--until-found=perhaps: want true or false\n"},
		{"proxy --kube-api-qps fast", "--kube-api-qps fast: want a number\n"},
	} {
		status, out, errOut := call("", strings.Fields(row.args)...)
		assert.Equal(t, exitUsage, status, row.args)
		assert.Empty(t, out, row.args)
		assert.Contains(t, errOut, row.want, row.args)
	}
}

// TestNoFlagSpeaksGo gives every flag of every command a value that it cannot have.
func TestNoFlagSpeaksGo(t *testing.T) {
	refused := 0
	var try func(cmd *cobra.Command, path []string)
	try = func(cmd *cobra.Command, path []string) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if err := f.Value.Set("1x"); err == nil {
				return // any text will do
			}
			_, _, errOut := call("", append(path, "--"+f.Name+"=1x")...)
			assert.Contains(t, errOut, f.Name, path)
			for _, word := range []string{"strconv", "Parse", "invalid syntax", "time:"} {
				assert.NotContains(t, errOut, word, path)
			}
			refused++
		})
		for _, sub := range cmd.Commands() {
			try(sub, append(path[:len(path):len(path)], sub.Name()))
		}
	}
	try(newRootCommand(streams{in: strings.NewReader(""), out: io.Discard, errOut: io.Discard}), nil)
	assert.Greater(t, refused, 40)
}

// TestNoFileSpeaksGo: numbers and times that are none, in what people write and in what tools print.
func TestNoFileSpeaksGo(t *testing.T) {
	scenario := func(more string) []string { return []string{"run", write(t, "s.yaml", more+"\n"+small)} }
	odd := func(rules string) []string {
		return []string{"trace", "--rules", write(t, "rules", "*filter\n:INPUT ACCEPT [0:0]\n"+rules+"\nCOMMIT\n"), "tcp 10.0.0.1:1 > 10.0.0.2:2"}
	}
	from := func(file, text string) []string {
		dir := folder(t, map[string]string{"link.txt": "1: lo: <LOOPBACK,UP> mtu 65536 state UNKNOWN\n", file: text})
		return []string{"snapshot", "--from", dir}
	}
	step := func(step string) []string {
		return []string{"run", write(t, "s.yaml", small+"- "+step+"\n")}
	}
	for name, row := range map[string]struct {
		args []string
		want string
	}{
		"a time of a step": {step("advance: 10"),
			`want a time with its unit, such as 30s, 5m or 1h, got the number 10 (did you mean "10s"?)`},
		"a time in words":      {step("advance: 2 hours"), `got the string "2 hours" (did you mean "2h"?)`},
		"a number of a step":   {step("connect: {from: client, to: 'tcp 172.30.0.41:80', times: many, expect: reject}"), "s.yaml:"},
		"a time of kube-proxy": {scenario("kubeProxy: {iptables: {syncPeriod: 30}}"), `(did you mean "30s"?)`},
		"a number of a rule":   {odd("-A INPUT -p tcp -m tcp --dport many -j ACCEPT"), "rules:3:"},
		"a port of a packet":   {[]string{"trace", "--rules", "-", "tcp 10.0.0.1:x > 10.0.0.2:2"}, "packet: "},
		"a counter of nfacct":  {from("nfacct.txt", "{ pkts = many, bytes = 0 } = ct_state_invalid_dropped_pkts;\n"), ""},
		"a mark of a rule":     {from("rule.json", `[{"priority":0,"src":"all","fwmark":"0xzz","table":"local"}]`), ""},
		"a shard":              {[]string{"fuzz", "--shard", "x/2"}, "want I/N"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, errOut := call("", row.args...)
			assert.NotEmpty(t, errOut)
			assert.Contains(t, errOut, row.want)
			for _, word := range []string{"strconv", "ParseInt", "ParseUint", "ParseFloat", "ParseBool"} {
				assert.NotContains(t, errOut, word)
			}
		})
	}
}
