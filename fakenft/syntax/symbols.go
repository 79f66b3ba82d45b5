package syntax

// Name is the first name of a value.
func (s *Symbols) Name(value uint64) (string, bool) {
	if s == nil {
		return "", false
	}
	for i := range s.List {
		if s.List[i].Value == value {
			return s.List[i].Name, true
		}
	}
	return "", false
}

// Value is the value of a name.
func (s *Symbols) Value(name string) (uint64, bool) {
	if s == nil {
		return 0, false
	}
	for i := range s.List {
		if s.List[i].Name == name {
			return s.List[i].Value, true
		}
	}
	return 0, false
}

// The names of values. Those of bytes in the network's order are here as the numbers that they mean.
var (
	nfProtoSymbols   = &Symbols{Base: 10, List: []NamedValue{{"ipv4", 2}, {"ipv6", 10}}}
	etherTypeSymbols = &Symbols{Base: 16, List: []NamedValue{
		{"ip", 0x0800}, {"arp", 0x0806}, {"ip6", 0x86dd}, {"8021q", 0x8100}, {"8021ad", 0x88a8}, {"vlan", 0x8100},
	}}
	arpOpSymbols = &Symbols{Base: 16, List: []NamedValue{
		{"request", 1}, {"reply", 2}, {"rrequest", 3}, {"rreply", 4}, {"inrequest", 8}, {"inreply", 9}, {"nak", 10},
	}}
	icmpTypeSymbols = &Symbols{Base: 10, List: []NamedValue{
		{"echo-reply", 0}, {"destination-unreachable", 3}, {"source-quench", 4}, {"redirect", 5}, {"echo-request", 8},
		{"router-advertisement", 9}, {"router-solicitation", 10}, {"time-exceeded", 11}, {"parameter-problem", 12},
		{"timestamp-request", 13}, {"timestamp-reply", 14}, {"info-request", 15}, {"info-reply", 16}, {"address-mask-request", 17},
		{"address-mask-reply", 18},
	}}
	tcpFlagSymbols = &Symbols{Base: 16, List: []NamedValue{
		{"fin", 1}, {"syn", 2}, {"rst", 4}, {"psh", 8}, {"ack", 16}, {"urg", 32}, {"ecn", 64}, {"cwr", 128},
	}}
	dccpTypeSymbols = &Symbols{Base: 16, List: []NamedValue{
		{"request", 0}, {"response", 1}, {"data", 2}, {"ack", 3}, {"dataack", 4}, {"closereq", 5}, {"close", 6}, {"reset", 7}, {"sync", 8},
		{"syncack", 9},
	}}
	mhTypeSymbols = &Symbols{Base: 10, List: []NamedValue{
		{"binding-refresh-request", 0}, {"home-test-init", 1}, {"careof-test-init", 2}, {"home-test", 3}, {"careof-test", 4},
		{"binding-update", 5}, {"binding-acknowledgement", 6}, {"binding-error", 7}, {"fast-binding-update", 8},
		{"fast-binding-acknowledgement", 9}, {"fast-binding-advertisement", 10}, {"experimental-mobility-header", 11},
		{"home-agent-switch-message", 12},
	}}
	// markSymbols, realmSymbols, devgroupSymbols and ctLabelSymbols are what Debian's iproute2 and libnetfilter-conntrack ship in /etc.
	markSymbols      = &Symbols{Base: 16}
	realmSymbols     = &Symbols{Base: 16, List: []NamedValue{{"cosmos", 0}}}
	devgroupSymbols  = &Symbols{Base: 10, List: []NamedValue{{"default", 0}}}
	ctLabelSymbols   = &Symbols{Base: 10}
	ifaceTypeSymbols = &Symbols{Base: 16, List: []NamedValue{
		{"ether", 1}, {"ppp", 512}, {"ipip", 768}, {"ipip6", 769}, {"loopback", 772}, {"sit", 776}, {"ipgre", 778},
	}}
	ctStateSymbols = &Symbols{Base: 16, List: []NamedValue{
		{"invalid", 1}, {"new", 8}, {"established", 2}, {"related", 4}, {"untracked", 64},
	}}
	ctDirSymbols    = &Symbols{Base: 10, List: []NamedValue{{"original", 0}, {"reply", 1}}}
	ctStatusSymbols = &Symbols{Base: 16, List: []NamedValue{
		{"expected", 1}, {"seen-reply", 2}, {"assured", 4}, {"confirmed", 8}, {"snat", 16}, {"dnat", 32}, {"dying", 512},
	}}
	icmpv6TypeSymbols = &Symbols{Base: 10, List: []NamedValue{
		{"destination-unreachable", 1}, {"packet-too-big", 2}, {"time-exceeded", 3}, {"parameter-problem", 4}, {"echo-request", 128},
		{"echo-reply", 129}, {"mld-listener-query", 130}, {"mld-listener-report", 131}, {"mld-listener-done", 132},
		{"mld-listener-reduction", 132}, {"nd-router-solicit", 133}, {"nd-router-advert", 134}, {"nd-neighbor-solicit", 135},
		{"nd-neighbor-advert", 136}, {"nd-redirect", 137}, {"router-renumbering", 138}, {"ind-neighbor-solicit", 141},
		{"ind-neighbor-advert", 142}, {"mld2-listener-report", 143},
	}}
	pktTypeSymbols = &Symbols{Base: 10, List: []NamedValue{
		{"host", 0}, {"unicast", 0}, {"broadcast", 1}, {"multicast", 2}, {"other", 3},
	}}
	icmpCodeSymbols = &Symbols{Base: 10, List: []NamedValue{
		{"net-unreachable", 0}, {"host-unreachable", 1}, {"prot-unreachable", 2}, {"port-unreachable", 3}, {"net-prohibited", 9},
		{"host-prohibited", 10}, {"admin-prohibited", 13}, {"frag-needed", 4},
	}}
	icmpv6CodeSymbols = &Symbols{Base: 10, List: []NamedValue{
		{"no-route", 0}, {"admin-prohibited", 1}, {"addr-unreachable", 3}, {"port-unreachable", 4}, {"policy-fail", 5}, {"reject-route", 6},
	}}
	icmpxCodeSymbols = &Symbols{Base: 10, List: []NamedValue{
		{"port-unreachable", 1}, {"admin-prohibited", 3}, {"no-route", 0}, {"host-unreachable", 2},
	}}
	dscpSymbols = &Symbols{Base: 16, List: []NamedValue{
		{"cs0", 0}, {"cs1", 8}, {"cs2", 16}, {"cs3", 24}, {"cs4", 32}, {"cs5", 40}, {"cs6", 48}, {"cs7", 56}, {"df", 0}, {"be", 0},
		{"lephb", 1}, {"af11", 10}, {"af12", 12}, {"af13", 14}, {"af21", 18}, {"af22", 20}, {"af23", 22}, {"af31", 26}, {"af32", 28},
		{"af33", 30}, {"af41", 34}, {"af42", 36}, {"af43", 38}, {"va", 44}, {"ef", 46},
	}}
	ecnSymbols         = &Symbols{Base: 16, List: []NamedValue{{"not-ect", 0}, {"ect1", 1}, {"ect0", 2}, {"ce", 3}}}
	fibAddrtypeSymbols = &Symbols{Base: 10, List: []NamedValue{
		{"unspec", 0}, {"unicast", 1}, {"local", 2}, {"broadcast", 3}, {"anycast", 4}, {"multicast", 5}, {"blackhole", 6}, {"unreachable", 7},
		{"prohibit", 8},
	}}
	booleanSymbols = &Symbols{Base: 10, List: []NamedValue{{"exists", 1}, {"missing", 0}}}
	ctEventSymbols = &Symbols{Base: 16, List: []NamedValue{
		{"new", 1}, {"related", 2}, {"destroy", 4}, {"reply", 8}, {"assured", 16}, {"protoinfo", 32}, {"helper", 64}, {"mark", 128},
		{"seqadj", 256}, {"secmark", 512}, {"label", 1024},
	}}
	igmpTypeSymbols = &Symbols{Base: 10, List: []NamedValue{
		{"membership-query", 0x11}, {"membership-report-v1", 0x12}, {"membership-report-v2", 0x16}, {"membership-report-v3", 0x22},
		{"leave-group", 0x17},
	}}
	daySymbols = &Symbols{Base: 10, List: []NamedValue{
		{"Sunday", 0}, {"Monday", 1}, {"Tuesday", 2}, {"Wednesday", 3}, {"Thursday", 4}, {"Friday", 5}, {"Saturday", 6},
	}}
)
