package compile

import (
	"encoding/binary"
	"strconv"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/internal/nlattr"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// addFlowtable adds a flowtable.
func (b *builder) addFlowtable(f *syntax.FlowtableDecl, h *syntax.Handle, create bool) {
	spec := nftables.FlowtableSpec{Name: h.Name, Flags: nftables.FlowtableFlags(f.Flags)}
	if f.Hook != nil {
		spec.Hook, spec.Priority, spec.Devices = f.Hook.HookNumber, f.Hook.PriorityNumber, f.Hook.DeviceNames
	}
	whole := b.command.Loc
	if b.command.Kind != syntax.KindFlowtable {
		whole = b.wholeOf(f.Loc)
	}
	b.putAt(&nftables.AddFlowtable{Family: h.Family, Table: h.Table, Flowtable: spec, Exclusive: create}, h, whole)
}

// objectValue is what a named object is made of; nil for a kind that is not known. Those that the kernel alone understands are the bytes of
// their attributes (enum nft_ct_helper_attributes and so on).
func (g *generator) objectValue(o *syntax.ObjectDecl, family nftables.Family) expr.Expr {
	switch {
	case o.Counter != nil:
		return g.stateful(o.Counter)
	case o.Quota != nil:
		return g.stateful(o.Quota)
	case o.Limit != nil:
		return g.stateful(o.Limit)
	case o.Synproxy != nil:
		return g.stateful(o.Synproxy)
	}
	w := options{list: o.Options, family: uint16(family)}
	switch o.Type {
	case expr.ObjectCounter:
		return g.stateful(&syntax.Counter{})
	case expr.ObjectQuota:
		return g.stateful(&syntax.QuotaStmt{})
	case expr.ObjectLimit:
		return g.stateful(&syntax.LimitStmt{}) // which the kernel refuses
	case expr.ObjectSynproxy:
		return g.stateful(&syntax.SynproxyStmt{})
	case expr.ObjectCTHelper:
		return &expr.Opaque{Kind: "ct helper", Data: w.helper()}
	case expr.ObjectCTTimeout:
		return &expr.Opaque{Kind: "ct timeout", Data: w.timeout()}
	case expr.ObjectCTExpect:
		return &expr.Opaque{Kind: "ct expectation", Data: w.expectation()}
	case expr.ObjectSecmark:
		return &expr.Opaque{Kind: "secmark", Data: nlattr.Append(nil, 1, append([]byte(w.text("context")), 0)...)}
	}
	return nil
}

// options are those of an object, as they were written.
type options struct {
	list   [][2]string
	family uint16
}

func (o *options) text(name string) string {
	for _, option := range o.list {
		if option[0] == name {
			return option[1]
		}
	}
	return ""
}

func (o *options) number(name string) uint64 {
	n, _ := strconv.ParseUint(o.text(name), 10, 64)
	return n
}

// l3proto is the family of the packets: that of the table if none was written.
func (o *options) l3proto() uint16 {
	if f, known := syntax.FamilyNamed(o.text("l3proto")); known {
		return uint16(f)
	}
	return o.family
}

// Numbers of protocols.
const (
	protocolTCP = 6
	protocolUDP = 17
)

func (o *options) protocol() uint8 {
	switch o.text("protocol") {
	case "tcp":
		return protocolTCP
	case "udp":
		return protocolUDP
	}
	return 0
}

func (o *options) helper() []byte {
	b := nlattr.Append(nil, 1, append([]byte(o.text("type")), 0)...)
	b = nlattr.AppendUint16(b, 2, o.l3proto())
	return nlattr.Append(b, 3, o.protocol())
}

func (o *options) timeout() []byte {
	b := nlattr.AppendUint16(nil, 1, o.l3proto())
	b = nlattr.Append(b, 2, o.protocol())
	return nlattr.AppendNested(b, 3, func(b []byte) []byte {
		for i, state := range syntax.TimeoutStates(o.protocol()) {
			seconds := uint32(state.Seconds)
			if o.text(state.Name) != "" {
				seconds = uint32(o.number(state.Name))
			}
			b = nlattr.AppendUint32(b, uint16(i+1), seconds)
		}
		return b
	})
}

func (o *options) expectation() []byte {
	b := nlattr.AppendUint16(nil, 1, o.l3proto())
	b = nlattr.Append(b, 2, o.protocol())
	b = nlattr.AppendUint16(b, 3, uint16(o.number("dport")))
	b = nlattr.Append(b, 4, binary.NativeEndian.AppendUint32(nil, uint32(o.number("timeout")))...) // the kernel reads it so
	return nlattr.Append(b, 5, uint8(o.number("size")))
}
