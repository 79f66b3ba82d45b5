package nftdiffer

import (
	"fmt"
	"strconv"
	"strings"
)

// kind is a kind of value: that of an expression, or of a set's keys.
type kind string

// The kinds of values that have a type of their own for sets.
const (
	addr4 kind = "ipv4_addr"
	addr6 kind = "ipv6_addr"
	port  kind = "inet_service"
	proto kind = "inet_proto"
	mark  kind = "mark"
	iface kind = "ifname"
	ether kind = "ether_addr"
)

// value draws a single value of a kind.
func (g *gen) value(k kind) string {
	switch k {
	case addr4:
		return fmt.Sprintf("%s.%d.%d.%d", g.one("10", "192", "1", "172", "255", "0", "224"), g.n(4), g.n(4), g.n(256))
	case addr6:
		return g.one("::1", "fe80::1", "2001:db8::", "fd00:10:244::", "2001:db8:1::", "::") + g.one("", fmt.Sprintf("%x", 1+g.n(0xfffe)))
	case port:
		return g.one(fmt.Sprint(g.n(1024)), fmt.Sprint(g.n(65536)), fmt.Sprint(g.n(65536)), "ssh", "http", "https", "domain")
	case proto:
		return g.one("tcp", "udp", "icmp", "sctp", "ipv6-icmp", "esp", fmt.Sprint(g.n(256)))
	case mark:
		return g.one(fmt.Sprint(g.n(100)), fmt.Sprintf("0x%x", g.r.Uint32()), fmt.Sprintf("0x%08x", 1<<g.n(32)))
	case iface:
		return g.one("eth0", "eth1", "lo", "wlan0", "br-123456789abc", `"veth*"`, `"cali*"`, `"a"`)
	case ether:
		return fmt.Sprintf("00:11:%02x:33:44:%02x", g.n(256), g.n(256))
	}
	if list, ok := strings.CutPrefix(string(k), "words:"); ok {
		words := strings.Split(list, ",")
		return words[g.n(len(words))]
	}
	if limit, ok := strings.CutPrefix(string(k), "number:"); ok {
		most, _ := strconv.Atoi(limit)
		return fmt.Sprint(g.n(most))
	}
	return "1"
}

// ordered kinds have ranges.
func ordered(k kind) bool {
	switch k {
	case addr4, addr6, port, mark, proto:
		return true
	}
	return strings.HasPrefix(string(k), "number:")
}

// wide draws a value, a prefix or a range, as sets of intervals have them.
func (g *gen) wide(k kind) string {
	switch {
	case !ordered(k) || g.in(3):
		return g.value(k)
	case k == addr4 && g.in(2):
		return fmt.Sprintf("%s/%d", g.value(k), g.n(33))
	case k == addr6 && g.in(2):
		return fmt.Sprintf("%s/%d", g.value(k), g.n(129))
	}
	return g.rangeOf(k)
}

func (g *gen) rangeOf(k kind) string {
	switch k {
	case addr4:
		a := g.n(250)
		return fmt.Sprintf("10.%d.0.%d-10.%d.0.%d", g.n(2), a, g.n(3), a+g.n(6))
	case addr6:
		a := g.n(0xff00)
		return fmt.Sprintf("fd00::%x-fd00::%x", a, a+g.n(255))
	case mark:
		a := g.n(1000)
		return fmt.Sprintf("0x%x-0x%x", a, a+g.n(1000))
	case proto:
		return fmt.Sprintf("%d-%d", g.n(20), 20+g.n(100))
	case port:
		a := g.n(60000)
		return fmt.Sprintf("%d-%d", a, a+g.n(5000))
	}
	most, err := strconv.Atoi(strings.TrimPrefix(string(k), "number:"))
	if err != nil {
		most = 100
	}
	a := g.n(most)
	return fmt.Sprintf("%d-%d", a, a+g.n(most-a))
}

// concat joins a value of each kind.
func (g *gen) concat(keys []kind, one func(kind) string) string {
	parts := make([]string, len(keys))
	for i, k := range keys {
		parts[i] = one(k)
	}
	return strings.Join(parts, " . ")
}

// setValues is an anonymous set.
func (g *gen) setValues(keys []kind) string {
	one := g.value
	if g.in(3) {
		one = g.wide
	}
	var items []string
	for range 1 + g.n(5) {
		items = append(items, g.concat(keys, one))
	}
	return "{ " + strings.Join(items, ", ") + " }"
}

// verdict draws a verdict; some lead to a chain.
func (g *gen) verdict(t *genTable) string {
	switch g.n(8) {
	case 0:
		return g.ask("verdict", "jump") + " " + g.chain(t)
	case 1:
		return g.ask("verdict", "goto") + " " + g.chain(t)
	}
	return g.ask("verdict", g.one("accept", "drop", "accept", "drop", "return", "continue"))
}

// addSet makes a set or a map.
func (g *gen) addSet(t *genTable) string {
	keyed := setKeys[g.n(len(setKeys))]
	s := genSet{name: g.one("s1", "s2", "s3", "m1", "m2", "m3"), keys: keyed.kinds, key: keyed.text}
	what := "set"
	if g.in(2) {
		what, s.data = "map", g.one("verdict", "verdict", "verdict", "ipv4_addr", "mark", "inet_service", "ipv4_addr . inet_service")
	}
	var types []string
	for _, k := range s.keys {
		types = append(types, string(k))
	}
	typ := "type " + strings.Join(types, " . ")
	if g.in(8) {
		typ = g.ask("set", "typeof") + " " + keyed.text
		if s.data != "" && s.data != "verdict" {
			s.data, what = "", "set"
		}
	}
	if s.data != "" {
		typ += " : " + s.data
	}
	text := fmt.Sprintf("%s %s %s %s { %s ;", g.ask("command", g.one("add", "add", "add", "create")+" "+what), t.family, t.name, s.name, typ)
	var flags []string
	if g.in(3) {
		flags, s.ranges = append(flags, g.ask("set", "interval")), true
	}
	if g.in(6) {
		flags = append(flags, g.ask("set", "timeout"))
	}
	if g.in(6) {
		flags = append(flags, g.ask("set", "dynamic"))
	}
	if g.in(15) {
		flags = append(flags, g.ask("set", "constant"))
	}
	if len(flags) > 0 {
		text += " flags " + strings.Join(flags, g.one(",", ", ")) + " ;"
	}
	for _, option := range []string{
		fmt.Sprintf(" timeout %s ;", g.one("10s", "1h", "3h2m", "10800s", "1d")), " auto-merge ;", fmt.Sprintf(" size %d ;", 1+g.n(70)),
		` comment "a_set" ;`, " policy memory ;", " gc-interval 10s ;", " counter ;",
	} {
		if g.in(9) {
			g.ask("set", strings.Fields(option)[0])
			text += option
		}
	}
	if g.in(2) {
		text += " elements = " + g.items(t, &s) + " ;"
	}
	t.sets = append(t.sets, s)
	return text + " }"
}

// items are elements that fit a set, mostly.
func (g *gen) items(t *genTable, s *genSet) string {
	var items []string
	for range 1 + g.n(4) {
		one := g.value
		if s.ranges && g.in(2) || g.in(25) {
			one = g.wide
		}
		item := g.concat(s.keys, one)
		if g.in(30) {
			item = g.ask("element", "*")
		}
		if g.in(12) {
			item += " " + g.ask("element", "timeout") + " " + g.one("5s", "1h", "2d")
		}
		if g.in(10) {
			item += ` ` + g.ask("element", "comment") + ` "a_comment"`
		}
		if s.data != "" && !g.in(40) {
			item += " : " + g.data(t, s.data)
		}
		items = append(items, item)
	}
	return "{ " + strings.Join(items, ", ") + " }"
}

func (g *gen) data(t *genTable, data string) string {
	switch data {
	case "verdict":
		return g.verdict(t)
	case "ipv4_addr . inet_service":
		return g.value(addr4) + " . " + g.value(port)
	}
	return g.value(kind(data))
}

// elements adds, deletes or asks for elements.
func (g *gen) elements(t *genTable) string {
	if len(t.sets) == 0 {
		return g.addSet(t)
	}
	s := &t.sets[g.n(len(t.sets))]
	verb := g.ask("command", g.one("add", "add", "add", "add", "create", "delete", "delete", "get")+" element")
	if !strings.HasPrefix(verb, "add") && !strings.HasPrefix(verb, "create") && !g.in(5) {
		bare := *s
		bare.data = ""
		s = &bare
	}
	return fmt.Sprintf("%s %s %s %s %s", verb, t.family, t.name, s.name, g.items(t, s))
}
