package expr

import "github.com/chainwalk/chainwalk/netfilter"

// What each expression looks at, for conntrack and for the fates of all packets.

// Reads is what the key says.
func (x *Meta) Reads() netfilter.Reading {
	switch x.Key {
	case MetaIif, MetaOif, MetaIifname, MetaOifname, MetaIiftype, MetaOiftype, MetaIifgroup, MetaOifgroup, MetaIifkind, MetaOifkind, MetaSkuid,
		MetaSkgid, MetaBriIifname, MetaBriOifname, MetaSdif, MetaSdifname:
		return netfilter.ReadsDevices
	case MetaMark:
		return netfilter.ReadsMark
	case MetaProtocol, MetaNfproto, MetaL4proto:
		return 0
	case MetaPRandom:
		return netfilter.ReadsDraw
	case MetaRtclassid:
		return netfilter.ReadsRoute
	}
	return netfilter.ReadsElse
}

// Reads is the connection. The status of a packet that has come in by lo again is another one.
func (x *CT) Reads() netfilter.Reading {
	switch of := netfilter.ReadsConnection; x.Key {
	case CTStatus:
		return of | netfilter.ReadsDevices | netfilter.ReadsTranslated
	case CTDst, CTDstIP, CTDstIP6, CTProtoDst:
		if x.Dir == nil || *x.Dir == 0 {
			return of | netfilter.ReadsFirst
		}
	}
	return netfilter.ReadsConnection
}

// Reads is chance, or the count of the rule.
func (x *Numgen) Reads() netfilter.Reading {
	if x.Random {
		return netfilter.ReadsDraw
	}
	return netfilter.ReadsCount
}

// Reads is the connection, and for a destination that it becomes another one.
func (x *NAT) Reads() netfilter.Reading {
	if x.Source {
		return netfilter.ReadsConnection
	}
	return netfilter.ReadsConnection | netfilter.ChangesDst
}

// Reads is what those look at that an element gets.
func (x *Dynset) Reads() netfilter.Reading {
	of := netfilter.ReadsHook | netfilter.ReadsShared
	for _, inner := range x.Exprs {
		of |= inner.Reads()
	}
	return of
}

// Reads is nothing.
func (*Bitwise) Reads() netfilter.Reading { return 0 }

// Reads is nothing.
func (*Byteorder) Reads() netfilter.Reading { return 0 }

// Reads is nothing.
func (*Cmp) Reads() netfilter.Reading { return 0 }

// Reads is the connection, the hook and the rule's count.
func (*Connlimit) Reads() netfilter.Reading {
	return netfilter.ReadsConnection | netfilter.ReadsHook | netfilter.ReadsCount
}

// Reads is nothing.
func (*Counter) Reads() netfilter.Reading { return 0 }

// Reads is not known.
func (*Dup) Reads() netfilter.Reading { return netfilter.ReadsUnknown }

// Reads is the header.
func (*Exthdr) Reads() netfilter.Reading { return netfilter.ReadsHeader }

// Reads is whose the destination is and the devices.
func (*Fib) Reads() netfilter.Reading { return netfilter.ReadsHost | netfilter.ReadsDevices }

// Reads is the connection and what is beside the packet.
func (*FlowOffload) Reads() netfilter.Reading { return netfilter.ReadsConnection | netfilter.ReadsElse }

// Reads is not known.
func (*Fwd) Reads() netfilter.Reading { return netfilter.ReadsUnknown }

// Reads is what is beside the packet.
func (*Hash) Reads() netfilter.Reading { return netfilter.ReadsElse }

// Reads is nothing.
func (*Immediate) Reads() netfilter.Reading { return 0 }

// Reads is nothing.
func (*Last) Reads() netfilter.Reading { return 0 }

// Reads is the hook and the rule's count.
func (*Limit) Reads() netfilter.Reading { return netfilter.ReadsHook | netfilter.ReadsCount }

// Reads is nothing.
func (*Log) Reads() netfilter.Reading { return 0 }

// Reads is nothing.
func (*Lookup) Reads() netfilter.Reading { return 0 }

// Reads is the connection, the devices, the route and whose the destination is.
func (*Masq) Reads() netfilter.Reading {
	return netfilter.ReadsConnection | netfilter.ReadsDevices | netfilter.ReadsRoute | netfilter.ReadsHost
}

// Reads is nothing.
func (*Notrack) Reads() netfilter.Reading { return 0 }

// Reads is the hook and what others have left.
func (*Objref) Reads() netfilter.Reading { return netfilter.ReadsHook | netfilter.ReadsShared }

// Reads is not known.
func (*Opaque) Reads() netfilter.Reading { return netfilter.ReadsUnknown }

// Reads is the header.
func (*Osf) Reads() netfilter.Reading { return netfilter.ReadsHeader }

// Reads is nothing.
func (*Payload) Reads() netfilter.Reading { return 0 }

// Reads is not known.
func (*QueueTo) Reads() netfilter.Reading { return netfilter.ReadsUnknown }

// Reads is the hook and the rule's count.
func (*Quota) Reads() netfilter.Reading { return netfilter.ReadsHook | netfilter.ReadsCount }

// Reads is the route and what is beside the packet.
func (*RT) Reads() netfilter.Reading { return netfilter.ReadsRoute | netfilter.ReadsElse }

// Reads is nothing.
func (*Range) Reads() netfilter.Reading { return 0 }

// Reads is the connection, the devices, whose the destination is and that the destination becomes another one.
func (*Redir) Reads() netfilter.Reading {
	return netfilter.ReadsConnection | netfilter.ReadsDevices | netfilter.ReadsHost | netfilter.ChangesDst
}

// Reads is the hook.
func (*Reject) Reads() netfilter.Reading { return netfilter.ReadsHook }

// Reads is what is beside the packet.
func (*Socket) Reads() netfilter.Reading { return netfilter.ReadsElse }

// Reads is the connection and what is beside the packet.
func (*Synproxy) Reads() netfilter.Reading { return netfilter.ReadsConnection | netfilter.ReadsElse }

// Reads is not known.
func (*Tproxy) Reads() netfilter.Reading { return netfilter.ReadsUnknown }

// Reads is what is beside the packet.
func (*XFRM) Reads() netfilter.Reading { return netfilter.ReadsElse }

// Reads is not known.
func (*Xt) Reads() netfilter.Reading { return netfilter.ReadsUnknown }
