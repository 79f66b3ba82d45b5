package expr

// The kernel's names of the kinds (struct nft_expr_type).

// Name is "immediate".
func (*Immediate) Name() string { return "immediate" }

// Name is "cmp".
func (*Cmp) Name() string { return "cmp" }

// Name is "range".
func (*Range) Name() string { return "range" }

// Name is "bitwise".
func (*Bitwise) Name() string { return "bitwise" }

// Name is "byteorder".
func (*Byteorder) Name() string { return "byteorder" }

// Name is "payload".
func (*Payload) Name() string { return "payload" }

// Name is "exthdr".
func (*Exthdr) Name() string { return "exthdr" }

// Name is "meta".
func (*Meta) Name() string { return "meta" }

// Name is "ct".
func (*CT) Name() string { return "ct" }

// Name is "rt".
func (*RT) Name() string { return "rt" }

// Name is "socket".
func (*Socket) Name() string { return "socket" }

// Name is "osf".
func (*Osf) Name() string { return "osf" }

// Name is "xfrm".
func (*XFRM) Name() string { return "xfrm" }

// Name is "fib".
func (*Fib) Name() string { return "fib" }

// Name is "numgen".
func (*Numgen) Name() string { return "numgen" }

// Name is "hash".
func (*Hash) Name() string { return "hash" }

// Name is "lookup".
func (*Lookup) Name() string { return "lookup" }

// Name is "dynset".
func (*Dynset) Name() string { return "dynset" }

// Name is "objref".
func (*Objref) Name() string { return "objref" }

// Name is "counter".
func (*Counter) Name() string { return "counter" }

// Name is "quota".
func (*Quota) Name() string { return "quota" }

// Name is "limit".
func (*Limit) Name() string { return "limit" }

// Name is "connlimit".
func (*Connlimit) Name() string { return "connlimit" }

// Name is "last".
func (*Last) Name() string { return "last" }

// Name is "log".
func (*Log) Name() string { return "log" }

// Name is "reject".
func (*Reject) Name() string { return "reject" }

// Name is "nat".
func (*NAT) Name() string { return "nat" }

// Name is "masq".
func (*Masq) Name() string { return "masq" }

// Name is "redir".
func (*Redir) Name() string { return "redir" }

// Name is "notrack".
func (*Notrack) Name() string { return "notrack" }

// Name is "queue".
func (*QueueTo) Name() string { return "queue" }

// Name is "dup".
func (*Dup) Name() string { return "dup" }

// Name is "fwd".
func (*Fwd) Name() string { return "fwd" }

// Name is "tproxy".
func (*Tproxy) Name() string { return "tproxy" }

// Name is "synproxy".
func (*Synproxy) Name() string { return "synproxy" }

// Name is "flow_offload".
func (*FlowOffload) Name() string { return "flow_offload" }

// Name is "match" or "target".
func (x *Xt) Name() string {
	if x.Target {
		return "target"
	}
	return "match"
}

// Name is the kind's.
func (o *Opaque) Name() string { return o.Kind }
