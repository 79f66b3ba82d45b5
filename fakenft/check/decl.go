package check

import (
	"fmt"
	"strings"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// evalSetDecl checks the declaration of a set, with a name or without one.
func (c *Checker) evalSetDecl(s *syntax.SetDecl) bool {
	if s.ID == 0 {
		s.ID = c.nextID()
	}
	if s.Map && s.Data == nil && s.Object == 0 {
		s.Flags &^= nftables.SetMap // nft finds out by the type of the data
	}
	if s.Map && s.Data != nil && !isMap(s.Flags) || s.Object != 0 {
		s.Flags &^= nftables.SetMap
		if s.Object != 0 {
			s.Flags |= nftables.SetObject
		} else {
			s.Flags |= nftables.SetMap
		}
	}
	var twin *syntax.SetDecl
	if !isAnonymous(s) {
		t := c.cache.table(tableOf(&s.Handle))
		if t == nil {
			return c.noTable()
		}
		if twin = t.set(s.Handle.Name); twin == nil {
			t.addSet(s)
			if c.cmd.Op == syntax.OpAdd && isInterval(s.Flags) {
				if c.sent == nil {
					c.sent = map[*syntax.SetDecl]int{}
				}
				c.sent[s] = -1
			}
		}
	}
	if !isInterval(s.Flags) && s.AutoMerge {
		if key, ok := s.Key.(*syntax.Concat); ok {
			for _, part := range key.Parts {
				c.typeOnly(part)
			}
			key.Type = syntax.TypeInvalid // which nft finds out later
		} else if s.Key != nil {
			c.typeOnly(s.Key)
		}
		return c.wrong("auto-merge only works with interval sets", s.Loc)
	}
	if !c.setTypes(s) {
		return false
	}
	if isTwin(twin, s) {
		return c.wrong("chainwalk does not support declaring "+s.Handle.Name+" twice in one transaction, "+
			"with other types or flags, for intervals", s.Loc)
	}
	if s.Timeout != 0 {
		s.Flags |= nftables.SetTimeout
	}
	if len(s.Stmts) > 1 {
		s.Flags |= nftables.SetExpr
	}
	if isAnonymous(s) {
		init := s.Elements.(*syntax.Set)
		if isInterval(init.Flags) && !isConcatInterval(init.Flags) {
			return c.intervals(s, init)
		}
		return true
	}
	return c.declared(s)
}

// declared evaluates the elements that a set is declared with.
func (c *Checker) declared(s *syntax.SetDecl) bool {
	c.set = s
	defer func() { c.set = nil }()
	init, _ := s.Elements.(*syntax.Set)
	if s.Elements != nil {
		k := s.Key.Info()
		c.expect(k.Type, k.Order, k.Bits, 0)
		if !c.eval(&s.Elements) {
			return false
		}
		var ok bool
		if init, ok = s.Elements.(*syntax.Set); !ok {
			return c.wrong(fmt.Sprintf("Set %s: Unexpected initial type %s, missing { }?", s.Handle.Name, kindOf(s.Elements)), loc(s.Elements))
		}
	}
	if isInterval(s.Flags) && !isConcatInterval(s.Flags) && init != nil {
		return c.intervals(s, init)
	}
	return true
}

// setTypes finds out the types of keys and data.
func (c *Checker) setTypes(s *syntax.SetDecl) bool {
	word := setWord(s.Flags)
	if s.Key == nil {
		return c.wrong("set definition does not specify key", s.Loc) // its type would say that it is a map
	}
	if !isAnonymous(s) && !c.typeOnly(s.Key) {
		return false
	}
	if s.Key.Info().Bits == 0 {
		return c.unqualified(s, s.Key, word)
	}
	if _, ok := s.Key.(*syntax.Concat); isInterval(s.Flags) && (ok || len(s.Key.Info().Type.Parts) > 0) {
		s.Flags |= nftables.SetConcat
	}
	if s.Flags&nftables.SetObject != 0 && s.Data == nil {
		s.Data = &syntax.Value{Common: syntax.Common{Type: syntax.TypeString, Order: syntax.HostOrder, Bits: objectNameBits}}
	}
	if s.Flags&nftables.SetMap == 0 {
		return true
	}
	if s.Data == nil {
		return c.wrong("map definition does not specify mapping data type", s.Loc)
	}
	if isAnonymous(s) {
		return true
	}
	if !c.typeOnly(s.Data) {
		return false
	}
	if k := s.Data.Info(); k.Bits == 0 && k.Type.ID != syntax.TypeVerdict.ID {
		return c.unqualified(s, s.Data, word)
	}
	return true
}

func (c *Checker) unqualified(s *syntax.SetDecl, of syntax.Expr, word string) bool {
	hint := ""
	t := of.Info().Type
	if t.Bits == 0 {
		hint = `. Try "typeof expression" instead of "type datatype".`
	}
	return c.wrong(fmt.Sprintf("unqualified type %s specified in %s definition%s", t.Name, word, hint), s.Loc)
}

// typeOnly gives an expression behind "type" or "typeof" its type. It is no expression of a packet, so nothing has to be matched before it.
func (c *Checker) typeOnly(e syntax.Expr) bool {
	switch e := e.(type) {
	case *syntax.Value:
		if e.Bits == 0 && e.Type != nil {
			e.Bits, e.Order = e.Type.Bits, e.Type.Order
		}
	case *syntax.Concat:
		return c.typeConcat(e)
	case *syntax.Symbol:
		e.Type = syntax.TypeInvalid
	case *syntax.Payload:
		c.typePayload(e)
		if e.Type.ID == syntax.TypeInteger.ID && len(e.Type.Parts) == 0 && e.Type.Bits == 0 {
			e.Type = syntax.Sized(e.Type, e.Bits)
		}
	case *syntax.Exthdr:
		if e.Field != nil {
			e.Type, e.Bits, e.Order, e.Offset = e.Field.Type, e.Field.Bits, e.Field.Order, e.Field.Offset
		}
		if e.Header != nil {
			e.RawType = e.Header.ExtType
		}
		if e.Present {
			e.Type, e.Bits = syntax.TypeBoolean, 8
		}
	case *syntax.Meta:
		e.Type, e.Bits, e.Order = syntax.MetaType(e.Key)
	case *syntax.CT:
		e.Type, e.Bits, e.Order = syntax.CTType(e.Key)
		if e.Key == expr.CTProtoSrc || e.Key == expr.CTProtoDst {
			e.Type = syntax.TypeInvalid // ports have one only behind a match of the transport protocol
		}
	case *syntax.RT:
		e.Type, e.Bits, e.Order = syntax.RTType(e.Key)
		if e.Key == syntax.RTNexthop4 && e.NFProto == 0 {
			e.Type, e.Bits = syntax.TypeInvalid, 0
		}
	case *syntax.Verdict:
		e.Type = syntax.TypeVerdict
	default:
		return c.typeRare(e)
	}
	return true
}

func (c *Checker) typeRare(e syntax.Expr) bool {
	k := e.Info()
	switch e := e.(type) {
	case *syntax.Socket:
		k.Type, k.Bits, k.Order = syntax.SocketType(e.Key)
	case *syntax.Osf:
		k.Type, k.Bits, k.Order = syntax.TypeString, 128, syntax.HostOrder
	case *syntax.XFRM:
		if key := syntax.XFRMKeyOf(e.Key); key != nil {
			k.Type, k.Bits, k.Order = key.Type, key.Bits, key.Order
		}
	case *syntax.Fib:
		k.Type, k.Bits, k.Order = syntax.FibType(e.Result, e.Flags)
	case *syntax.Numgen, *syntax.Hash:
		k.Type, k.Bits, k.Order = syntax.Sized(syntax.TypeInteger, 32), 32, syntax.HostOrder
	default:
		return c.wrong(fmt.Sprintf("chainwalk does not support typeof of %s expressions", kindOf(e)), k.Loc)
	}
	return true
}

// namedPriority is a priority by its name, and the hook that it is for; "" for all.
type namedPriority struct {
	name, hook string
	number     int32
}

var (
	ipPriorities = []namedPriority{
		{"raw", "", -300}, {"mangle", "", -150}, {"dstnat", "prerouting", -100}, {"filter", "", 0}, {"security", "", 50},
		{"srcnat", "postrouting", 100},
	}
	bridgePriorities = []namedPriority{
		{"dstnat", "prerouting", -300}, {"filter", "", -200}, {"out", "output", 100}, {"srcnat", "postrouting", 300},
	}
	otherPriorities = []namedPriority{{"filter", "", 0}}
)

// newerPriorities are the hooks whose priority of that name newer versions take at another hook too.
var newerPriorities = map[[2]string]string{{"dstnat", "output"}: "prerouting", {"srcnat", "input"}: "postrouting"}

func priorityNamed(name string, f nftables.Family, hook string) (int32, bool) {
	list := otherPriorities
	switch f {
	case nftables.IPv4, nftables.IPv6, nftables.Inet:
		list = ipPriorities
	case nftables.Bridge:
		list = bridgePriorities
	}
	for _, p := range list {
		if p.name == name && (p.hook == "" || p.hook == hook) {
			return p.number, true
		}
	}
	return 0, false
}

// evalPriority finds out the number of a priority.
func (c *Checker) evalPriority(h *syntax.HookDecl, f nftables.Family) bool {
	e := h.Priority
	if v, ok := e.(*syntax.Variable); ok {
		e = syntax.Clone(v.To)
		h.Priority = e
	}
	switch e := e.(type) {
	case *syntax.Value:
		h.PriorityNumber = int32(uint32(e.Num.Lo))
		return true
	case *syntax.Symbol:
		return c.priorityWord(h, e, f)
	case *syntax.Set:
		c.wrong("set is not a valid priority expression", e.Loc)
	}
	return false
}

// priorityWord reads a word such as "filter", or of a variable "filter - 10" or "-5".
func (c *Checker) priorityWord(h *syntax.HookDecl, e *syntax.Symbol, f nftables.Family) bool {
	offset := h.PriorityNumber
	name := e.Name
	if n, ok := signed(name); ok {
		h.PriorityNumber = n
		return true
	}
	if fields := strings.Fields(name); len(fields) == 3 {
		n, ok := signed(fields[2])
		if !ok || fields[1] != "+" && fields[1] != "-" {
			return false
		}
		if fields[1] == "-" {
			n = -n
		}
		name, offset = fields[0], n
	}
	number, ok := priorityNamed(name, f, h.Hook)
	if !ok && c.Newer && f != nftables.Bridge {
		number, ok = priorityNamed(name, f, newerPriorities[[2]string{name, h.Hook}])
	}
	if !ok {
		return false
	}
	h.PriorityNumber = number + offset
	return true
}

func signed(word string) (int32, bool) {
	rest, minus := strings.CutPrefix(word, "-")
	n, ok := number(rest)
	if !ok {
		return 0, false
	}
	if minus {
		return -int32(n.Lo), true
	}
	return int32(n.Lo), true
}

// hookNumbers are the hooks of families by their names.
func hookNumber(f nftables.Family, name string) (uint32, bool) {
	switch f {
	case nftables.Inet, nftables.IPv4, nftables.IPv6, nftables.Bridge:
		for number, hook := range []string{"prerouting", "input", "forward", "output", "postrouting"} {
			if hook == name {
				return uint32(number), true
			}
		}
		return 5, f == nftables.Inet && name == "ingress"
	case nftables.ARP:
		for number, hook := range []string{"input", "output", "forward"} {
			if hook == name {
				return uint32(number), true
			}
		}
	case nftables.Netdev:
		return map[string]uint32{"ingress": 0, "egress": 1}[name], name == "ingress" || name == "egress"
	}
	return 0, false
}

func (c *Checker) evalChain(ch *syntax.ChainDecl) bool {
	h := &c.cmd.Handle
	t := c.cache.table(tableOf(h))
	if t == nil {
		return c.noTable()
	}
	if ch == nil {
		t.addChain(h.Chain)
		return true
	}
	if !ch.Anonymous {
		t.addChain(ch.Handle.Chain)
	}
	return ch.Hook == nil || c.evalHook(ch)
}

func inherit(h, from *syntax.Handle) {
	if h.Family == 0 {
		h.Family = from.Family
	}
	if h.Table == "" {
		h.Table, h.TableLoc = from.Table, from.TableLoc
	}
	if h.Chain == "" {
		h.Chain, h.ChainLoc = from.Chain, from.ChainLoc
	}
}

func (c *Checker) evalHook(ch *syntax.ChainDecl) bool {
	hook, family := ch.Hook, ch.Handle.Family
	number, ok := hookNumber(family, hook.Hook)
	if !ok {
		return c.wrong(fmt.Sprintf("The %s family does not support this hook", family), hook.HookLoc)
	}
	hook.HookNumber = number
	said := loc(hook.Priority)
	if !c.evalPriority(hook, family) {
		return c.wrong(fmt.Sprintf("invalid priority expression %s in this context.", priorityKind(hook.Priority)), said)
	}
	if ch.Policy != nil && !c.evalPolicy(ch) {
		return false
	}
	if family != nftables.Netdev && (family != nftables.Inet || hook.Hook != "ingress") {
		if hook.Devices != nil {
			return c.wrong("This chain type cannot be bound to device", loc(hook.Devices))
		}
		return true
	}
	if hook.Devices == nil {
		return c.wrong("Missing `device' in this chain definition", hook.Loc)
	}
	hook.DeviceNames = deviceNames(hook.Devices)
	return true
}

// priorityKind is what nft calls a priority that it does not understand: a word has become a value by then.
func priorityKind(e syntax.Expr) string {
	if _, ok := e.(*syntax.Symbol); ok {
		return "value"
	}
	return kindOf(e)
}

func (c *Checker) evalPolicy(ch *syntax.ChainDecl) bool {
	e := ch.Policy
	if v, ok := e.(*syntax.Variable); ok {
		e = syntax.Clone(v.To)
	}
	s, ok := e.(*syntax.Symbol)
	if !ok {
		ch.Policy = e
		return true
	}
	v := &syntax.Value{Common: syntax.Common{Loc: s.Loc, Type: syntax.TypeInteger, Order: syntax.HostOrder, Bits: 32}}
	switch s.Name {
	case "accept":
		v.Num.Lo = uint64(expr.Accept)
	case "drop":
	default:
		c.wrong("wrong policy", s.Loc)
		return c.wrong("invalid policy expression variable", ch.Loc)
	}
	ch.Policy = v
	return true
}

func deviceNames(e syntax.Expr) []string {
	switch e := e.(type) {
	case *syntax.Symbol:
		return []string{e.Name}
	case *syntax.Value:
		return []string{e.Text}
	case *syntax.Variable:
		return deviceNames(e.To)
	case *syntax.Element:
		return deviceNames(e.Key)
	case *syntax.Set:
		return allDeviceNames(e.Items)
	case *syntax.List:
		return allDeviceNames(e.Items)
	}
	return nil
}

func allDeviceNames(items []syntax.Expr) []string {
	var names []string
	for _, item := range items {
		names = append(names, deviceNames(item)...)
	}
	return names
}
