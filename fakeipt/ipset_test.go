package fakeipt

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/chainwalk/chainwalk/netfilter"
)

// setNoise are the numbers of a set that the real kernel draws, and setMemory those that depend on them where there are many elements.
var (
	setNoise  = regexp.MustCompile(`(initval(?: |>)0x)[0-9a-f]+`)
	setMemory = regexp.MustCompile(`(Size in memory: |<memsize>)[0-9]+`)
)

// setTime is the time that is left to an entry.
var setTime = regexp.MustCompile(`(?m)^(add .*|\d\S*|[a-f]\S*:\S*)( timeout )[1-9]\d*`)

// xmlTime is the same in XML.
var xmlTime = regexp.MustCompile(`<timeout>[1-9]\d*<`)

// setOutput is the output of ipset without what is different from run to run, and with elements in order.
func setOutput(out string) string {
	return setOutputWithMemory(setMemory.ReplaceAllString(out, "${1}N"))
}

func setOutputWithMemory(out string) string {
	out = setTime.ReplaceAllString(setNoise.ReplaceAllString(out, "${1}N"), "${1}${2}N")
	out = xmlTime.ReplaceAllString(out, "<timeout>N<")
	lines := strings.SplitAfter(out, "\n")
	members := func(line string) bool { return strings.HasPrefix(line, "add ") || strings.HasPrefix(line, "<member>") }
	inList := false
	for i := 0; i < len(lines); {
		inList = inList && strings.TrimSpace(lines[i]) != "$" && !strings.HasPrefix(lines[i], "2> ") || lines[i] == "Members:\n"
		start := i
		for i < len(lines) && (members(lines[i]) || inList && lines[i] != "Members:\n" && lines[i] != "$\n" && lines[i] != "") {
			i++
		}
		slices.Sort(lines[start:i])
		i = max(i, start+1)
	}
	return strings.Join(lines, "")
}

// runSetsFile runs a file of "run" and "ipset-restore" directives. With the argument "memory" the sizes of sets are compared as well.
func runSetsFile(t *testing.T, path string, m machine) {
	m.reset(t)
	datadriven.RunTest(t, path, func(t *testing.T, td *datadriven.TestData) string {
		out, cleaned := "", setOutput
		if td.HasArg("memory") {
			cleaned = setOutputWithMemory
		}
		if td.Cmd == "ipset-restore" {
			argv := []string{"ipset", "restore"}
			for _, a := range td.CmdArgs {
				if a.Key != "memory" {
					argv = append(argv, "-"+a.Key)
				}
			}
			out = result(m.run(t, argv, td.Input+"\n"))
		} else {
			for line := range strings.Lines(td.Input) {
				one := *td
				one.Input = line
				if got := cleaned(runCase(t, m, netfilter.Legacy, &one)); got != "" {
					out += "$ " + strings.TrimSpace(line) + "\n" + got
				}
			}
		}
		if out = cleaned(out); out == "" {
			return "ok\n"
		}
		return out
	})
}

func TestSetsOnTheFakeKernel(t *testing.T) {
	datadriven.Walk(t, "testdata/ipset", func(t *testing.T, path string) {
		runSetsFile(t, path, newFakeMachine(netfilter.Legacy))
	})
}

// Pieces of ipset commands of the generator. Not among them: ranges in sets with a netmask, and ADDRESS/32 as the second
// address of hash:ip,port,ip, of which the real tool says itself that it has a bug.
var (
	genSetNames = []string{"a", "b", "l", "gone"}
	genSetTypes = []string{"hash:ip", "hash:net", "hash:ip,port", "hash:net,port", "hash:ip,port,ip", "hash:ip,port,net",
		"bitmap:port range 1-100", "list:set"}
	genSetOptions = []string{"", "", "family inet6", "timeout 0", "counters", "comment", "maxelem 3", "skbinfo", "forceadd",
		"hashsize 64 netmask 24", "netmask 64 family inet6", "timeout 500 skbinfo", "size 5",
		"counters comment timeout 0 family inet6"}
	genSetAddrs  = []string{"10.0.0.1", "10.0.0.0/28", "10.0.0.3-10.0.0.9", "10.1.0.0/30", "fd00::1", "fd00::/16", "0.0.0.0/0", "::/0", "x"}
	genSetPorts  = []string{"80", "udp:53", "tcp:9", "5-7", "tcp:0", "sctp:9", "0", "http", "99:0", "tcp:70000"}
	genSetExtras = []string{"", "", "", "nomatch", "timeout 0", "packets 5 bytes 6", "comment c", "before a", "after h",
		"nonesuch", "timeout 900", "skbmark 0x1/0xff", "skbprio 1:2 skbqueue 3", "packets -1"}
)

// genElement draws an element, mostly of as many parts as the type has.
func genElement(t *rapid.T, kind string) string {
	if kind == "list:set" {
		return rapid.SampledFrom(genSetNames).Draw(t, "member")
	}
	_, parts, _ := strings.Cut(kind, ":")
	parts, _, _ = strings.Cut(parts, " ")
	var words []string
	for part := range strings.SplitSeq(parts, ",") {
		if part == "port" {
			words = append(words, rapid.SampledFrom(genSetPorts).Draw(t, "port"))
		} else {
			words = append(words, rapid.SampledFrom(genSetAddrs).Draw(t, "addr"))
		}
	}
	if rapid.IntRange(0, 20).Draw(t, "odd") == 0 {
		words = words[1:]
	}
	return strings.Join(words, ",")
}

// genSetCommand draws a command; types are the types of the sets, as far as the generator knows.
func genSetCommand(t *rapid.T, types map[string]string) string {
	name := rapid.SampledFrom(genSetNames[:3]).Draw(t, "name")
	words := []string{"ipset"}
	op := rapid.SampledFrom([]string{"create", "add", "add", "add", "add", "del", "test", "test", "save", "list", "list -o xml",
		"save -o plain", "list -t", "swap", "rename", "flush", "destroy"}).Draw(t, "op")
	switch op {
	case "create":
		kind := rapid.SampledFrom(genSetTypes).Draw(t, "type")
		if types[name] == "" {
			types[name] = kind
		}
		words = append(words, op, name, kind, rapid.SampledFrom(genSetOptions).Draw(t, "options"))
	case "add", "del", "test":
		kind := types[name]
		if kind == "" {
			kind = "hash:ip"
		}
		words = append(words, op, name, genElement(t, kind), rapid.SampledFrom(genSetExtras).Draw(t, "extras"))
	case "swap", "rename":
		words = append(words, op, name, rapid.SampledFrom(genSetNames).Draw(t, "other"))
	default:
		words = append(words, op, name)
	}
	if rapid.IntRange(0, 3).Draw(t, "exist") == 0 {
		words = append(words, "-exist")
	}
	return strings.Join(words, " ")
}

// orderedElements are elements for each hash type, of addresses under a prefix that is %s.
var orderedElements = map[string]string{
	"hash:ip": "%s", "hash:net": "%s/NET", "hash:ip,port": "%s,udp:PORT", "hash:net,port": "%s/NET,tcp:PORT",
	"hash:ip,port,ip": "%s,sctp:PORT,OTHER", "hash:ip,port,net": "%s,udp:PORT,OTHER/NET",
}

// orderedSets are commands that fill a set of each hash type and family with so many elements in an order of their own.
func orderedSets(elements int) string {
	var b strings.Builder
	for _, family := range []string{"inet", "inet6"} {
		for _, name := range slices.Sorted(maps.Keys(orderedElements)) {
			set := fmt.Sprintf("%s-%s", strings.ReplaceAll(name, ":", "-"), family)
			fmt.Fprintf(&b, "create %s %s family %s hashsize 64 initval 0x%x\n", set, name, family, 0xbeef+len(set))
			for i := range elements {
				n := i * 7919 % elements
				addr, other, net := fmt.Sprintf("10.%d.%d.0", n>>8, n&255), fmt.Sprintf("10.9.%d.0", n&31), 24+n%2
				if family == "inet6" {
					addr, other, net = fmt.Sprintf("fd00:%x:%x::", n>>8, n&255), fmt.Sprintf("fd09:0:%x::", n&31), 64+n%2
				}
				element := strings.NewReplacer("%s", addr, "OTHER", other, "NET", fmt.Sprint(net), "PORT", fmt.Sprint(1+n)).
					Replace(orderedElements[name])
				fmt.Fprintf(&b, "add %s %s\n", set, element)
			}
		}
	}
	return b.String()
}

// TestSetsAreOrderedByTheirHash holds that the same initval gives the same order, whichever order elements are added in, and another one
// another.
func TestSetsAreOrderedByTheirHash(t *testing.T) {
	saved := func(initval string, elements ...string) string {
		m := newFakeMachine(netfilter.Legacy)
		input := "create x hash:ip initval " + initval + "\nadd x " + strings.Join(elements, "\nadd x ") + "\n"
		_, stderr, status := m.run(t, []string{"ipset", "restore"}, input)
		require.Zero(t, status, stderr)
		out, _, _ := m.run(t, []string{"ipset", "save"}, "")
		_, out, _ = strings.Cut(out, "\n")
		return out
	}
	// As Linux 6.18 lists them.
	const want = "add x 10.0.0.4\nadd x 10.0.0.3\nadd x 10.0.0.6\nadd x 10.0.0.1\n" +
		"add x 10.0.0.8\nadd x 10.0.0.5\nadd x 10.0.0.2\nadd x 10.0.0.7\n"
	elements := []string{"10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.5", "10.0.0.6", "10.0.0.7", "10.0.0.8"}
	assert.Equal(t, want, saved("0x1234", elements...))
	slices.Reverse(elements)
	assert.Equal(t, want, saved("0x1234", elements...))
	assert.NotEqual(t, want, saved("0x1235", elements...))
}
