package print

import (
	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// AppendJSONStmt appends a statement as "nft -j" writes it.
func AppendJSONStmt(dst []byte, s syntax.Stmt, o *Options) (_ []byte, err error) {
	p := newJSONPrinter(dst, o)
	err = guard(func() { p.stmts.stmt(s) })
	return p.b, err
}

// jsonStmtPrinter prints statements as JSON.
type jsonStmtPrinter struct {
	*buffer
	*Options
	text   *stmtPrinter
	values *jsonValues
	exprs  *jsonExprPrinter
}

func (p *jsonStmtPrinter) list(list []syntax.Stmt) {
	p.array(len(list), func(i int) { p.stmt(list[i]) })
}

func (p *jsonStmtPrinter) stmt(s syntax.Stmt) {
	switch s := s.(type) {
	case *syntax.Match:
		p.exprs.expr(s.Expr)
	case *syntax.VerdictStmt:
		p.exprs.expr(s.Expr)
	case *syntax.Counter:
		p.counter(s)
	case *syntax.NAT:
		p.nat(s)
	case *syntax.SetMeta:
		p.mangle(func() {
			p.str(`{"meta": {"key": "`)
			p.str(metaName(s.Key))
			p.str(`"}}`)
		}, s.Value)
	case *syntax.SetCT:
		p.mangle(func() { p.exprs.ct(s.Key, s.Dir) }, s.Value)
	case *syntax.SetPayload:
		p.mangle(func() { p.exprs.expr(s.Field) }, s.Value)
	case *syntax.SetExthdr:
		p.mangle(func() { p.exprs.expr(s.Field) }, s.Value)
	case *syntax.LimitStmt:
		p.limit(s)
	case *syntax.Reject:
		p.reject(s)
	case *syntax.Log:
		p.log(s)
	case *syntax.Notrack:
		p.str(`{"notrack": null}`)
	case *syntax.SetUpdate:
		p.setUpdate(s)
	case *syntax.QuotaStmt:
		p.quota(s)
	default:
		p.rarer(s)
	}
}

func (p *jsonStmtPrinter) rarer(s syntax.Stmt) {
	switch s := s.(type) {
	case *syntax.Last:
		p.str(`{"last": null}`)
	case *syntax.ConnCount:
		p.str(`{"ct count": {"val": `)
		p.uint(uint64(s.Count))
		p.inverse(s.Over)
		p.str("}}")
	case *syntax.OptStrip:
		p.str(`{"reset": `)
		p.exprs.expr(s.Option)
		p.b = append(p.b, '}')
	case *syntax.ObjectStmt:
		p.object(s)
	case *syntax.QueueStmt:
		p.queue(s)
	case *syntax.DupStmt:
		p.dup(s)
	case *syntax.FwdStmt:
		p.str(`{"fwd": {"dev": `)
		p.exprs.expr(s.Dev)
		if s.Addr != nil {
			p.property("family", familyWord(s.Family))
			p.str(`, "addr": `)
			p.exprs.expr(s.Addr)
		}
		p.str("}}")
	case *syntax.TproxyStmt:
		p.tproxy(s)
	case *syntax.SynproxyStmt:
		p.synproxy(s)
	case *syntax.FlowStmt:
		p.str(`{"flow": {"op": "add", "flowtable": "@`)
		p.escaped(s.Table)
		p.str(`"}}`)
	case *syntax.MeterStmt:
		p.meter(s)
	case *syntax.ChainStmt:
		p.withoutJSON("chain", s)
	case *syntax.MapUpdate:
		p.withoutJSON("map", s)
	case *syntax.XtStmt:
		p.xt(s)
	default:
		unsupported("a statement of kind %T", s)
	}
}

// withoutJSON is a statement that nft has no JSON for: its text, with a warning.
func (p *jsonStmtPrinter) withoutJSON(name string, s syntax.Stmt) {
	if p.Warn != nil {
		p.Warn("warning: stmt ops " + name + " have no json callback\n")
	}
	start := len(p.b)
	p.text.stmt(s)
	text := string(p.b[start:])
	p.b = p.b[:start]
	p.jsonStr(text)
}

func (p *jsonStmtPrinter) mangle(key func(), value syntax.Expr) {
	p.str(`{"mangle": {"key": `)
	key()
	p.str(`, "value": `)
	p.exprs.expr(value)
	p.str("}}")
}

func (p *jsonStmtPrinter) counter(c *syntax.Counter) {
	if p.Stateless {
		p.str(`{"counter": null}`)
		return
	}
	p.str(`{"counter": {"packets": `)
	p.int(int64(c.Packets))
	p.integer("bytes", c.Bytes)
	p.str("}}")
}

func (p *jsonStmtPrinter) quota(q *syntax.QuotaStmt) {
	n, unit := inUnits(q.Bytes)
	p.str(`{"quota": {"val": `)
	p.int(int64(n))
	p.property("val_unit", unit)
	p.inverse(q.Over)
	if q.Used != 0 && !p.Stateless {
		n, unit := inUnits(q.Used)
		p.integer("used", n)
		p.property("used_unit", unit)
	}
	p.str("}}")
}

func (p *jsonStmtPrinter) limit(l *syntax.LimitStmt) {
	rate, unit := l.Rate, ""
	burst, burstUnit := uint64(l.Burst), ""
	if l.Bytes {
		rate, unit = inUnits(rate)
		burst, burstUnit = inUnits(burst)
	}
	p.str(`{"limit": {"rate": `)
	p.int(int64(rate))
	p.integer("burst", burst)
	p.property("per", unitOf(l.Unit))
	p.inverse(l.Over)
	if l.Bytes {
		p.property("rate_unit", unit)
		p.property("burst_unit", burstUnit)
	}
	p.str("}}")
}

func (p *jsonStmtPrinter) reject(r *syntax.Reject) {
	switch {
	case r.Kind < 0:
		p.str(`{"reject": null}`)
	case r.Kind == int(expr.RejectTCPReset):
		p.str(`{"reject": {"type": "tcp reset"}}`)
	default:
		word, t := rejectWord(r)
		p.str(`{"reject": {"type": "`)
		p.str(word)
		p.str(`", "expr": `)
		p.values.value(rejectCode(r, t))
		p.str("}}")
	}
}

func (p *jsonStmtPrinter) log(l *syntax.Log) {
	next, end := p.optional("log")
	if l.Prefix != nil {
		next("prefix")
		p.jsonStr(prefixText(l.Prefix))
	}
	number := func(has bool, key string, n uint64) {
		if has {
			next(key)
			p.uint(n)
		}
	}
	number(l.HasGroup, "group", uint64(l.Group))
	number(l.HasSnaplen, "snaplen", uint64(l.Snaplen))
	number(l.HasQueueThreshold, "queue-threshold", uint64(l.QueueThreshold))
	if l.HasLevel && l.Level != warnLevel && int(l.Level) < len(logLevels) {
		next("level")
		p.jsonStr(logLevels[l.Level])
	}
	if words := logFlagWords(l.Flags); words != nil {
		next("flags")
		p.words(words)
	}
	end()
}

func logFlagWords(flags uint32) (words []string) {
	if flags&logAll == logAll {
		return []string{"all"}
	}
	for _, f := range [...]struct {
		flag uint32
		word string
	}{
		{logTCPSequence, "tcp sequence"}, {logTCPOptions, "tcp options"}, {logIPOptions, "ip options"}, {logUID, "skuid"}, {logEther, "ether"},
	} {
		if flags&f.flag != 0 {
			words = append(words, f.word)
		}
	}
	return words
}

func (p *jsonStmtPrinter) nat(n *syntax.NAT) {
	next, end := p.optional(natWords[n.Kind])
	if word := familyWord(n.Family); word != "" && n.Addr != nil {
		next("family")
		p.jsonStr(word)
	}
	if n.Addr != nil {
		next("addr")
		p.exprs.expr(n.Addr)
	}
	if n.Port != nil {
		next("port")
		p.exprs.expr(n.Port)
	}
	var words []string
	for _, f := range natFlags {
		if n.Flags&f.flag != 0 {
			words = append(words, f.word)
		}
	}
	if n.Flags&expr.NATNetmap != 0 {
		words = append(words, "netmap")
	}
	if words != nil {
		next("flags")
		p.words(words)
	}
	if n.Prefix {
		next("type_flags")
		p.str(`"prefix"`)
	}
	end()
}

func (p *jsonStmtPrinter) setUpdate(s *syntax.SetUpdate) {
	p.str(`{"set": {"op": "`)
	p.str(dynsetWords[s.Op])
	p.str(`", "elem": `)
	p.exprs.expr(s.Key)
	p.str(`, "set": `)
	p.exprs.expr(s.Set)
	if len(s.Stmts) > 0 {
		p.str(`, "stmt": `)
		p.stateless(func() { p.list(s.Stmts) })
	}
	p.str("}}")
}

func (p *jsonStmtPrinter) object(s *syntax.ObjectStmt) {
	p.str(`{"`)
	p.str(objectWord(s.Type))
	p.str(`": `)
	if name, ok := objectName(s.Object); ok {
		p.jsonStr(name)
	} else {
		p.exprs.expr(s.Object)
	}
	p.b = append(p.b, '}')
}

func (p *jsonStmtPrinter) queue(q *syntax.QueueStmt) {
	next, end := p.optional("queue")
	if q.To != nil {
		next("num")
		p.exprs.expr(q.To)
	}
	var words []string
	for i, word := range queueFlags {
		if q.Flags&(1<<i) != 0 {
			words = append(words, word)
		}
	}
	if words != nil {
		next("flags")
		p.words(words)
	}
	end()
}

func (p *jsonStmtPrinter) dup(s *syntax.DupStmt) {
	p.str(`{"dup": {"addr": `)
	if s.Addr == nil {
		p.exprs.expr(s.Dev)
		p.str("}}")
		return
	}
	p.exprs.expr(s.Addr)
	if s.Dev != nil {
		p.str(`, "dev": `)
		p.exprs.expr(s.Dev)
	}
	p.str("}}")
}

func (p *jsonStmtPrinter) tproxy(t *syntax.TproxyStmt) {
	next, end := p.optional("tproxy")
	if word := familyWord(t.Family); word != "" && t.Addr != nil {
		next("family")
		p.jsonStr(word)
	}
	if t.Addr != nil {
		next("addr")
		p.exprs.expr(t.Addr)
	}
	if t.Port != nil {
		next("port")
		p.exprs.expr(t.Port)
	}
	end()
}

func (p *jsonStmtPrinter) synproxy(s *syntax.SynproxyStmt) {
	next, end := p.optional("synproxy")
	if s.Flags&synproxyMSS != 0 {
		next("mss")
		p.uint(uint64(s.MSS))
	}
	if s.Flags&synproxyWscale != 0 {
		next("wscale")
		p.uint(uint64(s.Wscale))
	}
	if words := synproxyWords(s.Flags); words != nil {
		next("flags")
		p.array(len(words), func(i int) { p.jsonStr(words[i]) })
	}
	end()
}

func (p *jsonStmtPrinter) meter(m *syntax.MeterStmt) {
	p.str(`{"meter": {"key": `)
	p.exprs.expr(m.Key)
	if m.Stmt != nil {
		p.str(`, "stmt": `)
		p.stateless(func() { p.stmt(m.Stmt) })
	}
	p.integer("size", uint64(m.Size))
	p.property("name", m.Name)
	p.str("}}")
}

func (p *jsonStmtPrinter) xt(x *syntax.XtStmt) {
	kind := "match"
	if x.Target {
		kind = "target"
	}
	p.str(`{"xt": {"type": "`)
	p.str(kind)
	p.b = append(p.b, '"')
	p.property("name", x.Name)
	p.str("}}")
}
