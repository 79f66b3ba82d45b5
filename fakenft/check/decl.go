package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

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

// declChecker evaluates declarations of chains, flowtables and objects.
type declChecker struct {
	*notes
	*state
	tx    *transaction
	newer bool // as Checker.Newer
}

// evalPriority finds out the number of a priority.
func (c *declChecker) evalPriority(h *syntax.HookDecl, f nftables.Family) bool {
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
func (c *declChecker) priorityWord(h *syntax.HookDecl, e *syntax.Symbol, f nftables.Family) bool {
	offset := h.PriorityNumber
	name := e.Text
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
	if !ok && c.newer && f != nftables.Bridge {
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

func (c *declChecker) evalChain(ch *syntax.ChainDecl) bool {
	h := &c.cmd.Handle
	t := c.tx.cache.table(tableOf(h))
	if t == nil {
		return c.tx.noTable()
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

func (c *declChecker) evalHook(ch *syntax.ChainDecl) bool {
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

func (c *declChecker) evalPolicy(ch *syntax.ChainDecl) bool {
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
	switch s.Text {
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
		return []string{e.Text}
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

func (c *declChecker) evalFlowtable(f *syntax.FlowtableDecl) bool {
	t := c.tx.cache.table(tableOf(&c.cmd.Handle))
	if t == nil {
		return c.tx.noTable()
	}
	t.flows[f.Handle.Name] = true
	if f.Hook == nil || f.Hook.Hook == "" {
		return true
	}
	number, ok := hookNumber(nftables.Netdev, f.Hook.Hook)
	if !ok {
		return c.wrong("invalid hook "+f.Hook.Hook, f.Loc)
	}
	f.Hook.HookNumber = number
	if f.Hook.Priority != nil {
		said := loc(f.Hook.Priority)
		if !c.evalPriority(f.Hook, nftables.Netdev) {
			return c.wrong("invalid priority expression "+priorityKind(f.Hook.Priority)+".", said)
		}
	}
	if f.Hook.Devices != nil {
		f.Hook.DeviceNames = deviceNames(f.Hook.Devices)
	}
	return true
}

func (c *declChecker) evalObject(o *syntax.ObjectDecl) bool {
	t := c.tx.cache.table(tableOf(&c.cmd.Handle))
	if t == nil {
		return c.tx.noTable()
	}
	t.objects[Object{o.Type, o.Handle.Name}] = true
	switch o.Type {
	case expr.ObjectCTExpect:
		for _, name := range []string{"protocol", "dport", "timeout", "size"} {
			if optionOf(o, name) == "" {
				return c.wrong("missing options", o.Loc)
			}
		}
	case expr.ObjectCTTimeout:
		known, state := timeoutStates[optionOf(o, "protocol")], 0
		for _, option := range o.Options {
			if option[0] == "protocol" || option[0] == "l3proto" {
				continue
			}
			if !slices.Contains(known, option[0]) {
				at := o.Loc
				if state < len(o.States) {
					at = o.States[state]
				}
				return c.wrong("invalid state for this protocol", at)
			}
			state++
		}
	}
	return true
}

// timeoutStates are the states of a connection that a ct timeout can be about.
var timeoutStates = map[string][]string{
	"tcp": {
		"syn_sent", "syn_recv", "established", "fin_wait", "close_wait", "last_ack", "time_wait", "close", "retrans", "unack",
	},
	"udp": {"unreplied", "replied"},
}

// optionOf is the value of an option; "" if it is not there.
func optionOf(o *syntax.ObjectDecl, name string) string {
	for _, option := range o.Options {
		if option[0] == name {
			return option[1]
		}
	}
	return ""
}
