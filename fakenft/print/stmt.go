package print

import (
	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// AppendStmt appends a statement as nft lists it.
func AppendStmt(dst []byte, s syntax.Stmt, o *Options) (_ []byte, err error) {
	p := newPrinter(dst, o)
	err = guard(func() { p.stmts.stmt(s) })
	return p.b, err
}

// AppendRule appends a rule as nft lists it in a chain: without indent and end of line.
func AppendRule(dst []byte, r *syntax.Rule, o *Options) (_ []byte, err error) {
	p := newPrinter(dst, o)
	err = guard(func() { p.stmts.rule(r) })
	return p.b, err
}

// stmtPrinter prints rules and their statements.
type stmtPrinter struct {
	*buffer
	*Options
	values *values
	exprs  *exprPrinter
}

func (p *stmtPrinter) rule(r *syntax.Rule) {
	p.stmts(r.Stmts)
	if r.HasComment {
		p.str(` comment "`)
		p.str(r.Comment)
		p.b = append(p.b, '"')
	}
	p.handle(r.Number())
}

// handle is the comment that -a asks for.
func (p *stmtPrinter) handle(number uint64) {
	if p.Handles {
		p.str(" # handle ")
		p.uint(number)
	}
}

func (p *stmtPrinter) stmts(list []syntax.Stmt) {
	for i, s := range list {
		if i > 0 {
			p.b = append(p.b, ' ')
		}
		p.stmt(s)
	}
}

func (p *stmtPrinter) stmt(s syntax.Stmt) {
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
		p.exprs.metaKey(s.Key)
		p.assign(s.Value)
	case *syntax.SetCT:
		p.exprs.ctKey(s.Key, s.Dir, 0)
		p.assign(s.Value)
	case *syntax.SetPayload:
		p.exprs.expr(s.Field)
		p.assign(s.Value)
	case *syntax.SetExthdr:
		p.exprs.expr(s.Field)
		p.assign(s.Value)
	case *syntax.LimitStmt:
		p.str("limit ")
		p.limit(s)
	case *syntax.Reject:
		p.reject(s)
	case *syntax.Log:
		p.log(s)
	case *syntax.Notrack:
		p.str("notrack")
	case *syntax.SetUpdate:
		p.setUpdate(s)
	case *syntax.MapUpdate:
		p.mapUpdate(s)
	default:
		p.rarerStmt(s)
	}
}

func (p *stmtPrinter) rarerStmt(s syntax.Stmt) {
	switch s := s.(type) {
	case *syntax.QuotaStmt:
		p.str("quota ")
		p.quota(s)
	case *syntax.Last:
		p.last(s)
	case *syntax.ConnCount:
		p.str("ct count ")
		p.over(s.Over)
		p.uint(uint64(s.Count))
	case *syntax.OptStrip:
		p.str("reset ")
		p.exprs.expr(s.Option)
	case *syntax.ObjectStmt:
		p.object(s)
	case *syntax.QueueStmt:
		p.queue(s)
	case *syntax.DupStmt:
		p.dup(s)
	case *syntax.FwdStmt:
		p.fwd(s)
	case *syntax.TproxyStmt:
		p.tproxy(s)
	case *syntax.SynproxyStmt:
		p.str("synproxy")
		p.synproxy(s)
	case *syntax.FlowStmt:
		p.str("flow add @")
		p.str(s.Table)
	case *syntax.MeterStmt:
		p.meter(s)
	case *syntax.ChainStmt:
		p.inlineChain(s)
	case *syntax.XtStmt:
		p.xt(s)
	default:
		unsupported("a statement of kind %T", s)
	}
}

func (p *stmtPrinter) assign(value syntax.Expr) {
	p.str(" set ")
	p.exprs.expr(value)
}

func (p *exprPrinter) verdict(v *syntax.Verdict) {
	p.str(verdictWord(v.Code))
	if v.Code == expr.Jump || v.Code == expr.Goto {
		p.b = append(p.b, ' ')
		p.str(chainName(v.Chain))
	}
}

func verdictWord(code expr.Code) string {
	switch code {
	case expr.Accept:
		return "accept"
	case expr.Drop:
		return "drop"
	case expr.Continue:
		return "continue"
	case expr.Break:
		return "break"
	case expr.Jump:
		return "jump"
	case expr.Goto:
		return "goto"
	case expr.Return:
		return "return"
	case expr.Queue:
		return "queue"
	}
	unsupported("the verdict %d", code)
	return ""
}

// chainName is the name in the place of a chain.
func chainName(e syntax.Expr) string {
	switch e := e.(type) {
	case *syntax.Symbol:
		return e.Text
	case *syntax.Value:
		return e.Text
	case *syntax.Variable:
		return chainName(e.To)
	}
	return ""
}

func (p *stmtPrinter) counter(c *syntax.Counter) {
	p.str("counter")
	if !p.Stateless {
		p.b = append(p.b, ' ')
		p.counted(c)
	}
}

func (p *stmtPrinter) counted(c *syntax.Counter) {
	p.str("packets ")
	p.uint(c.Packets)
	p.str(" bytes ")
	p.uint(c.Bytes)
}

func (p *stmtPrinter) over(is bool) {
	if is {
		p.str("over ")
	}
}

func (p *stmtPrinter) quota(q *syntax.QuotaStmt) {
	p.over(q.Over)
	p.size(q.Bytes)
	if q.Used != 0 && !p.Stateless {
		p.str(" used ")
		p.size(q.Used)
	}
}

func (p *stmtPrinter) size(bytes uint64) {
	n, unit := inUnits(bytes)
	p.uint(n)
	p.b = append(p.b, ' ')
	p.str(unit)
}

// defaultBurst is what a limit of packets has if none was written.
const defaultBurst = 5

func unitOf(seconds uint64) string {
	switch seconds {
	case 1:
		return "second"
	case 60:
		return "minute"
	case 3600:
		return "hour"
	case 86400:
		return "day"
	case 604800:
		return "week"
	}
	return "error"
}

func (p *stmtPrinter) limit(l *syntax.LimitStmt) {
	p.str("rate ")
	p.over(l.Over)
	if l.Bytes {
		p.size(l.Rate)
	} else {
		p.uint(l.Rate)
	}
	p.b = append(p.b, '/')
	p.str(unitOf(l.Unit))
	switch {
	case l.Bytes && l.Burst != 0:
		p.str(" burst ")
		p.size(uint64(l.Burst))
	case !l.Bytes && l.Burst != 0 && l.Burst != defaultBurst:
		p.str(" burst ")
		p.uint(uint64(l.Burst))
		p.str(" packets")
	}
}

func (p *stmtPrinter) last(l *syntax.Last) {
	p.str("last")
	switch {
	case p.Stateless:
	case !l.Set:
		p.str(" used never")
	default:
		p.str(" used ")
		p.values.duration(uint64(l.Ago.Milliseconds()))
	}
}

// logLevels are the words of the levels of syslog; warnLevel is not written.
var logLevels = [...]string{"emerg", "alert", "crit", "err", "warn", "notice", "info", "debug", "audit"}

const warnLevel = 4

// The flags of log (NF_LOG_*).
const (
	logTCPSequence = 1 << iota
	logTCPOptions
	logIPOptions
	logUID
	_
	logEther
	logAll = logTCPSequence | logTCPOptions | logIPOptions | logUID | logEther
)

func (p *stmtPrinter) log(l *syntax.Log) {
	p.str("log")
	if l.Prefix != nil {
		p.str(` prefix "`)
		p.str(prefixText(l.Prefix))
		p.b = append(p.b, '"')
	}
	if l.HasGroup {
		p.str(" group ")
		p.uint(uint64(l.Group))
	}
	if l.HasSnaplen {
		p.str(" snaplen ")
		p.uint(uint64(l.Snaplen))
	}
	if l.HasQueueThreshold {
		p.str(" queue-threshold ")
		p.uint(uint64(l.QueueThreshold))
	}
	if l.HasLevel && l.Level != warnLevel && int(l.Level) < len(logLevels) {
		p.str(" level ")
		p.str(logLevels[l.Level])
	}
	p.logFlags(l.Flags)
}

func (p *stmtPrinter) logFlags(flags uint32) {
	if flags&logAll == logAll {
		p.str(" flags all")
		return
	}
	switch flags & (logTCPSequence | logTCPOptions) {
	case logTCPSequence | logTCPOptions:
		p.str(" flags tcp sequence,options")
	case logTCPSequence:
		p.str(" flags tcp sequence")
	case logTCPOptions:
		p.str(" flags tcp options")
	}
	if flags&logIPOptions != 0 {
		p.str(" flags ip options")
	}
	if flags&logUID != 0 {
		p.str(" flags skuid")
	}
	if flags&logEther != 0 {
		p.str(" flags ether")
	}
}

// prefixText is the prefix of a log.
func prefixText(e syntax.Expr) string {
	switch e := e.(type) {
	case *syntax.Value:
		return e.Text
	case *syntax.Symbol:
		return e.Text
	case *syntax.Variable:
		return prefixText(e.To)
	case *syntax.List:
		var s string
		for _, item := range e.Items {
			s += prefixText(item)
		}
		return s
	}
	return ""
}

// The codes that are not written: port unreachable.
const (
	icmpPortUnreachable   = 3
	icmpv6PortUnreachable = 4
	icmpxPortUnreachable  = 1
)

// isUsualReject says that a rejection is what "reject" alone means in the table.
func (p *stmtPrinter) isUsualReject(r *syntax.Reject) bool {
	verbose := p.Family != nftables.IPv4 && p.Family != nftables.IPv6
	switch {
	case r.Kind == int(expr.RejectICMPX):
		return r.ICMP == icmpxPortUnreachable
	case r.Family == protoIPv6:
		return !verbose && r.ICMP == icmpv6PortUnreachable
	}
	return !verbose && r.ICMP == icmpPortUnreachable
}

// protoIPv6 is NFPROTO_IPV6.
const protoIPv6 = 10

// rejectWord is the kind of message of a rejection, and the type of its code.
func rejectWord(r *syntax.Reject) (string, *syntax.Datatype) {
	switch {
	case r.Kind == int(expr.RejectICMPX):
		return "icmpx", syntax.TypeICMPXCode
	case r.Family == protoIPv6:
		return "icmpv6", syntax.TypeICMPv6Code
	}
	return "icmp", syntax.TypeICMPCode
}

func rejectCode(r *syntax.Reject, t *syntax.Datatype) *syntax.Value {
	return &syntax.Value{Common: syntax.Common{Type: t, Bits: 8}, Num: syntax.Num{Lo: uint64(r.ICMP)}}
}

func (p *stmtPrinter) reject(r *syntax.Reject) {
	p.str("reject")
	switch {
	case r.Kind < 0:
	case r.Kind == int(expr.RejectTCPReset):
		p.str(" with tcp reset")
	case !p.isUsualReject(r):
		word, t := rejectWord(r)
		p.str(" with ")
		p.str(word)
		p.b = append(p.b, ' ')
		p.values.value(rejectCode(r, t))
	}
}
