package files

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/chainwalk/chainwalk/netfilter"
)

// routeTypes are the words that may begin a line of "ip route".
var routeTypes = []string{"unicast", "local", "broadcast", "anycast", "multicast", "unreachable", "prohibit", "blackhole", "throw"}

// routeLine reads a line of "ip route" or of "ip neigh".
func (t *textReader) routeLine(line string) bool {
	words := strings.Fields(line)
	if n, ok := neighbourOf(words); ok {
		t.tell(neighbourTable)
		t.neighs = append(t.neighs, n)
		return true
	}
	q := routeOf(words)
	if q == nil {
		return false
	}
	t.routes = append(t.routes, *q)
	return true
}

// neighbourOf reads "10.0.0.2 dev eth0 lladdr 02:00:00:00:00:01 REACHABLE".
func neighbourOf(words []string) (neighbour, bool) {
	n := neighbour{}
	if len(words) < 4 || words[1] != "dev" || !isState(words[len(words)-1]) {
		return n, false
	}
	addr, err := netip.ParseAddr(words[0])
	n.Addr, n.Dev, n.State = addr, words[2], words[len(words)-1:]
	if i := slices.Index(words, "lladdr"); i > 0 && i+1 < len(words) {
		n.MAC = words[i+1]
	}
	return n, err == nil
}

// isState says whether a word is the state of a neighbour.
func isState(word string) bool {
	return slices.Contains([]string{"PERMANENT", "NOARP", "REACHABLE", "STALE", "NONE", "INCOMPLETE", "DELAY", "PROBE", "FAILED"}, word)
}

// fdbLine reads a line of "bridge fdb".
func (t *textReader) fdbLine(m []string) {
	t.tell(fdbEntries)
	e, words := fdbEntry{MAC: m[1], Dev: m[2]}, strings.Fields(m[3])
	for i, word := range words {
		switch {
		case word == "self":
			e.Flags = append(e.Flags, word)
		case i+1 < len(words) && word == "master":
			e.Master = words[i+1]
		case i+1 < len(words) && word == "dst":
			e.Dst, _ = netip.ParseAddr(words[i+1]) // none where it is none
		}
	}
	t.fdb = append(t.fdb, e)
}

// routeOf reads "[TYPE] DESTINATION WORD VALUE ...", nil if it is none.
func routeOf(words []string) *route {
	q := &route{}
	if slices.Contains(routeTypes, words[0]) {
		q.Type, words = words[0], words[1:]
	}
	if len(words) == 0 {
		return nil
	}
	if _, err := destination(words[0], netfilter.IPv4); err != nil || words[0] == "all" {
		return nil
	}
	q.Dst, words = words[0], words[1:]
	for i := 0; i < len(words); i++ {
		next := ""
		if i+1 < len(words) {
			next = words[i+1]
		}
		taken, ok := q.word(words[i], next)
		if !ok {
			return nil
		}
		i += taken
	}
	return q
}

// word reads a word of a route, and says how many words behind it are its own. The way on of a route is that of a hop.
func (q *route) word(word, next string) (taken int, ok bool) {
	switch word {
	case "dev":
		q.Dev = next
	case "via":
		if next == "inet" || next == "inet6" {
			q.Via = next
			return 2, true
		}
		return q.address(&q.Gateway, next)
	case "src":
		return q.address(&q.Src, next)
	case "table":
		q.Table = next
	case "proto":
		q.Protocol = next
	case "scope":
		q.Scope = next
	case "pref":
		q.Pref = next
	case "tos", "dsfield":
		q.TOS = next
	case "metric":
		n, err := parse32(next)
		q.Metric = &n
		return 1, err == nil
	case "encap":
		q.Encap = next
		return len(next) + 1<<10, true // what follows is its own
	case "onlink", "linkdown", "dead", "pervasive", "offload", "trap", "rt_trap", "notify", "unresolved", "rt_offload":
		q.Flags = append(q.Flags, word)
		return 0, true
	case "mtu", "advmss", "hoplimit", "initcwnd", "initrwnd", "window", "rtt", "rttvar", "ssthresh", "cwnd", "reordering",
		"congctl", "features",
		"quickack", "rto_min", "error", "expires", "nhid", "realm", "realms", "weight", "users", "age", "ttl":
		if next == "lock" {
			return 2, true
		}
	default:
		return 0, false
	}
	return 1, next != ""
}

func (*route) address(into *netip.Addr, text string) (int, bool) {
	addr, err := netip.ParseAddr(text)
	*into = addr
	return 1, err == nil
}

// read reads "via ADDRESS dev DEVICE weight N".
func (h *hop) read(words []string) bool {
	for i := 0; i < len(words); i++ {
		next := ""
		if i+1 < len(words) {
			next = words[i+1]
		}
		switch words[i] {
		case "via":
			addr, err := netip.ParseAddr(next)
			if err != nil {
				return false
			}
			h.Gateway = addr
			i++
		case "dev":
			h.Dev = next
			i++
		case "weight":
			n, err := strconv.Atoi(next)
			if err != nil {
				return false
			}
			h.Weight = n
			i++
		case "encap":
			return false
		}
	}
	return true
}

// ruleLine reads a line of "ip rule". What is no word of a PolicyRule makes the rule one that is not held.
// One whose number is lower than that before it begins the rules of the other family.
func (t *textReader) ruleLine(m []string) {
	priority, err := parse32(m[1])
	if err != nil {
		t.bad = append(t.bad, m[0])
		return
	}
	if n := len(t.rules); n > 0 && t.rules[n-1].Priority > priority {
		t.endRules()
	}
	q := policyRule{Priority: priority, Not: m[2] != ""}
	words := strings.Fields("from " + m[3])
	for i := 0; i < len(words); i++ {
		next := ""
		if i+1 < len(words) {
			next = words[i+1]
		}
		field := map[string]*string{
			"from": &q.Src, "to": &q.Dst, "fwmark": &q.Mark, "iif": &q.In, "oif": &q.Out, "lookup": &q.Table, "table": &q.Table,
		}
		switch into := field[words[i]]; {
		case into != nil:
			*into = next
			i++
		case words[i] == "blackhole" || words[i] == "prohibit" || words[i] == "unreachable":
			q.Action = words[i]
		case words[i] == "proto" || words[i] == "protocol":
			i++ // who made it
		case words[i] == "[detached]":
		default:
			q.Others = append(q.Others, words[i])
		}
	}
	t.rules = append(t.rules, q)
}

func (t *textReader) endRules() {
	if len(t.rules) > 0 {
		t.addPolicyRules(t.rules)
	}
	t.rules = nil
}
