package nftables_test

import (
	"encoding/binary"
	"time"

	"golang.org/x/sys/unix"

	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// message is a change as netlink has it.
type message struct {
	kind   uint16
	flags  uint16
	family nftables.Family
	body   []byte
	marks  map[uint32]mark // by the offset of an attribute in the message
}

// mark is what an attribute is.
type mark struct {
	part  nftables.Part
	index int
}

// headers are those of netlink and of nfnetlink.
const headers = 20

func (m *message) mark(part nftables.Part, index int) {
	if m.marks == nil {
		m.marks = map[uint32]mark{}
	}
	m.marks[uint32(headers+len(m.body))] = mark{part, index}
}

func (m *message) attr(typ uint16, value ...byte) {
	m.body = binary.NativeEndian.AppendUint16(m.body, uint16(4+len(value)))
	m.body = binary.NativeEndian.AppendUint16(m.body, typ)
	m.body = append(m.body, value...)
	for len(m.body)%4 != 0 {
		m.body = append(m.body, 0)
	}
}

func (m *message) text(typ uint16, text string) { m.attr(typ, append([]byte(text), 0)...) }
func (m *message) u32(typ uint16, n uint32)     { m.attr(typ, binary.BigEndian.AppendUint32(nil, n)...) }
func (m *message) u64(typ uint16, n uint64)     { m.attr(typ, binary.BigEndian.AppendUint64(nil, n)...) }

func (m *message) time(typ uint16, d time.Duration) { m.u64(typ, uint64(d.Milliseconds())) }

func (m *message) nest(typ uint16, f func()) {
	at := len(m.body)
	m.attr(typ | 1<<15)
	f()
	binary.NativeEndian.PutUint16(m.body[at:], uint16(len(m.body)-at))
}

func exclusive(set bool) uint16 {
	if set {
		return unix.NLM_F_EXCL
	}
	return 0
}

func encode(c nftables.Change) *message {
	switch c := c.(type) {
	case *nftables.AddTable:
		m := &message{kind: unix.NFT_MSG_NEWTABLE, family: c.Family, flags: unix.NLM_F_CREATE | exclusive(c.Exclusive)}
		m.mark(nftables.PartTable, 0)
		m.text(unix.NFTA_TABLE_NAME, c.Name)
		m.u32(unix.NFTA_TABLE_FLAGS, uint32(c.Flags))
		return m
	case *nftables.DeleteTable:
		m := &message{kind: unix.NFT_MSG_DELTABLE, family: c.Family}
		if c.Name != "" {
			m.mark(nftables.PartTable, 0)
			m.text(unix.NFTA_TABLE_NAME, c.Name)
		}
		return m
	case *nftables.AddChain:
		return encodeChain(c)
	case *nftables.DeleteChain:
		m := &message{kind: unix.NFT_MSG_DELCHAIN, family: c.Family}
		m.mark(nftables.PartTable, 0)
		m.text(unix.NFTA_CHAIN_TABLE, c.Table)
		if c.Handle != 0 {
			m.mark(nftables.PartHandle, 0)
			m.u64(unix.NFTA_CHAIN_HANDLE, c.Handle)
		} else {
			m.mark(nftables.PartChain, 0)
			m.text(unix.NFTA_CHAIN_NAME, c.Name)
		}
		return m
	case *nftables.AddRule:
		return encodeRule(c)
	case *nftables.DeleteRule:
		m := &message{kind: unix.NFT_MSG_DELRULE, family: c.Family}
		m.mark(nftables.PartTable, 0)
		m.text(unix.NFTA_RULE_TABLE, c.Table)
		if c.Chain != "" {
			m.mark(nftables.PartChain, 0)
			m.text(unix.NFTA_RULE_CHAIN, c.Chain)
		}
		if c.Handle != 0 {
			m.mark(nftables.PartHandle, 0)
			m.u64(unix.NFTA_RULE_HANDLE, c.Handle)
		}
		return m
	case *nftables.AddSet:
		return encodeSet(c)
	case *nftables.DeleteSet:
		m := &message{kind: unix.NFT_MSG_DELSET, family: c.Family}
		m.mark(nftables.PartTable, 0)
		m.text(unix.NFTA_SET_TABLE, c.Table)
		m.mark(nftables.PartName, 0)
		m.text(unix.NFTA_SET_NAME, c.Name)
		return m
	case *nftables.AddElements:
		m := &message{kind: unix.NFT_MSG_NEWSETELEM, family: c.Family, flags: unix.NLM_F_CREATE | exclusive(c.Exclusive)}
		m.elements(c.Table, c.Set, c.SetID, c.Elements)
		return m
	case *nftables.DeleteElements:
		m := &message{kind: unix.NFT_MSG_DELSETELEM, family: c.Family}
		m.elements(c.Table, c.Set, 0, c.Elements)
		return m
	case *nftables.AddObject:
		m := &message{kind: unix.NFT_MSG_NEWOBJ, family: c.Family, flags: unix.NLM_F_CREATE | exclusive(c.Exclusive)}
		m.object(c.Table, c.Object.Name, c.Object.Type)
		m.nest(4, func() { m.data(c.Object.Value) })
		return m
	case *nftables.DeleteObject:
		m := &message{kind: unix.NFT_MSG_DELOBJ, family: c.Family}
		m.object(c.Table, c.Name, c.Type)
		return m
	}
	panic("unknown change")
}

func (m *message) object(table, name string, typ expr.ObjectType) {
	m.mark(nftables.PartTable, 0)
	m.text(1, table)
	m.mark(nftables.PartName, 0)
	m.text(2, name)
	m.u32(3, uint32(typ))
}

func encodeChain(c *nftables.AddChain) *message {
	m := &message{kind: unix.NFT_MSG_NEWCHAIN, family: c.Family, flags: unix.NLM_F_CREATE | exclusive(c.Exclusive)}
	m.mark(nftables.PartTable, 0)
	m.text(unix.NFTA_CHAIN_TABLE, c.Table)
	if c.Handle != 0 {
		m.mark(nftables.PartHandle, 0)
		m.u64(unix.NFTA_CHAIN_HANDLE, c.Handle)
	}
	if c.Chain.Name != "" {
		m.mark(nftables.PartChain, 0)
		m.text(unix.NFTA_CHAIN_NAME, c.Chain.Name)
	}
	if c.Chain.ID != 0 {
		m.u32(11, c.Chain.ID)
	}
	if c.Chain.Flags != 0 {
		m.u32(10, uint32(c.Chain.Flags))
	}
	if h := c.Chain.Hooking; h != nil {
		m.nest(unix.NFTA_CHAIN_HOOK, func() {
			m.u32(unix.NFTA_HOOK_HOOKNUM, h.Hook)
			m.u32(unix.NFTA_HOOK_PRIORITY, uint32(h.Priority))
		})
		m.mark(nftables.PartHook, 0)
		m.text(unix.NFTA_CHAIN_TYPE, h.Type)
	}
	if c.Chain.Policy != nil {
		m.mark(nftables.PartPolicy, 0)
		m.u32(unix.NFTA_CHAIN_POLICY, uint32(*c.Chain.Policy))
	}
	return m
}

func encodeRule(c *nftables.AddRule) *message {
	m := &message{kind: unix.NFT_MSG_NEWRULE, family: c.Family}
	switch c.Place {
	case nftables.Last:
		m.flags = unix.NLM_F_CREATE | unix.NLM_F_APPEND
	case nftables.First:
		m.flags = unix.NLM_F_CREATE
	case nftables.Instead:
		m.flags = unix.NLM_F_REPLACE
	}
	m.mark(nftables.PartTable, 0)
	m.text(unix.NFTA_RULE_TABLE, c.Table)
	if c.ChainID != 0 {
		m.u32(11, c.ChainID)
	} else {
		m.mark(nftables.PartChain, 0)
		m.text(unix.NFTA_RULE_CHAIN, c.Chain)
	}
	switch {
	case c.Place == nftables.Instead:
		m.mark(nftables.PartHandle, 0)
		m.u64(unix.NFTA_RULE_HANDLE, c.Handle)
	case c.Handle != 0:
		m.mark(nftables.PartPlace, 0)
		m.u64(unix.NFTA_RULE_POSITION, c.Handle)
	}
	m.exprs(unix.NFTA_RULE_EXPRESSIONS, c.Exprs, true)
	return m
}

func encodeSet(c *nftables.AddSet) *message {
	s := &c.Set
	m := &message{kind: unix.NFT_MSG_NEWSET, family: c.Family, flags: unix.NLM_F_CREATE | exclusive(c.Exclusive)}
	m.mark(nftables.PartTable, 0)
	m.text(unix.NFTA_SET_TABLE, c.Table)
	m.mark(nftables.PartName, 0)
	m.text(unix.NFTA_SET_NAME, s.Name)
	m.u32(unix.NFTA_SET_FLAGS, uint32(s.Flags))
	m.u32(unix.NFTA_SET_KEY_TYPE, s.KeyType)
	m.u32(unix.NFTA_SET_KEY_LEN, s.KeyLen)
	if s.DataType != 0 {
		m.u32(unix.NFTA_SET_DATA_TYPE, s.DataType)
		m.u32(unix.NFTA_SET_DATA_LEN, s.DataLen)
	}
	if s.ObjectType != 0 {
		m.u32(15, uint32(s.ObjectType))
	}
	if s.Timeout != 0 {
		m.time(unix.NFTA_SET_TIMEOUT, s.Timeout)
	}
	m.u32(unix.NFTA_SET_ID, s.ID)
	if s.Size != 0 || s.FieldLens != nil {
		m.nest(unix.NFTA_SET_DESC, func() {
			if s.Size != 0 {
				m.u32(1, s.Size)
			}
			if s.FieldLens != nil {
				m.nest(2, func() {
					for _, l := range s.FieldLens {
						m.nest(1, func() { m.u32(1, uint32(l)) })
					}
				})
			}
		})
	}
	switch {
	case len(s.Exprs) == 1 && s.Flags&nftables.SetExpr == 0:
		m.nest(17, func() { m.expr(s.Exprs[0]) })
	case len(s.Exprs) > 0:
		m.exprs(18, s.Exprs, false)
	}
	return m
}

func (m *message) elements(table, set string, id uint32, elements []nftables.ElementSpec) {
	m.mark(nftables.PartTable, 0)
	m.text(unix.NFTA_SET_ELEM_LIST_TABLE, table)
	m.mark(nftables.PartName, 0)
	m.text(unix.NFTA_SET_ELEM_LIST_SET, set)
	if id != 0 {
		m.u32(unix.NFTA_SET_ELEM_LIST_SET_ID, id)
	}
	if elements == nil {
		return
	}
	m.nest(unix.NFTA_SET_ELEM_LIST_ELEMENTS, func() {
		for i := range elements {
			e := &elements[i]
			m.mark(nftables.PartElement, i)
			m.nest(1, func() { m.element(e) })
		}
	})
}

func (m *message) element(e *nftables.ElementSpec) {
	if e.Key != nil {
		m.nest(unix.NFTA_SET_ELEM_KEY, func() { m.attr(1, e.Key...) })
	}
	if e.KeyEnd != nil {
		m.nest(10, func() { m.attr(1, e.KeyEnd...) })
	}
	if e.Flags != 0 {
		m.u32(unix.NFTA_SET_ELEM_FLAGS, uint32(e.Flags))
	}
	if e.Data != nil {
		m.nest(unix.NFTA_SET_ELEM_DATA, func() { m.value(e.Data) })
	}
	if e.Object != "" {
		m.text(9, e.Object)
	}
	if e.HasTimeout {
		m.time(unix.NFTA_SET_ELEM_TIMEOUT, e.Timeout)
	}
	if e.Expires != 0 {
		m.time(unix.NFTA_SET_ELEM_EXPIRATION, e.Expires)
	}
	if e.UserData != nil {
		m.attr(unix.NFTA_SET_ELEM_USERDATA, e.UserData...)
	}
	if e.Exprs != nil {
		m.exprs(11, e.Exprs, false)
	}
}

func (m *message) value(d *expr.Data) {
	if d.Verdict == nil {
		m.attr(1, d.Bytes...)
		return
	}
	m.nest(2, func() {
		m.u32(1, uint32(d.Verdict.Code))
		if d.Verdict.Chain != "" {
			m.text(2, d.Verdict.Chain)
		}
		if d.Verdict.ChainID != 0 {
			m.u32(3, d.Verdict.ChainID)
		}
	})
}

func (m *message) exprs(typ uint16, exprs []expr.Expr, marked bool) {
	m.nest(typ, func() {
		for i, e := range exprs {
			if marked {
				m.mark(nftables.PartExpr, i)
			}
			m.nest(1, func() { m.expr(e) })
		}
	})
}

func (m *message) expr(e expr.Expr) {
	m.text(1, e.Name())
	m.nest(2, func() { m.data(e) })
}

func (m *message) reg(typ uint16, r expr.Register) {
	if r != 0 {
		m.u32(typ, uint32(r))
	}
}

func number(set bool) uint32 {
	if set {
		return 1
	}
	return 0
}

// data writes the attributes of an expression, or of an object.
func (m *message) data(e expr.Expr) {
	switch e := e.(type) {
	case *expr.Immediate:
		m.u32(1, uint32(e.Dreg))
		m.nest(2, func() { m.value(&e.Data) })
	case *expr.Meta:
		m.reg(1, e.Dreg)
		m.u32(2, uint32(e.Key))
		m.reg(3, e.Sreg)
	case *expr.Fib:
		m.reg(1, e.Dreg)
		m.u32(2, uint32(e.Result))
		m.u32(3, uint32(e.Flags))
	case *expr.RT:
		m.reg(1, e.Dreg)
		m.u32(2, e.Key)
	case *expr.Lookup:
		m.text(1, e.Set)
		m.reg(2, e.Sreg)
		if e.Map {
			m.u32(3, uint32(e.Dreg))
		}
		if e.SetID != 0 {
			m.u32(4, e.SetID)
		}
		m.u32(5, number(e.Invert))
	case *expr.Dynset:
		m.text(1, e.Set)
		m.u32(3, uint32(e.Op))
		m.reg(4, e.Key)
		if e.HasData {
			m.reg(5, e.Data)
		}
		if e.Timeout != 0 {
			m.time(6, e.Timeout)
		}
		if len(e.Exprs) == 1 {
			m.nest(7, func() { m.expr(e.Exprs[0]) })
		}
	case *expr.Objref:
		if e.Set == "" {
			m.u32(1, uint32(e.Type))
			m.text(2, e.Object)
		} else {
			m.reg(3, e.Sreg)
			m.text(4, e.Set)
		}
	default:
		m.statement(e)
	}
}

// statement writes the attributes of what does something.
func (m *message) statement(e expr.Expr) {
	switch e := e.(type) {
	case *expr.Counter:
		m.u64(1, e.Counters.Bytes())
		m.u64(2, e.Packets())
	case *expr.Quota:
		m.u64(1, e.Bytes)
		m.u32(2, number(e.Over))
		m.u64(4, e.Used())
	case *expr.Limit:
		m.u64(1, e.Rate)
		m.u64(2, uint64(e.Unit/time.Second))
		m.u32(3, e.Burst)
		m.u32(4, number(e.Bytes))
		m.u32(5, number(e.Over))
	case *expr.Reject:
		m.u32(1, uint32(e.Kind))
		m.attr(2, e.Code)
	case *expr.NAT:
		m.u32(1, number(!e.Source))
		m.u32(2, uint32(e.Family))
		m.reg(3, e.AddrMin)
		m.reg(4, e.AddrMax)
		m.reg(5, e.ProtoMin)
		m.reg(6, e.ProtoMax)
		if e.Flags != 0 {
			m.u32(7, uint32(e.Flags))
		}
	case *expr.Masq:
		if e.Flags != 0 {
			m.u32(1, uint32(e.Flags))
		}
		m.reg(2, e.ProtoMin)
		m.reg(3, e.ProtoMax)
	case *expr.Redir:
		m.reg(1, e.ProtoMin)
		m.reg(2, e.ProtoMax)
		if e.Flags != 0 {
			m.u32(3, uint32(e.Flags))
		}
	case *expr.Notrack:
	default:
		panic("unknown expression " + e.Name())
	}
}
