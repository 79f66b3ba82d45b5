package syntax

// TimeoutState is a state of a connection of a protocol, and how many seconds it lasts if nothing else is said; nft prints no other
// ones than those that differ.
type TimeoutState struct {
	Name    string
	Seconds int
}

var (
	tcpTimeouts = []TimeoutState{
		{"syn_sent", 120}, {"syn_recv", 60}, {"established", 432000}, {"fin_wait", 120}, {"close_wait", 60}, {"last_ack", 30},
		{"time_wait", 120}, {"close", 10}, {"syn_sent2", 120}, {"retrans", 300}, {"unack", 300},
	}
	udpTimeouts = []TimeoutState{{"unreplied", 30}, {"replied", 120}}
)

// TimeoutStates are the states that "ct timeout" of a protocol knows, in the order of their numbers in netlink, which begin at 1.
func TimeoutStates(protocol uint8) []TimeoutState {
	const tcp, udp = 6, 17
	switch protocol {
	case tcp:
		return tcpTimeouts
	case udp:
		return udpTimeouts
	}
	return nil
}
