package target

import "github.com/chainwalk/chainwalk/netfilter"

// What each target looks at, for conntrack and for the fates of all packets.

// Reads is the connection, but for --notrack, which needs nothing to be tracked (xt_ct_tg_check).
func (t *CT) Reads() netfilter.Reading {
	if t.Notrack {
		return 0
	}
	return netfilter.ReadsConnection
}

// Reads is nothing.
func (*Audit) Reads() netfilter.Reading { return 0 }

// Reads is nothing.
func (*Checksum) Reads() netfilter.Reading { return 0 }

// Reads is nothing.
func (*Classify) Reads() netfilter.Reading { return 0 }

// Reads is the connection.
func (*Connmark) Reads() netfilter.Reading { return netfilter.ReadsConnection }

// Reads is the connection.
func (*Connsecmark) Reads() netfilter.Reading { return netfilter.ReadsConnection }

// Reads is the connection and that the destination becomes another one.
func (*DNAT) Reads() netfilter.Reading { return netfilter.ReadsConnection | netfilter.ChangesDst }

// Reads is nothing.
func (*DSCP) Reads() netfilter.Reading { return 0 }

// Reads is nothing.
func (*ECN) Reads() netfilter.Reading { return 0 }

// Reads is what is beside the packet.
func (*HMARK) Reads() netfilter.Reading { return netfilter.ReadsElse }

// Reads is nothing.
func (*Idletimer) Reads() netfilter.Reading { return 0 }

// Reads is nothing.
func (*Log) Reads() netfilter.Reading { return 0 }

// Reads is nothing.
func (*Mark) Reads() netfilter.Reading { return 0 }

// Reads is the connection, the devices, the route and whose the destination is.
func (*Masquerade) Reads() netfilter.Reading {
	return netfilter.ReadsConnection | netfilter.ReadsDevices | netfilter.ReadsRoute | netfilter.ReadsHost
}

// Reads is nothing.
func (*NFLOG) Reads() netfilter.Reading { return 0 }

// Reads is nothing.
func (*NFQUEUE) Reads() netfilter.Reading { return 0 }

// Reads is what is beside the packet.
func (*NPT) Reads() netfilter.Reading { return netfilter.ReadsElse }

// Reads is the connection, the hook and that the destination becomes another one.
func (*Netmap) Reads() netfilter.Reading {
	return netfilter.ReadsConnection | netfilter.ReadsHook | netfilter.ChangesDst
}

// Reads is nothing.
func (*Notrack) Reads() netfilter.Reading { return 0 }

// Reads is nothing.
func (*Rateest) Reads() netfilter.Reading { return 0 }

// Reads is the connection, the devices, whose the destination is and that the destination becomes another one.
func (*Redirect) Reads() netfilter.Reading {
	return netfilter.ReadsConnection | netfilter.ReadsDevices | netfilter.ReadsHost | netfilter.ChangesDst
}

// Reads is nothing.
func (*Reject) Reads() netfilter.Reading { return 0 }

// Reads is the connection.
func (*SNAT) Reads() netfilter.Reading { return netfilter.ReadsConnection }

// Reads is nothing.
func (*Secmark) Reads() netfilter.Reading { return 0 }

// Reads is nothing.
func (*Set) Reads() netfilter.Reading { return 0 }

// Reads is the connection.
func (*Synproxy) Reads() netfilter.Reading { return netfilter.ReadsConnection }

// Reads is nothing.
func (*TCPMSS) Reads() netfilter.Reading { return 0 }

// Reads is nothing.
func (*TCPOptStrip) Reads() netfilter.Reading { return 0 }

// Reads is nothing.
func (*TEE) Reads() netfilter.Reading { return 0 }

// Reads is nothing.
func (*TOS) Reads() netfilter.Reading { return 0 }

// Reads is what is beside the packet.
func (*TPROXY) Reads() netfilter.Reading { return netfilter.ReadsElse }

// Reads is what is beside the packet.
func (*TTL) Reads() netfilter.Reading { return netfilter.ReadsElse }

// Reads is nothing.
func (*Trace) Reads() netfilter.Reading { return 0 }
