package cause

// Code names a kind of cause for good: a code is never given another meaning.
type Code string

// Rules that are not kube-proxy's.
const (
	Policy      Code = "CW101" // the policy of a built-in chain drops the packet
	ForeignDrop Code = "CW102" // a rule that is not kube-proxy's drops or rejects it
	ForeignNAT  Code = "CW103" // a rule that is not kube-proxy's translates it before kube-proxy's rules do
	PolicyRules Code = "CW104" // rules that were written for a NetworkPolicy stop it
)

// Settings and memory of the kernel.
const (
	ForwardingOff  Code = "CW201" // net.ipv4.ip_forward or net.ipv6.conf.all.forwarding
	ReversePath    Code = "CW202" // rp_filter
	RouteLocalnet  Code = "CW203" // route_localnet
	BridgeCalls    Code = "CW204" // net.bridge.bridge-nf-call-iptables: the reply passes the bridge without being translated back
	Hairpin        Code = "CW205" // a port of a bridge is not in hairpin mode
	Liberal        Code = "CW206" // conntrack calls a segment invalid (nf_conntrack_tcp_be_liberal)
	ConntrackFull  Code = "CW207" // no room for a new connection
	ConntrackStale Code = "CW208" // an entry translates to an address that is no longer an endpoint
	PortsExhausted Code = "CW209" // masquerading finds no free port
	Martian        Code = "CW210" // the kernel drops a packet with such a source or destination from the wire
)

// Devices, links and routes.
const (
	NoRoute        Code = "CW301" // no route to the destination
	RouteRefuses   Code = "CW302" // a route of the type unreachable, prohibit or blackhole
	Astray         Code = "CW303" // a route leads to a device behind which no host has the address
	DeviceDown     Code = "CW304" // a device is down
	TooLong        Code = "CW305" // a packet is longer than the MTU on its way, and the sender is not told
	NoNeighbour    Code = "CW306" // a bridge or a tunnel does not know where the destination is
	NoSource       Code = "CW307" // the host has no address to send from
	ReplyElsewhere Code = "CW308" // the reply does not come back by the node that translated the destination
	Loop           Code = "CW309" // the packet loops until its TTL runs out
)

// What kube-proxy wrote, or did not write.
const (
	RuleMissing  Code = "CW401" // a rule that kube-proxy would write is not there
	RuleStale    Code = "CW402" // a stale rule: its service or endpoint is gone
	RuleForeign  Code = "CW403" // a rule in kube-proxy's chains that kube-proxy did not write
	RulesMoved   Code = "CW404" // rules of kube-proxy's stand in another order
	NoProxyRules Code = "CW405" // the node has no rules of kube-proxy
	OtherProxy   Code = "CW406" // the node runs another service proxy, whose work chainwalk does not walk
	Wrong        Code = "CW409" // kube-proxy's own rules do what the objects do not promise
)

// The objects.
const (
	NoEndpoints    Code = "CW501" // the service has no endpoint
	NotReady       Code = "CW502" // none of its endpoints is ready
	SelectsNothing Code = "CW503" // its selector selects no pod
	PortName       Code = "CW504" // no endpoint has its port
	LocalOnly      Code = "CW505" // externalTrafficPolicy or internalTrafficPolicy Local, and no endpoint on the node
	SourceRange    Code = "CW506" // loadBalancerSourceRanges do not have the client
	NoSuchPort     Code = "CW507" // the service has no such port
	NoService      Code = "CW508" // no object has the address
	NobodyListens  Code = "CW509" // the server refuses the connection
)

// What chainwalk cannot say.
const (
	NotWalked   Code = "CW901" // native nftables that may stop or change the packet
	UnknownRule Code = "CW902" // a rule with an extension that chainwalk does not know
	Unread      Code = "CW903" // something of the node was not read
	NoSnapshot  Code = "CW904" // a node without a snapshot
	Unexplained Code = "CW909" // the packet was lost, and no cause of this list fits
)
