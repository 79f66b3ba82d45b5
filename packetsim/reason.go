package packetsim

// Reason says why a packet was dropped or rejected without a rule: one of the constants. It is an error, too: the one that routing ends
// with.
type Reason string

// Error is the reason in words.
func (r Reason) Error() string { return string(r) }

// The reasons of a route lookup.
const (
	ReasonNoRoute          Reason = "no route"          // ENETUNREACH
	ReasonRouteUnreachable Reason = "unreachable route" // EHOSTUNREACH
	ReasonRouteProhibited  Reason = "prohibited route"  // EACCES
	ReasonRouteBlackhole   Reason = "blackhole route"   // EINVAL
)

// The other reasons of routing.
const (
	ReasonMartianSource      Reason = "martian source"
	ReasonMartianDestination Reason = "martian destination"
	ReasonReversePath        Reason = "reverse path filter"
	ReasonForwardingOff      Reason = "forwarding is off"
	ReasonForeignSource      Reason = "source is not an address of the host"
	ReasonNoSource           Reason = "no source address"
	ReasonLoopbackLeaves     Reason = "loopback source leaves the host"
	ReasonTTLExceeded        Reason = "ttl exceeded"
	ReasonBadAddress         Reason = "address is not allowed on the wire"
	ReasonBeyondScope        Reason = "link-local source is not forwarded"
	ReasonFrameToMany        Reason = "a frame to many is not forwarded"
	ReasonNotMember          Reason = "no member of the group"
	ReasonOwnGroup           Reason = "the group is the host's own"
)

// The reasons of devices, bridges and tunnels.
const (
	ReasonDeviceDown  Reason = "device is down"
	ReasonTooLong     Reason = "longer than the MTU"
	ReasonNoHairpin   Reason = "port is not in hairpin mode"
	ReasonNoPort      Reason = "no port of the bridge leads there"
	ReasonNoRemote    Reason = "no remote of the tunnel is known"
	ReasonTunnelsLoop Reason = "tunnel leads into itself"
)

// The reasons of conntrack and NAT.
const (
	ReasonConntrackFull       Reason = "conntrack table full"
	ReasonConntrackClash      Reason = "connection clashes with another"
	ReasonPortsExhausted      Reason = "no port is free to translate the source to"
	ReasonMasqueradeMoved     Reason = "masqueraded connection leaves by another device"
	ReasonNoMasqueradeAddress Reason = "no address to masquerade with"
	ReasonTranslatedRedirect  Reason = "redirect of a translated connection"
	ReasonErrorChecksum       Reason = "wrong checksum of an error about a connection"
	ReasonChecksum            Reason = "wrong checksum"
)

// The reasons of matches and targets that drop a packet beside what they were written for.
const (
	ReasonConnlimitFindsNone  Reason = "connlimit finds no connection that is open"
	ReasonHashlimitFull       Reason = "hashlimit table is full"
	ReasonNobodyOnQueue       Reason = "queued for a program where none listens"
	ReasonNPT                 Reason = "no word of the address can be changed for NPT"
	ReasonNoSegmentFits       Reason = "no segment fits the MTU"
	ReasonNoTransparentSocket Reason = "no transparent socket for TPROXY"
)
