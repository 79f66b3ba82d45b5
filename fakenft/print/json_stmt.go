package print

import (
	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// AppendJSONStmt appends a statement as "nft -j" writes it.
func AppendJSONStmt(dst []byte, s syntax.Stmt, o *Options) (_ []byte, err error) {
	p := newPrinter(dst, o)
	err = guard(func() { p.jsonStmt(s) })
	return p.b, err
}

func (p *printer) jsonStmts(list []syntax.Stmt) {
	p.array(len(list), func(i int) { p.jsonStmt(list[i]) })
}

func (p *printer) jsonStmt(s syntax.Stmt) {
	switch s := s.(type) {
	case *syntax.Match:
		p.jsonExpr(s.Expr)
	case *syntax.VerdictStmt:
		p.jsonExpr(s.Expr)
	case *syntax.Counter:
		p.jsonCounter(s)
	case *syntax.NAT:
		p.jsonNAT(s)
	case *syntax.SetMeta:
		p.mangle(func() {
			p.str(`{"meta": {"key": "`)
			p.str(metaName(s.Key))
			p.str(`"}}`)
		}, s.Value)
	case *syntax.SetCT:
		p.mangle(func() { p.jsonCT(s.Key, s.Dir) }, s.Value)
	case *syntax.SetPayload:
		p.mangle(func() { p.jsonExpr(s.Field) }, s.Value)
	case *syntax.SetExthdr:
		p.mangle(func() { p.jsonExpr(s.Field) }, s.Value)
	case *syntax.LimitStmt:
		p.jsonLimit(s)
	case *syntax.Reject:
		p.jsonReject(s)
	case *syntax.Log:
		p.jsonLog(s)
	case *syntax.Notrack:
		p.str(`{"notrack": null}`)
	case *syntax.SetUpdate:
		p.jsonSetUpdate(s)
	case *syntax.QuotaStmt:
		p.jsonQuota(s)
	default:
		p.rarerJSONStmt(s)
	}
}

func (p *printer) rarerJSONStmt(s syntax.Stmt) {
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
		p.jsonExpr(s.Option)
		p.b = append(p.b, '}')
	case *syntax.ObjectStmt:
		p.jsonObjectStmt(s)
	case *syntax.QueueStmt:
		p.jsonQueue(s)
	case *syntax.DupStmt:
		p.jsonDup(s)
	case *syntax.FwdStmt:
		p.str(`{"fwd": {"dev": `)
		p.jsonExpr(s.Dev)
		if s.Addr != nil {
			p.property("family", familyWord(s.Family))
			p.str(`, "addr": `)
			p.jsonExpr(s.Addr)
		}
		p.str("}}")
	case *syntax.TproxyStmt:
		p.jsonTproxy(s)
	case *syntax.SynproxyStmt:
		p.jsonSynproxy(s)
	case *syntax.FlowStmt:
		p.str(`{"flow": {"op": "add", "flowtable": "@`)
		p.escaped(s.Table)
		p.str(`"}}`)
	case *syntax.MeterStmt:
		p.jsonMeter(s)
	case *syntax.ChainStmt:
		p.withoutJSON("chain", s)
	case *syntax.MapUpdate:
		p.withoutJSON("map", s)
	case *syntax.XtStmt:
		p.jsonXt(s)
	default:
		unsupported("a statement of kind %T", s)
	}
}

// withoutJSON is a statement that nft has no JSON for: its text, with a warning.
func (p *printer) withoutJSON(name string, s syntax.Stmt) {
	if p.Warn != nil {
		p.Warn("warning: stmt ops " + name + " have no json callback\n")
	}
	start := len(p.b)
	p.stmt(s)
	text := string(p.b[start:])
	p.b = p.b[:start]
	p.jsonStr(text)
}

func (p *printer) mangle(key func(), value syntax.Expr) {
	p.str(`{"mangle": {"key": `)
	key()
	p.str(`, "value": `)
	p.jsonExpr(value)
	p.str("}}")
}

func (p *printer) jsonCounter(c *syntax.Counter) {
	if p.Stateless {
		p.str(`{"counter": null}`)
		return
	}
	p.str(`{"counter": {"packets": `)
	p.int(int64(c.Packets))
	p.integer("bytes", c.Bytes)
	p.str("}}")
}

// inverse appends `, "inv": true` for "over".
func (p *printer) inverse(is bool) {
	if is {
		p.str(`, "inv": true`)
	}
}

func (p *printer) jsonQuota(q *syntax.QuotaStmt) {
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

func (p *printer) jsonLimit(l *syntax.LimitStmt) {
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

func (p *printer) jsonReject(r *syntax.Reject) {
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
		p.jsonValue(rejectCode(r, t))
		p.str("}}")
	}
}

// optional begins an object of properties that may all be missing; the function that it gives back begins each.
func (p *printer) optional(name string) (next func(key string), end func()) {
	p.str(`{"`)
	p.str(name)
	p.str(`": `)
	begun := false
	next = func(key string) {
		if begun {
			p.str(`, "`)
		} else {
			p.str(`{"`)
		}
		begun = true
		p.str(key)
		p.str(`": `)
	}
	end = func() {
		if begun {
			p.str("}}")
		} else {
			p.str("null}")
		}
	}
	return next, end
}

func (p *printer) jsonLog(l *syntax.Log) {
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

func (p *printer) jsonNAT(n *syntax.NAT) {
	next, end := p.optional(natWords[n.Kind])
	if word := familyWord(n.Family); word != "" && n.Addr != nil {
		next("family")
		p.jsonStr(word)
	}
	if n.Addr != nil {
		next("addr")
		p.jsonExpr(n.Addr)
	}
	if n.Port != nil {
		next("port")
		p.jsonExpr(n.Port)
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

func (p *printer) jsonSetUpdate(s *syntax.SetUpdate) {
	p.str(`{"set": {"op": "`)
	p.str(dynsetWords[s.Op])
	p.str(`", "elem": `)
	p.jsonExpr(s.Key)
	p.str(`, "set": `)
	p.jsonExpr(s.Set)
	if len(s.Stmts) > 0 {
		p.str(`, "stmt": `)
		p.stateless(func() { p.jsonStmts(s.Stmts) })
	}
	p.str("}}")
}

func (p *printer) jsonObjectStmt(s *syntax.ObjectStmt) {
	p.str(`{"`)
	p.str(objectWord(s.Type))
	p.str(`": `)
	if name, ok := objectName(s.Object); ok {
		p.jsonStr(name)
	} else {
		p.jsonExpr(s.Object)
	}
	p.b = append(p.b, '}')
}

func (p *printer) jsonQueue(q *syntax.QueueStmt) {
	next, end := p.optional("queue")
	if q.To != nil {
		next("num")
		p.jsonExpr(q.To)
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

func (p *printer) jsonDup(s *syntax.DupStmt) {
	p.str(`{"dup": {"addr": `)
	if s.Addr == nil {
		p.jsonExpr(s.Dev)
		p.str("}}")
		return
	}
	p.jsonExpr(s.Addr)
	if s.Dev != nil {
		p.str(`, "dev": `)
		p.jsonExpr(s.Dev)
	}
	p.str("}}")
}

func (p *printer) jsonTproxy(t *syntax.TproxyStmt) {
	next, end := p.optional("tproxy")
	if word := familyWord(t.Family); word != "" && t.Addr != nil {
		next("family")
		p.jsonStr(word)
	}
	if t.Addr != nil {
		next("addr")
		p.jsonExpr(t.Addr)
	}
	if t.Port != nil {
		next("port")
		p.jsonExpr(t.Port)
	}
	end()
}

func (p *printer) jsonSynproxy(s *syntax.SynproxyStmt) {
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

func (p *printer) jsonMeter(m *syntax.MeterStmt) {
	p.str(`{"meter": {"key": `)
	p.jsonExpr(m.Key)
	if m.Stmt != nil {
		p.str(`, "stmt": `)
		p.stateless(func() { p.jsonStmt(m.Stmt) })
	}
	p.integer("size", uint64(m.Size))
	p.property("name", m.Name)
	p.str("}}")
}

func (p *printer) jsonXt(x *syntax.XtStmt) {
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
