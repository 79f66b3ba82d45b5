package expr

// The kernel's names of the kinds (struct nft_expr_type).

func (*Immediate) Name() string   { return "immediate" }
func (*Cmp) Name() string         { return "cmp" }
func (*Range) Name() string       { return "range" }
func (*Bitwise) Name() string     { return "bitwise" }
func (*Byteorder) Name() string   { return "byteorder" }
func (*Payload) Name() string     { return "payload" }
func (*Exthdr) Name() string      { return "exthdr" }
func (*Meta) Name() string        { return "meta" }
func (*CT) Name() string          { return "ct" }
func (*RT) Name() string          { return "rt" }
func (*Socket) Name() string      { return "socket" }
func (*Osf) Name() string         { return "osf" }
func (*XFRM) Name() string        { return "xfrm" }
func (*Fib) Name() string         { return "fib" }
func (*Numgen) Name() string      { return "numgen" }
func (*Hash) Name() string        { return "hash" }
func (*Lookup) Name() string      { return "lookup" }
func (*Dynset) Name() string      { return "dynset" }
func (*Objref) Name() string      { return "objref" }
func (*Counter) Name() string     { return "counter" }
func (*Quota) Name() string       { return "quota" }
func (*Limit) Name() string       { return "limit" }
func (*Connlimit) Name() string   { return "connlimit" }
func (*Last) Name() string        { return "last" }
func (*Log) Name() string         { return "log" }
func (*Reject) Name() string      { return "reject" }
func (*NAT) Name() string         { return "nat" }
func (*Masq) Name() string        { return "masq" }
func (*Redir) Name() string       { return "redir" }
func (*Notrack) Name() string     { return "notrack" }
func (*QueueTo) Name() string     { return "queue" }
func (*Dup) Name() string         { return "dup" }
func (*Fwd) Name() string         { return "fwd" }
func (*Tproxy) Name() string      { return "tproxy" }
func (*Synproxy) Name() string    { return "synproxy" }
func (*FlowOffload) Name() string { return "flow_offload" }
func (x *Xt) Name() string {
	if x.Target {
		return "target"
	}
	return "match"
}
func (o *Opaque) Name() string { return o.Kind }
