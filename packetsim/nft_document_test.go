package packetsim

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/fakenft"
	"github.com/chainwalk/chainwalk/internal/kerneltest"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

const nftPath = "../docs/nftables.md"

// TestNFTDocumentIsFresh compares docs/nftables.md with what the tool and the walk do with each sample.
func TestNFTDocumentIsFresh(t *testing.T) {
	text := nftDocument(t)
	if *update {
		require.NoError(t, os.WriteFile(nftPath, []byte(text), 0o644))
	}
	written, err := os.ReadFile(nftPath)
	require.NoError(t, err)
	assert.Equal(t, text, string(written), "stale: go test ./packetsim -run TestNFTDocumentIsFresh -update")
}

// TestKernelNFTSamples: the real nft lists the samples as they are written.
func TestKernelNFTSamples(t *testing.T) {
	kerneltest.Need(t, "nft", "ip")
	ns := kerneltest.New(t)
	ns.Must("ip link set lo up")
	for _, part := range nftSamples {
		for _, s := range part.samples {
			loaded := ns.Run([]string{"nft", "-f", "-"}, "flush ruleset\n"+s.listing())
			if loaded.Status != 0 && nftKernelLacks[part.title+" "+s.name] {
				continue
			}
			if assert.Zero(t, loaded.Status, "%s %s: %s", part.title, s.name, loaded.Stderr) {
				assert.Equal(t, s.listing(), ns.Run([]string{"nft", "list", "ruleset"}, "").Stdout, "%s %s", part.title, s.name)
			}
		}
	}
}

// nftKernelLacks are samples that a kernel refuses that was built without nft_queue, nft_meta_bridge, nf_flow_table or SELinux.
var nftKernelLacks = map[string]bool{"Statements queue": true, "Statements flow add": true, "Objects secmark": true,
	"Keys of meta ibrname": true,
	"Keys of meta obrname": true, "Keys of meta ibrpvid": true, "Keys of meta ibrvproto": true}

func (s *nftSample) familyWord() string { return orElse(s.family, "inet") }

func (s *nftSample) chainWords() string { return orElse(s.chain, nftForward) }

func orElse(word, otherwise string) string {
	if word == "" {
		return otherwise
	}
	return word
}

// listing is the table as nft lists it. Chains come behind sets, in the order in which they are made.
func (s *nftSample) listing() string {
	return fmt.Sprintf("table %s t {\n%s\tchain b {\n\t\t%s\n\t\t%s\n\t}\n}\n", s.familyWord(), s.block, s.chainWords(), s.rule)
}

// nftAnswer is what became of a sample.
type nftAnswer struct {
	read, listed, walked bool
	says                 string // what refuses it, or what a packet lacks
}

// ask gives the sample to the tool, and a packet to its rule.
func (s *nftSample) ask(t *testing.T) nftAnswer {
	tools := fakenft.New(fakenft.Options{})
	status, _, stderr := runNFT(tools, s.listing(), "-f", "-")
	if status != 0 {
		return nftAnswer{says: firstMessage(stderr)}
	}
	_, listed, _ := runNFT(tools, "", "list", "ruleset")
	a := nftAnswer{read: true, listed: listed == s.listing()}
	table := tools.Kernel().State().Tables()[0]
	static := nftWalks(table)
	if static != nil {
		_, a.says, _ = strings.Cut(static.Error(), "expression ")
		a.says, _, _ = strings.Cut(a.says, " (chain ")
	}
	s.bare(table)
	h, err := NewHost(HostConfig{Devices: testDevices(), Routes: testRoutes(), Netfilter: tools.Namespace(),
		Sysctls: map[string]string{"net.ipv4.ip_forward": "1", "net.ipv6.conf.all.forwarding": "1"}})
	require.NoError(t, err)
	o, err := h.Step(s.packet(t), &replayChance{})
	named := &ExpressionError{}
	switch {
	case errors.As(err, &named) && strings.HasPrefix(named.Expression, "not supported: "):
		assert.NotNil(t, static, "%s: nftWalks says nothing of: %s", s.name, named.Expression)
		a.says = strings.TrimPrefix(named.Expression, "not supported: expression ")
		return a
	case errors.As(err, &named):
		a.says = named.Expression
	case err != nil:
		a.says = err.Error()
	case !s.met(&o):
		a.says = orElse(a.says, "packets are not walked through such chains")
		return a
	}
	a.walked = static == nil
	assert.NoError(t, static, s.name)
	return a
}

// met says whether the packet came by the chain: its end is told, or else the verdict of its rule.
func (s *nftSample) met(o *Outcome) bool {
	return slices.ContainsFunc(o.Steps, func(step Step) bool { return step.Table == "t" && step.Chain == "b" })
}

// bare takes the comparisons from the rule, so that every packet comes to what is behind them.
func (s *nftSample) bare(table *nftables.Table) {
	for _, rule := range table.Chain("b").Rules {
		if m, is := rule.Exprs[0].(*expr.Meta); is && m.Key == expr.MetaPRandom {
			continue // of a number of which no comparison is known there is no draw
		}
		rule.Exprs = slices.DeleteFunc(slices.Clone(rule.Exprs), func(x expr.Expr) bool {
			switch x.(type) {
			case *expr.Cmp, *expr.Range:
				return true
			}
			return false
		})
	}
}

// packet is one that comes to the hook of the sample, if any does.
func (s *nftSample) packet(t *testing.T) inet.Input {
	way := "tcp @1:1000 > @2:80 in veth1"
	_, hook, _ := strings.Cut(s.chainWords(), " hook ")
	switch hook, _, _ = strings.Cut(hook, " "); hook {
	case "input":
		way = "tcp @1:1000 > @self:80 in veth1"
	case "output":
		way = "tcp @self:1000 > @2:80 local"
	}
	if s.familyWord() == "ip6" {
		way = strings.NewReplacer("@1:", "[fd00:2::11]:", "@2:", "[fd00:2::12]:", "@self:", "[fd00:1::3]:").Replace(way)
	}
	return parse(t, strings.NewReplacer("@1", "10.244.0.11", "@2", "10.244.0.12", "@self", "192.168.0.3").Replace(way))
}

func runNFT(tools *fakenft.Tools, stdin string, args ...string) (status int, stdout, stderr string) {
	var out, errs bytes.Buffer
	status = tools.Run(append([]string{"nft"}, args...), strings.NewReader(stdin), &out, &errs)
	return status, out.String(), errs.String()
}

// firstMessage is the text of the first mistake, without its place.
func firstMessage(stderr string) string {
	line, _, _ := strings.Cut(stderr, "\n")
	if _, text, is := strings.Cut(line, "Error: "); is {
		return text
	}
	return line
}

// nftCommands are the commands and options of nft, with what they work on.
var nftCommands = []string{
	"add table ip n", "create table ip n", "delete table ip t", "list table ip t", "flush table ip t", "list tables", "list tables ip",
	"add chain ip t n", "create chain ip t n", "delete chain ip t c", "rename chain ip t c n", "list chain ip t b",
	"flush chain ip t b", "list chains",
	"add rule ip t b accept", "insert rule ip t b accept", "insert rule ip t b index 0 accept", "replace rule ip t b handle @rule accept",
	"delete rule ip t b handle @rule", "list ruleset", "list ruleset ip", "flush ruleset",
	"add set ip t n { type mark; }", "delete set ip t d", "list set ip t s", "flush set ip t s", "list sets",
	"add map ip t n { type mark : verdict; }", "delete map ip t m", "list map ip t m", "flush map ip t m", "list maps",
	"add element ip t s { 10.0.0.2 }", "create element ip t s { 10.0.0.2 }", "delete element ip t s { 10.0.0.1 }",
	"get element ip t s { 10.0.0.1 }",
	"add counter ip t n", "delete counter ip t o", "list counter ip t o", "list counters", "reset counter ip t o", "reset counters",
	"add quota ip t n { 5 mbytes }", "list quotas", "reset quotas", "add limit ip t n { rate 5/second }", "list limits",
	"list ct helpers table ip t", "list ct timeout table ip t", "list ct expectation table ip t", "list synproxys", "list secmarks",
	"add flowtable ip t n { hook ingress priority 0; devices = { lo }; }", "list flowtables", "list meters", "list hooks",
	"reset rules", "describe tcp dport", "describe ipv4_addr", "monitor", "export json", "import json",
	"--file FILE", "--define a=b --file FILE", "--includepath /x --file FILE", "--interactive", "--check add table ip n",
	"--optimize --file FILE",
	"--handle list ruleset", "--stateless list ruleset", "--terse list ruleset", "--service list ruleset", "--reversedns list ruleset",
	"--guid list ruleset", "--numeric list ruleset", "--numeric-priority list ruleset", "--numeric-protocol list ruleset",
	"--numeric-time list ruleset", "--echo add table ip n", "--json list ruleset", "--json --file JSON", "--debug all list ruleset",
	"--debug netlink add table ip n", "--version", "--help",
}

const nftCommandRules = `table ip t {
	counter o { }
	set s { type ipv4_addr; elements = { 10.0.0.1 }; }
	set d { type ipv4_addr; }
	map m { type ipv4_addr : verdict; }
	chain b { type filter hook forward priority 0; ip saddr @s drop; }
	chain c { }
}
`

// askNFT runs a command. It is empty if nft takes it, or else what it says.
func askNFT(t *testing.T, command string) string {
	tools := fakenft.New(fakenft.Options{})
	status, _, stderr := runNFT(tools, nftCommandRules, "-f", "-")
	require.Zero(t, status, stderr)
	stdin := "add table ip n\n"
	if strings.Contains(command, "JSON") {
		stdin = `{"nftables": [{"add": {"table": {"family": "ip", "name": "n"}}}]}`
	}
	rule := tools.Kernel().State().Table(nftables.IPv4, "t").Chain("b").Rules[0]
	command = strings.NewReplacer("FILE", "-", "JSON", "-", "@rule", fmt.Sprint(rule.Handle)).Replace(command)
	status, _, stderr = runNFT(tools, stdin, strings.Fields(command)...)
	if status != 0 || strings.Contains(stderr, "does not support") {
		return orElse(firstMessage(stderr), "fails")
	}
	return ""
}

func nftDocument(t *testing.T) string {
	var out strings.Builder
	out.WriteString(`# nftables

This page lists the expressions, statements, objects, commands and options of ` + "`nft`" + ` 1.0.6, and says which of them
chainwalk supports. [extensions.md](extensions.md) does so for iptables. The page is generated: a test gives each example
to the fake tool, lists the result, and walks a packet to its rule
(` + "`go test ./packetsim -run TestNFTDocumentIsFresh -update`" + `). ` + "`make kernel`" + ` compares the examples with the real tool.

- **read**: the fake tool ` + "`nft`" + ` ([tools.md](tools.md)) takes the example, as does the real one.
- **listed**: ` + "`nft list ruleset`" + ` prints it as the real tool does.
- **walked**: chainwalk walks packets through such a rule. ` +
		`Without a walk, chainwalk does not know what the rule does to a packet that
  reaches it and matches the rest of the rule: ` +
		"`trace`" + ` follows both answers ([trace.md](trace.md#rules-with-unknown-extensions)). Other packets are not affected.
- **error**: the message. If the walk is supported, it names the field that the packet of the test lacks.
`)
	for _, part := range nftSamples {
		fmt.Fprintf(&out, "\n## %s\n\n| name | example | read | listed | walked | error |\n|---|---|---|---|---|---|\n", part.title)
		for _, s := range part.samples {
			a := s.ask(t)
			fmt.Fprintf(&out, "| %s | %s | %s | %s | %s | %s |\n",
				cell(s.name), s.example(part.title), yes(a.read), yes(a.listed), yes(a.walked), cell(a.says))
		}
	}
	out.WriteString("\n## Commands and options\n\n| nft | supported | error |\n|---|---|---|\n")
	for _, command := range nftCommands {
		says := askNFT(t, command)
		fmt.Fprintf(&out, "| `%s` | %s | %s |\n", strings.ReplaceAll(command, "@rule", "5"), yes(says == ""), cell(says))
	}
	out.WriteString("\n`nft list hooks` prints all functions that the kernel calls at its hooks, those of other parts of it too. " +
		"A module says which they\nare (nfnetlink_hook): where the kernel has none, `nft` 1.0.6 prints nothing, and with `--json` it always " +
		"ends by a signal. So chainwalk does\nnot answer it.\n")
	return out.String()
}

// example is what the page shows of the sample, in a line.
func (s *nftSample) example(title string) string {
	text := s.rule
	switch {
	case title == "Tables and chains":
		text = s.chainWords()
	case title == "Objects", title == "Sets and maps":
		text = s.block
	}
	if s.family != "" && title != "Tables and chains" {
		text = "table " + s.family + ": " + text
	}
	return "`" + strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", `\|`) + "`"
}

func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
