package plan

import (
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/oracle"
)

// filterOf reads what rules of others let pass on a node, of one family. It is false if they drop packets, and it cannot tell which.
func filterOf(preloads []scenarios.Preload, node string, family scenarios.IPFamily) (oracle.Filter, bool) {
	t := table{policies: map[string]string{}, rules: map[string][]string{}}
	for i := range preloads {
		if p := &preloads[i]; p.IsFor(node) && (p.Family == family || p.Family == "" && family == scenarios.FamilyIPv4) {
			t.read(p.Save)
		}
	}
	var f oracle.Filter
	if t.policies["OUTPUT"] == policyDrop {
		return f, false
	}
	for _, chain := range []string{"INPUT", "FORWARD", "OUTPUT"} {
		if t.policies[chain] != policyDrop && t.stops(chain, map[string]bool{}) {
			return f, false
		}
	}
	var ok bool
	if t.policies["INPUT"] == policyDrop {
		if f.Input, ok = t.passes("INPUT"); !ok || !slices.Contains(f.Input, known) {
			return f, false
		}
	}
	if t.policies["FORWARD"] == policyDrop {
		if f.Forward, ok = t.passes("FORWARD"); !ok {
			return f, false
		}
		f.Forward = append(f.Forward, known) // not nil
	}
	return f, true
}

const policyDrop = "DROP"

// kubernetes begins the names of the chains of service proxies and of the kubelet, which drop only what they promise to.
const kubernetes = "KUBE-"

// known is the rule for packets of known connections.
var known = oracle.Pass{Nothing: true}

// table is a table filter as rules of others leave it.
type table struct {
	policies map[string]string
	rules    map[string][]string // by chain
}

// read adds what iptables-save prints of the table.
func (t *table) read(save string) {
	in := false
	for line := range strings.Lines(save) {
		line = strings.TrimSpace(line)
		words := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "*"):
			in = line == "*filter"
		case !in || len(words) < 2:
		case strings.HasPrefix(line, ":"):
			t.policies[words[0][1:]] = words[1]
			if words[1] == "-" { // as it is new then
				delete(t.rules, words[0][1:])
			}
		case words[0] == "-A":
			t.rules[words[1]] = append(t.rules[words[1]], line)
		}
	}
}

// stops says that a chain has a rule of others, or leads to one, that drops or rejects packets. Those chains that were looked through are
// seen.
func (t *table) stops(chain string, seen map[string]bool) bool {
	if seen[chain] {
		return false
	}
	seen[chain] = true
	for _, rule := range t.rules[chain] {
		words := strings.Fields(comment.ReplaceAllString(rule, ""))
		jump := slices.IndexFunc(words, func(word string) bool { return word == "-j" || word == "-g" })
		if jump < 0 || jump+1 == len(words) {
			continue
		}
		switch target := words[jump+1]; {
		case strings.HasPrefix(target, kubernetes):
		case target == "DROP", target == "REJECT", t.stops(target, seen):
			return true
		}
	}
	return false
}

// passes are the rules of a chain, and of those that it leads to, that let packets pass. It is false if there are others.
func (t *table) passes(chain string) ([]oracle.Pass, bool) {
	var out []oracle.Pass
	for _, rule := range t.rules[chain] {
		words := strings.Fields(comment.ReplaceAllString(rule, ""))[2:]
		jump := slices.Index(words, "-j")
		if jump < 0 || jump != len(words)-2 {
			return nil, false
		}
		target := words[jump+1]
		pass, ok := readConditions(words[:jump])
		plain := pass == oracle.Pass{}
		switch {
		case strings.HasPrefix(target, kubernetes): // as all before it
		case !ok || target != "ACCEPT" && !plain:
			return nil, false
		case target == "ACCEPT":
			out = append(out, pass)
		case target == "RETURN":
			return out, true
		default:
			inner, ok := t.passes(target)
			if !ok || t.policies[target] != "-" { // DROP, LOG and the like among them
				return nil, false
			}
			out = append(out, inner...)
		}
	}
	return out, true
}

var comment = regexp.MustCompile(`-m comment --comment ("[^"]*"|\S+) ?`)

// readConditions reads what a rule of a few kinds asks of packets; false if it is of another kind.
func readConditions(words []string) (pass oracle.Pass, ok bool) {
	for ; len(words) >= 2; words = words[2:] {
		value := words[1]
		var err error
		switch words[0] {
		case "-s":
			pass.From, err = netip.ParsePrefix(value)
		case "-d":
			pass.To, err = netip.ParsePrefix(value)
		case "-p":
			pass.Protocol = protocolOf(value)
		case "-m":
			if value != "tcp" && value != "udp" && value != "conntrack" {
				return pass, false
			}
		case "--dport":
			var port uint64
			port, err = strconv.ParseUint(value, 10, 16)
			pass.Port = uint16(port)
		case "--ctstate":
			pass.Nothing = true
			if value != "RELATED,ESTABLISHED" {
				return pass, false
			}
		case "-i":
			pass.Loopback = true
			if value != "lo" {
				return pass, false
			}
		default:
			return pass, false
		}
		if err != nil {
			return pass, false
		}
	}
	return pass, len(words) == 0
}

// protocolOf is a protocol as rules call it.
func protocolOf(name string) corev1.Protocol {
	if name == "icmp" || name == "ipv6-icmp" {
		return oracle.ICMP
	}
	return corev1.Protocol(strings.ToUpper(name))
}
