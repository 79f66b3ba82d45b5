package parse

import (
	"strings"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// The flags of log (NF_LOG_*, include/uapi/linux/netfilter/nf_log.h).
const (
	logTCPSeq     = 1
	logTCPOptions = 2
	logIPOptions  = 4
	logUID        = 8
	logMAC        = 32
	logAll        = 0x2f
)

// logLevels are the levels of log (<sys/syslog.h>), and audit.
var logLevels = map[string]uint32{
	"emerg": 0, "alert": 1, "crit": 2, "err": 3, "warn": 4, "notice": 5, "info": 6, "debug": 7, "audit": 8,
}

func (p *stmtParser) log() syntax.Stmt {
	p.take()
	l := &syntax.Log{At: syntax.At{Loc: p.last}}
	for {
		switch p.peek() {
		case tokPrefix:
			p.take()
			text := p.str()
			l.Prefix = p.spliced(text, p.last)
		case tokGroup:
			p.take()
			l.Group, l.HasGroup = uint16(p.number()), true
		case tokSnaplen:
			p.take()
			l.Snaplen, l.HasSnaplen = uint32(p.number()), true
		case tokQueueThreshold:
			p.take()
			l.QueueThreshold, l.HasQueueThreshold = uint16(p.number()), true
		case tokLevel:
			p.take()
			level, ok := logLevels[p.str()]
			if !ok {
				p.wrong("invalid log level", p.last)
			}
			l.Level, l.HasLevel = level, true
		case tokFlags:
			p.take()
			l.Flags |= p.logFlags()
		default:
			p.close(scopeLog)
			return l
		}
	}
}

func (p *stmtParser) logFlags() uint32 {
	switch p.peek() {
	case tokTcp:
		p.take()
		flags := uint32(0)
		for {
			switch p.peek() {
			case tokSeq:
				flags |= logTCPSeq
			case tokOptions:
				flags |= logTCPOptions
			default:
				p.unexpected(tokSeq, tokOptions)
				return 0
			}
			p.take()
			if !p.accept(tokComma) {
				p.close(scopeTCP)
				return flags
			}
		}
	case tokIp:
		p.take()
		p.expect(tokOptions)
		p.close(scopeIP)
		return logIPOptions
	case tokSkuid:
		p.take()
		return logUID
	case tokEther:
		p.take()
		p.close(scopeEther)
		return logMAC
	case tokAll:
		p.take()
		return logAll
	}
	p.unexpected(anything...)
	return 0
}

// spliced is a text in which "$name" stands for variables: a Value without any, and else a List.
func (p *stmtParser) spliced(text string, at syntax.Loc) syntax.Expr {
	piece := func(s string) syntax.Expr {
		v := &syntax.Value{Text: s}
		v.Loc, v.Type, v.Order, v.Bits = at, syntax.TypeString, syntax.HostOrder, len(s)*8
		return v
	}
	if p.bad {
		return nil
	}
	if !strings.Contains(text, "$") {
		return piece(text)
	}
	l := &syntax.List{}
	l.Loc = at
	for {
		before, after, ok := strings.Cut(text, "$")
		if before != "" {
			l.Items = append(l.Items, piece(before))
		}
		if !ok {
			return l
		}
		n := 0
		for n < len(after) && nameByte[after[n]] && after[n] != '-' && after[n] != '.' && after[n] != '/' {
			n++
		}
		to := p.vars.resolve(after[:n], at)
		if p.bad {
			return nil
		}
		v := &syntax.Variable{Name: after[:n], To: to}
		v.Loc = at
		l.Items = append(l.Items, v)
		text = after[n:]
	}
}

func (p *stmtParser) reject() syntax.Stmt {
	p.take()
	r := &syntax.Reject{At: syntax.At{Loc: p.last}, Kind: -1, ICMP: -1}
	if !p.accept(tokWith) {
		p.close(scopeReject)
		return r
	}
	t := p.peek()
	switch t {
	case tokTcp:
		p.take()
		p.close(scopeTCP)
		p.expect(tokReset)
		p.close(scopeReset)
		r.Kind = int(expr.RejectTCPReset)
	case tokIcmp, tokIcmpv6, tokIcmpx:
		p.take()
		r.Kind = int(expr.RejectICMP)
		switch t {
		case tokIcmp:
			r.Family = 2
		case tokIcmpv6:
			r.Family = 10
		default:
			r.Kind = int(expr.RejectICMPX)
		}
		p.rejectCode(r, t)
	default:
		p.unexpected(tokTcp, tokIcmp, tokIcmpv6, tokIcmpx)
	}
	p.close(scopeReject)
	return r
}

// rejectCode takes "type" and a code, or the code alone: that leaves the scope of icmp open in nft 1.0.6.
func (p *stmtParser) rejectCode(r *syntax.Reject, t token) {
	typed := p.accept(tokType)
	switch p.peek() {
	case tokString:
		p.take()
		r.Code = p.symbol(p.last, p.cur.text)
	case tokNumber:
		r.Code = p.exprs.integer()
	default:
		if typed {
			p.unexpected(tokString, tokNumber)
		} else {
			p.unexpected(tokString, tokNumber, tokType)
		}
		return
	}
	if typed {
		p.close(scopeType)
		if t != tokIcmpx {
			p.close(scopeICMP)
		}
	}
}

// The flags of synproxy (NF_SYNPROXY_OPT_*, include/uapi/linux/netfilter/nf_synproxy.h).
const (
	synproxyMSS       = 1
	synproxyWscale    = 2
	synproxySackPerm  = 4
	synproxyTimestamp = 8
)

func (p *stmtParser) synproxy() syntax.Stmt {
	from := p.here()
	p.take()
	s := &syntax.SynproxyStmt{At: syntax.At{Loc: p.last}}
	if p.accept(tokName) {
		o := &syntax.ObjectStmt{Type: expr.ObjectSynproxy, Object: p.exprs.stmtExpr()}
		o.Loc = p.since(from)
		p.synproxyArgs(s)
		return o
	}
	p.synproxyArgs(s)
	return s
}

func (p *stmtParser) synproxyArgs(s *syntax.SynproxyStmt) {
	for {
		switch p.peek() {
		case tokMss:
			p.take()
			s.MSS = uint16(p.number())
			s.Flags |= synproxyMSS
		case tokWscale:
			p.take()
			s.Wscale = uint8(p.number())
			s.Flags |= synproxyWscale
		case tokTimestamp:
			p.take()
			s.Flags |= synproxyTimestamp
		case tokSackPermitted:
			p.take()
			s.Flags |= synproxySackPerm
		default:
			p.close(scopeSynproxy)
			return
		}
	}
}
