package packetsim

// sctpState is a state of conntrack's SCTP machine (net/netfilter/nf_conntrack_proto_sctp.c).
type sctpState uint8

const (
	sctpNone sctpState = iota
	sctpClosed
	sctpCookieWait
	sctpCookieEchoed
	sctpEstablished
	sctpShutdownSent
	sctpShutdownRecd
	sctpShutdownAckSent
	sctpHeartbeatSent
	sctpStates
)

// sctpStateInfo is each state's name in "conntrack -L", its sysctl and the sysctl's default in seconds.
var sctpStateInfo = [sctpStates]struct {
	name, sysctl string
	timeout      int
}{
	sctpNone:            {"NONE", "closed", 10},
	sctpClosed:          {"CLOSED", "closed", 10},
	sctpCookieWait:      {"COOKIE_WAIT", "cookie_wait", 3},
	sctpCookieEchoed:    {"COOKIE_ECHOED", "cookie_echoed", 3},
	sctpEstablished:     {"ESTABLISHED", "established", 210},
	sctpShutdownSent:    {"SHUTDOWN_SENT", "shutdown_sent", 3},
	sctpShutdownRecd:    {"SHUTDOWN_RECD", "shutdown_recd", 3},
	sctpShutdownAckSent: {"SHUTDOWN_ACK_SENT", "shutdown_ack_sent", 3},
	sctpHeartbeatSent:   {"HEARTBEAT_SENT", "heartbeat_sent", 30},
}

// trackSCTP advances an association. Packets do not say their chunks: each is taken for the next one of the
// handshake (INIT, INIT ACK, COOKIE ECHO, COOKIE ACK) and afterwards for data.
func (h *Host) trackSCTP(c *conn, dir direction) trackVerdict {
	h.change(c)
	switch {
	case c.sctp == sctpNone:
		c.sctp = sctpCookieWait
	case c.sctp == sctpCookieWait && dir == original && c.seenReply:
		c.sctp = sctpCookieEchoed
	case c.sctp == sctpCookieEchoed && dir == reply:
		c.sctp = sctpEstablished
		c.assured = true
	}
	h.expireIn(c, h.conf.sctp[c.sctp])
	return trackAccept
}
