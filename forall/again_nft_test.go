package forall_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/chainwalk/chainwalk/forall"
	"github.com/chainwalk/chainwalk/internal/sample"
)

// TestOnlyWhatElementsTouchIsWorkedOutAgain changes services of mode nftables.
func TestOnlyWhatElementsTouchIsWorkedOutAgain(t *testing.T) {
	before := services{count: 40, native: true}
	f := fatesOf(t, before.host(t), nil)
	text := before.nft()
	replaced := func(pairs ...string) string {
		for i := 0; i < len(pairs); i += 2 {
			require.Contains(t, text, pairs[i])
		}
		return strings.NewReplacer(pairs...).Replace(text)
	}
	const (
		service = "10.96.0.8 . tcp . 80 : goto service-7, "
		chain   = "	chain services {\n"
	)
	for name, row := range map[string]struct {
		text    string
		touched int // -1: all
	}{
		"nothing":                {text, 0},
		"another order":          {(&services{count: 40, native: true, reversed: true}).nft(), 0},
		"a port":                 {(&services{count: 40, native: true, port: 9090}).nft(), 10},
		"a service":              {replaced(service, ""), 2},
		"another chain":          {replaced(service, "10.96.0.8 . tcp . 80 : goto service-8, "), 4},
		"a hairpin":              {replaced("10.244.0.37 . 10.244.0.37 . tcp . 8080, ", ""), 3},
		"an address":             {replaced("10.96.0.8, ", ""), 4},
		"a node port":            {replaced("tcp . 30001 : goto external-10, ", ""), 2},
		"a rule":                 {replaced(chain, chain+"		ip daddr 10.96.0.8 tcp dport 80 return\n"), 2},
		"a rule for all":         {replaced(chain, chain+"		meta l4proto icmp return\n"), 2},
		"a mark of the source":   {replaced("ip saddr != 10.244.0.0/16 meta mark", "ip saddr != 10.244.0.0/15 meta mark"), 4},
		"a rule of a filter":     {replaced("ip daddr 10.96.0.0/16 drop", "ip daddr 10.96.0.0/15 drop"), 4},
		"a key without protocol": {replaced(chain, chain+"		ip daddr . th dport vmap { 10.96.0.8 . 80 : return }\n"), 2},
		"a masquerade":           {replaced(" != 0x00000000 meta mark set", " != 0x00000000 counter meta mark set"), -1},
	} {
		t.Run(name, func(t *testing.T) {
			workedOutAgain(t, f, before.host(t), row.text, row.touched)
		})
	}
}

// TestFirstEndpointWorkedOutAgain gives a service of mode nftables its first endpoint: its element leaves the map that refuses packets, and
// comes into that of services, with a chain and an element for the endpoint that calls itself.
func TestFirstEndpointWorkedOutAgain(t *testing.T) {
	text := (&services{count: 60, native: true}).nft()
	with := func(pairs ...string) string {
		for i := 0; i < len(pairs); i += 2 {
			require.Contains(t, text, pairs[i])
		}
		return strings.NewReplacer(pairs...).Replace(text)
	}
	const (
		refused = "	map no-endpoint-services {\n		type ipv4_addr . inet_proto . inet_service : verdict\n%s	}\n\n" +
			"	chain refuse {\n		reject\n	}\n\n	chain filter-forward {\n"
		check = "		ct state new jump cluster-ips-check\n	}\n\n	chain filter-output"
		asked = "		ct state new ip daddr . meta l4proto . th dport vmap @no-endpoint-services\n"
	)
	none := with("	chain filter-forward {\n", fmt.Sprintf(refused, "		elements = { 10.96.200.1 . tcp . 80 : goto refuse }\n"),
		check, asked+check)
	one := with("	chain filter-forward {\n", fmt.Sprintf(refused, ""), check, asked+check,
		"10.96.0.8 . tcp . 80 : goto service-7, ", "10.96.0.8 . tcp . 80 : goto service-7, 10.96.200.1 . tcp . 80 : goto service-new, ",
		"10.244.0.37 . 10.244.0.37 . tcp . 8080, ", "10.244.0.37 . 10.244.0.37 . tcp . 8080, 10.244.9.2 . 10.244.9.2 . tcp . 8080, ",
		"	chain masquerading {\n", "	chain service-new {\n		meta l4proto tcp dnat ip to 10.244.9.2 : 8080\n	}\n\n	chain masquerading {\n")
	was := hostOfServices(t, none)
	f := fatesOf(t, was, nil)
	h := workedOutAgain(t, f, was, one, 6)
	assert.False(t, f.Equal(fatesOf(t, h, nil)))
	agrees(t, h, 100)
}

// drawnNFT are rules of nftables in chains, maps and sets of their own, with what services of kube-proxy have.
type drawnNFT struct {
	services, reject, hairpins []string
	ports, sinks, bare         []string    // by ports alone: of the host in nat, in any hook, and without protocols
	rules                      [3][]string // of prerouting, of filter, of postrouting
	chains                     [4][]string
}

// lastRules are behind the rules of prerouting and output, of filter, and of postrouting.
var lastRules = [...]string{
	"\t\tip daddr . meta l4proto . th dport vmap @services\n\t\tip daddr 172.18.0.3 meta l4proto . th dport vmap @ports\n",
	"\t\tct state new ip daddr . meta l4proto . th dport vmap @refused\n",
	"\t\tct status dnat ip saddr . ip daddr . meta l4proto . th dport @hairpin masquerade\n",
}

func (d *drawnNFT) text() string {
	var b strings.Builder
	elements := func(list []string) string {
		if len(list) == 0 {
			return ""
		}
		return "\t\telements = { " + strings.Join(list, ", ") + " }\n"
	}
	key := "ipv4_addr . inet_proto . inet_service"
	b.WriteString("table ip t {\n")
	for _, of := range []struct {
		name, key string
		list      []string
	}{{"ports", "inet_proto . inet_service", d.ports}, {"sinks", "inet_proto . inet_service", d.sinks}, {"bare", "inet_service", d.bare}} {
		fmt.Fprintf(&b, "\tmap %s {\n\t\ttype %s : verdict\n%s\t}\n\n", of.name, of.key, elements(of.list))
	}
	fmt.Fprintf(&b, "\tmap services {\n\t\ttype %s : verdict\n%s\t}\n\n\tmap refused {\n\t\ttype %s : verdict\n%s\t}\n\n"+
		"\tset hairpin {\n\t\ttype ipv4_addr . %s\n%s\t}\n\n", key, elements(d.services), key, elements(d.reject), key, elements(d.hairpins))
	for i, rules := range d.chains {
		fmt.Fprintf(&b, "\tchain c%d {\n%s\t}\n\n", i, strings.Join(rules, ""))
	}
	b.WriteString("\tchain rejects {\n\t\treject\n\t}\n\n")
	for i, head := range []string{"pre {\n\t\ttype nat hook prerouting priority dstnat;", "out {\n\t\ttype nat hook output priority dstnat;",
		"forward {\n\t\ttype filter hook forward priority filter;", "post {\n\t\ttype nat hook postrouting priority srcnat;"} {
		of := max(0, i-1)
		fmt.Fprintf(&b, "\tchain %s policy accept;\n%s%s\t}\n\n", head, strings.Join(d.rules[of], ""), lastRules[of])
	}
	b.WriteString("}\n")
	return b.String()
}

// edit changes one thing.
func (d *drawnNFT) edit(t *rapid.T) {
	one := func(name string, of ...string) string { return rapid.SampledFrom(of).Draw(t, name) }
	change := func(list *[]string, of func() string) {
		if at := rapid.IntRange(0, len(*list)).Draw(t, "at"); at < len(*list) && rapid.Bool().Draw(t, "gone") {
			*list = slices.Delete(slices.Clone(*list), at, at+1)
		} else {
			*list = slices.Insert(slices.Clone(*list), at, of())
		}
	}
	element := func(list *[]string, to func() string) { // of each key one
		key := one("address", "10.96.0.1", "10.96.0.2", "10.244.0.2", "172.18.0.3") + " . " + one("of", "tcp", "udp") + " . " +
			one("port", "80", "8080")
		was := len(*list)
		*list = slices.DeleteFunc(slices.Clone(*list), func(e string) bool { return strings.HasPrefix(e, key) })
		if len(*list) == was || rapid.Bool().Draw(t, "other") {
			*list = append(*list, key+to())
		}
	}
	port := func(list *[]string, protocol bool, to func() string) {
		key := one("port", "80", "443", "8080")
		if protocol {
			key = one("of", "tcp", "udp", "icmp") + " . " + key
		}
		was := len(*list)
		*list = slices.DeleteFunc(slices.Clone(*list), func(e string) bool { return strings.HasPrefix(e, key+" :") })
		if len(*list) == was || rapid.Bool().Draw(t, "other") {
			*list = append(*list, key+" : "+to())
		}
	}
	sink := func() string { return one("verdict", "return", "accept", "continue") }
	pod := func() string { return one("pod", "10.244.0.2", "10.244.0.3", "10.244.0.4", "172.18.0.3") }
	switch rapid.IntRange(0, 10).Draw(t, "kind") {
	case 10:
		rest := func(e string) bool { return strings.HasPrefix(e, "*") }
		was := len(d.services)
		if d.services = slices.DeleteFunc(slices.Clone(d.services), rest); len(d.services) == was {
			d.services = append(d.services, "* : "+one("verdict", "goto c0", "jump c1", "return"))
		}
	case 7:
		port(&d.ports, true, func() string { return one("verdict", "goto c0", "jump c1", "goto c2", "accept") })
	case 8:
		port(&d.sinks, true, sink)
	case 9:
		port(&d.bare, false, sink)
	case 0:
		element(&d.services, func() string { return " : " + one("verdict", "goto c0", "jump c1", "goto c2", "accept") })
	case 1:
		element(&d.reject, func() string { return " : " + one("verdict", "goto rejects", "drop") })
	case 2:
		to := pod()
		hairpin := to + " . " + to + " . " + one("of", "tcp", "udp") + " . " + one("port", "80", "8080")
		if at := slices.Index(d.hairpins, hairpin); at >= 0 {
			d.hairpins = slices.Delete(slices.Clone(d.hairpins), at, at+1)
		} else {
			d.hairpins = append(slices.Clone(d.hairpins), hairpin)
		}
	case 3:
		hook := rapid.IntRange(0, 2).Draw(t, "hook")
		change(&d.rules[hook], func() string {
			return "\t\t" + one("destination", "", "ip daddr 10.96.0.1 ", "ip daddr 10.96.0.0/24 ", "ip daddr 10.244.0.2 ",
				"ip daddr { 10.96.0.2, 10.244.0.3 } ") + one("what", "ip saddr 10.0.0.0/8 ", "tcp dport 80 ", "") +
				one("verdict", "mark set 0x1", "return", "limit rate 1/second return", "accept", "jump c3",
					"meta l4proto . th dport vmap @sinks", "th dport vmap @bare") + "\n"
		})
	default:
		change(&d.chains[rapid.IntRange(0, 3).Draw(t, "chain")], func() string {
			return "\t\t" + one("what", "", "", "ip saddr 10.244.0.0/16 ", "mark 0x1 ") +
				one("action", "mark set 0x1", "return", "accept", "drop",
					"meta l4proto . th dport vmap @sinks", "th dport vmap @bare") + "\n"
		})
		at := rapid.IntRange(0, 2).Draw(t, "service") // its endpoints
		d.chains[at] = append(slices.DeleteFunc(slices.Clone(d.chains[at]), func(r string) bool { return strings.Contains(r, "dnat") }),
			fmt.Sprintf("\t\tmeta l4proto %s dnat ip to numgen random mod 2 map { 0 : %s . %s, 1 : %s . 8080 }\n", one("of", "tcp", "udp"),
				pod(), one("port", "80", "8080"), pod()))
	}
}

// TestLawOfElements edits rules and elements of nftables, one after the other.
func TestLawOfElements(t *testing.T) {
	sample.Checks(t, 12)
	var again int
	rapid.Check(t, func(t *rapid.T) {
		var d drawnNFT
		for range rapid.IntRange(0, 12).Draw(t, "first") {
			d.edit(t)
		}
		of := func(beside *forall.Fates) *forall.Fates {
			f, err := forall.Of(hairpinHost(t, d.text()), forall.Options{Families: only4, Chance: forall.Exact, Against: beside})
			require.NoError(t, err)
			return f
		}
		f := of(nil)
		for range rapid.IntRange(1, 3).Draw(t, "edits") {
			was := d.text()
			d.edit(t)
			g, alone := of(f), of(nil)
			require.True(t, g.Equal(alone), was+d.text())
			if found, known := forall.Touched(f, g); known && found > 0 {
				again++
			}
			f = g
		}
	})
	assert.NotZero(t, again, "all was worked out each time")
}

// TestWorkedOutAgainWithRedirect adds a service that goes to the host: what sets have of the host's address was not asked for before.
func TestWorkedOutAgainWithRedirect(t *testing.T) {
	text := func(elements string) string {
		return "table ip t {\n\tset locals {\n\t\ttype ipv4_addr\n\t\telements = { 172.18.0.3 }\n\t}\n\n" +
			"\tmap m {\n\t\ttype ipv4_addr : verdict\n\t\telements = { 10.96.0.2 : accept" + elements + " }\n\t}\n\n" +
			"\tchain c {\n\t\tredirect\n\t}\n\n" +
			"\tchain pre {\n\t\ttype nat hook prerouting priority dstnat; policy accept;\n\t\tip daddr vmap @m\n\t}\n\n" +
			"\tchain in {\n\t\ttype filter hook input priority filter; policy accept;\n\t\tip daddr @locals drop\n\t}\n}\n"
	}
	f := fatesOf(t, hairpinHost(t, text("")), nil)
	h := hairpinHost(t, text(", 10.96.0.1 : goto c"))
	g := fatesOf(t, h, f)
	assert.True(t, g.Equal(fatesOf(t, h, nil)))
	assert.False(t, g.Equal(f))
}
