package print

import (
	"strings"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

var natWords = [...]string{syntax.SNAT: "snat", syntax.DNAT: "dnat", syntax.Masquerade: "masquerade", syntax.Redirect: "redirect"}

// natFlags are the flags that are written, in their order.
var natFlags = [...]struct {
	flag expr.NATFlags
	word string
}{{expr.NATProtoRandom, "random"}, {expr.NATProtoFullRandom, "fully-random"}, {expr.NATPersistent, "persistent"}}

func (p *stmtPrinter) nat(n *syntax.NAT) {
	p.str(natWords[n.Kind])
	if n.Addr != nil || n.Port != nil {
		if word := familyWord(n.Family); word != "" {
			p.b = append(p.b, ' ')
			p.str(word)
		}
		if n.Prefix {
			p.str(" prefix")
		}
		p.str(" to")
	}
	if n.Addr != nil {
		p.b = append(p.b, ' ')
		p.address(n.Addr, n.Port != nil)
	}
	if n.Port != nil {
		if n.Addr == nil {
			p.b = append(p.b, ' ')
		}
		p.b = append(p.b, ':')
		p.exprs.expr(n.Port)
	}
	separator := byte(' ')
	for _, f := range natFlags {
		if n.Flags&f.flag != 0 {
			p.b = append(p.b, separator)
			p.str(f.word)
			separator = ','
		}
	}
}

// address is an address, in brackets if it is IPv6's and a port follows.
func (p *stmtPrinter) address(e syntax.Expr, brackets bool) {
	if r, ok := e.(*syntax.Range); ok && brackets && isIPv6(r.Min) {
		p.bracketed(r.Min)
		p.b = append(p.b, '-')
		p.bracketed(r.Max)
		return
	}
	if _, isValue := e.(*syntax.Value); isValue && brackets && isIPv6(e) {
		p.bracketed(e)
		return
	}
	p.exprs.expr(e)
}

func isIPv6(e syntax.Expr) bool { return e.Info().Type == syntax.TypeIPv6Addr }

func (p *stmtPrinter) bracketed(e syntax.Expr) {
	p.b = append(p.b, '[')
	p.exprs.expr(e)
	p.b = append(p.b, ']')
}

var dynsetWords = [...]string{expr.DynsetAdd: "add", expr.DynsetUpdate: "update", expr.DynsetDelete: "delete"}

func (p *stmtPrinter) setUpdate(s *syntax.SetUpdate) {
	p.str(dynsetWords[s.Op])
	p.b = append(p.b, ' ')
	p.exprs.expr(s.Set)
	p.str(" { ")
	p.exprs.expr(s.Key)
	p.stateless(func() { p.each(s.Stmts) })
	p.str(" }")
}

// each prints statements with a blank before each.
func (p *stmtPrinter) each(list []syntax.Stmt) {
	for _, s := range list {
		p.b = append(p.b, ' ')
		p.stmt(s)
	}
}

func (p *stmtPrinter) mapUpdate(s *syntax.MapUpdate) {
	p.str(dynsetWords[s.Op])
	p.b = append(p.b, ' ')
	p.exprs.expr(s.Set)
	p.str(" { ")
	p.exprs.expr(s.Key)
	p.stateless(func() { p.each(s.Stmts) })
	p.str(" : ")
	p.exprs.expr(s.Data)
	p.str(" }")
}

// objectWords are the words of kinds of objects in statements and maps.
func objectWord(t expr.ObjectType) string {
	switch t {
	case expr.ObjectCounter:
		return "counter"
	case expr.ObjectQuota:
		return "quota"
	case expr.ObjectCTHelper:
		return "ct helper"
	case expr.ObjectLimit:
		return "limit"
	case expr.ObjectTunnel:
		return "tunnel"
	case expr.ObjectCTTimeout:
		return "ct timeout"
	case expr.ObjectSecmark:
		return "secmark"
	case expr.ObjectCTExpect:
		return "ct expectation"
	case expr.ObjectSynproxy:
		return "synproxy"
	}
	unsupported("an object of kind %d", t)
	return ""
}

func (p *stmtPrinter) object(s *syntax.ObjectStmt) {
	switch s.Type {
	case expr.ObjectCTHelper, expr.ObjectCTTimeout, expr.ObjectCTExpect:
		p.str(objectWord(s.Type))
		p.str(" set ")
	case expr.ObjectSecmark:
		p.str("meta secmark set ")
	default:
		p.str(objectWord(s.Type))
		p.str(" name ")
	}
	if name, ok := objectName(s.Object); ok {
		p.quoted(name)
		return
	}
	p.exprs.expr(s.Object)
}

// objectName is the name of an object, if it is not looked up in a map.
func objectName(e syntax.Expr) (string, bool) {
	switch e := e.(type) {
	case *syntax.Value:
		return e.Text, true
	case *syntax.Symbol:
		return e.Text, true
	}
	return "", false
}

// The flags of queue (NFT_QUEUE_FLAG_*).
var queueFlags = [...]string{"bypass", "fanout"}

func (p *stmtPrinter) queue(q *syntax.QueueStmt) {
	p.str("queue")
	separator := " flags "
	for i, word := range queueFlags {
		if q.Flags&(1<<i) != 0 {
			p.str(separator)
			p.str(word)
			separator = ","
		}
	}
	if q.To == nil {
		p.str(" to 0")
		return
	}
	p.str(" to ")
	p.exprs.expr(q.To)
}

func (p *stmtPrinter) onDevice(dev syntax.Expr) {
	if dev != nil {
		p.str(" device ")
		p.exprs.expr(dev)
	}
}

// dup prints a copy's way: an address and a device, or in the family netdev a device alone.
func (p *stmtPrinter) dup(s *syntax.DupStmt) {
	p.str("dup to ")
	if s.Addr == nil {
		p.exprs.expr(s.Dev)
		return
	}
	p.exprs.expr(s.Addr)
	p.onDevice(s.Dev)
}

func (p *stmtPrinter) fwd(f *syntax.FwdStmt) {
	if f.Addr == nil {
		p.str("fwd to ")
		p.exprs.expr(f.Dev)
		return
	}
	p.str("fwd ")
	p.str(familyWord(f.Family))
	p.str(" to ")
	p.exprs.expr(f.Addr)
	p.onDevice(f.Dev)
}

func (p *stmtPrinter) tproxy(t *syntax.TproxyStmt) {
	p.str("tproxy")
	if word := familyWord(t.Family); word != "" {
		p.b = append(p.b, ' ')
		p.str(word)
	}
	p.str(" to")
	if t.Addr != nil {
		p.b = append(p.b, ' ')
		// An IPv6 address has its brackets even without a port.
		p.address(t.Addr, true)
	}
	if t.Port != nil {
		if t.Addr == nil {
			p.b = append(p.b, ' ')
		}
		p.b = append(p.b, ':')
		p.exprs.expr(t.Port)
	}
}

// The options of synproxy (NF_SYNPROXY_OPT_*).
const (
	synproxyMSS = 1 << iota
	synproxyWscale
	synproxySackPerm
	synproxyTimestamp
)

func (p *stmtPrinter) synproxy(s *syntax.SynproxyStmt) {
	if s.Flags&(synproxyMSS|synproxyWscale) != 0 {
		p.str(" mss ")
		p.uint(uint64(s.MSS))
		p.str(" wscale ")
		p.uint(uint64(s.Wscale))
	}
	for _, word := range synproxyWords(s.Flags) {
		p.b = append(p.b, ' ')
		p.str(word)
	}
}

func synproxyWords(flags uint32) (words []string) {
	if flags&synproxyTimestamp != 0 {
		words = append(words, "timestamp")
	}
	if flags&synproxySackPerm != 0 {
		words = append(words, "sack-perm")
	}
	return words
}

func (p *stmtPrinter) meter(m *syntax.MeterStmt) {
	p.str("meter ")
	p.str(m.Name)
	p.str(" size ")
	p.uint(uint64(m.Size))
	p.str(" { ")
	p.exprs.expr(m.Key)
	if m.Stmt != nil {
		p.b = append(p.b, ' ')
		p.stateless(func() { p.stmt(m.Stmt) })
	}
	p.str(" }")
}

func (p *stmtPrinter) inlineChain(s *syntax.ChainStmt) {
	p.str(verdictWord(s.Code))
	p.str(" {\n")
	handles := p.Handles
	p.Handles = false // nft shows those of no inner rule
	for _, r := range s.Chain.Rules {
		p.str("\t\t\t")
		p.rule(r)
		p.b = append(p.b, '\n')
	}
	p.Handles = handles
	p.str("\t\t}")
}

// xt is a match or target of x_tables: its translation, or its name alone.
func (p *stmtPrinter) xt(x *syntax.XtStmt) {
	if x.Translated || x.Text != "" {
		p.str(strings.TrimSuffix(x.Text, "\n"))
		return
	}
	if x.Unspelled {
		unsupported("what %s of x_tables is in the words of nft", x.Name)
	}
	p.str("xt ")
	if x.Target {
		p.str("target ")
	} else {
		p.str("match ")
	}
	p.str(x.Name)
}
