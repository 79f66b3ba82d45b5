package parse

import (
	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// bareKey is the key of meta that is written without the word.
func bareKey(t token) (key expr.MetaKey, ok bool) {
	k := bareKeys[t]
	return k.key, k.bare
}

var bareKeys = func() (table [tokens]struct {
	key  expr.MetaKey
	bare bool
}) {
	for t, key := range bareWords {
		table[t].key, table[t].bare = key, true
	}
	return table
}()

var bareWords = map[token]expr.MetaKey{
	tokMark: expr.MetaMark, tokIif: expr.MetaIif, tokIifname: expr.MetaIifname, tokIiftype: expr.MetaIiftype, tokOif: expr.MetaOif,
	tokOifname: expr.MetaOifname, tokOiftype: expr.MetaOiftype, tokSkuid: expr.MetaSkuid, tokSkgid: expr.MetaSkgid,
	tokNftrace: expr.MetaNftrace, tokRtclassid: expr.MetaRtclassid, tokIbriport: expr.MetaBriIifname, tokObriport: expr.MetaBriOifname,
	tokIbrname: expr.MetaBriIifname, tokObrname: expr.MetaBriOifname, tokPkttype: expr.MetaPkttype, tokCpu: expr.MetaCPU,
	tokIifgroup: expr.MetaIifgroup, tokOifgroup: expr.MetaOifgroup, tokCgroup: expr.MetaCgroup, tokTime: expr.MetaTimeNS,
	tokDay: expr.MetaTimeDay, tokHour: expr.MetaTimeHour,
}

// qualifiedKeys has the keys that are keywords only behind the word meta; the other keys are names.
var qualifiedKeys = map[token]expr.MetaKey{
	tokLength: expr.MetaLen, tokProtocol: expr.MetaProtocol, tokPriority: expr.MetaPriority, tokRandom: expr.MetaPRandom,
	tokSecmark: expr.MetaSecmark, tokIpsec: expr.MetaSecpath,
}

// knownKeys are those of nft's message for other names.
const knownKeys = "length, protocol, priority, mark, iif, oif, iifname, oifname, iiftype, oiftype, skuid, skgid, nftrace, rtclassid, " +
	"secmark, nfproto, l4proto, ibrname, obrname, pkttype, cpu, iifgroup, oifgroup, cgroup, random, ipsec, iifkind, oifkind, ibrpvid, " +
	"ibrvproto, time, day, hour, sdif, sdifname"

// meta takes what follows the word: a *syntax.Meta; or with first, which says that a statement begins so, perhaps a *syntax.SetMeta.
func (p *exprParser) meta(from syntax.Loc, first bool) any {
	t := p.peek()
	key, ok := bareKey(t)
	name := ""
	if !ok {
		key, ok = qualifiedKeys[t]
	}
	switch {
	case ok:
		p.take()
		if s := opens[t]; s != scopeBase {
			p.close(s)
		}
	case t == tokString:
		p.take()
		name = p.cur.text
	default:
		p.unexpected(anything...)
		return nil
	}
	if first && p.accept(tokSet) {
		value := p.stmtExpr()
		if key == expr.MetaSecmark && t == tokSecmark {
			s := &syntax.ObjectStmt{Type: expr.ObjectSecmark, Object: value}
			s.Loc = p.since(from)
			p.close(scopeMeta)
			return s
		}
		s := &syntax.SetMeta{Key: key, Value: value}
		s.Loc = p.since(from)
		s.Key = p.keys.metaNamed(key, name, s.Loc)
		p.close(scopeMeta)
		return s
	}
	p.close(scopeMeta)
	m := p.metas.New()
	m.Loc = p.since(from)
	m.Key = p.keys.metaNamed(key, name, m.Loc)
	return m
}

// ctKeys are the keys of ct; those of ctDirected need no direction and may have one, and those of ctEither may have one anywhere.
var ctKeys = map[token]expr.CTKey{
	tokL3proto: expr.CTL3Protocol, tokProtocol: expr.CTProtocol, tokMark: expr.CTMark, tokState: expr.CTState, tokDirection: expr.CTDirection,
	tokStatus: expr.CTStatus, tokExpiration: expr.CTExpiration, tokHelper: expr.CTHelper, tokSaddr: expr.CTSrc, tokDaddr: expr.CTDst,
	tokProtoSrc: expr.CTProtoSrc, tokProtoDst: expr.CTProtoDst, tokLabel: expr.CTLabels, tokEvent: expr.CTEventmask,
	tokSecmark: expr.CTSecmark, tokId: expr.CTID, tokBytes: expr.CTBytes, tokPackets: expr.CTPkts, tokAvgpkt: expr.CTAvgpkt,
	tokZone: expr.CTZone,
}

var ctDirected = map[token]bool{
	tokSaddr: true, tokDaddr: true, tokL3proto: true, tokProtocol: true, tokProtoSrc: true, tokProtoDst: true, tokBytes: true,
	tokPackets: true, tokAvgpkt: true, tokZone: true,
}

// ct takes what follows the word: an expression; or with first, which says that a statement begins so, perhaps a statement.
func (p *exprParser) ct(from syntax.Loc, first bool) (syntax.Expr, syntax.Stmt) {
	t := p.peek()
	switch t {
	case tokOriginal, tokReply:
		return p.ctOf(from, first)
	case tokCount:
		if first {
			p.take()
			return nil, p.amounts.connCount(from)
		}
	case tokTimeout, tokExpectation:
		if first {
			p.take()
			p.expect(tokSet)
			s := &syntax.ObjectStmt{Type: objectKinds[t].of, Object: p.stmtExpr()}
			s.Loc = p.since(from)
			p.close(scopeCT)
			return nil, s
		}
	}
	key, ok := ctKeys[t]
	if !ok {
		p.unexpected(anything...)
		return nil, nil
	}
	p.take()
	if t == tokSecmark {
		p.close(scopeSecmark)
	}
	if first && p.accept(tokSet) {
		value := p.stmtExpr()
		at := p.since(from)
		p.close(scopeCT)
		if key == expr.CTHelper {
			s := &syntax.ObjectStmt{Type: expr.ObjectCTHelper, Object: value}
			s.Loc = at
			return nil, s
		}
		s := &syntax.SetCT{Key: key, Value: value}
		s.Loc = at
		return nil, s
	}
	p.close(scopeCT)
	e := &syntax.CT{Key: key}
	e.Loc = p.since(from)
	return e, nil
}

// ctOf takes a direction and what has one.
func (p *exprParser) ctOf(from syntax.Loc, first bool) (syntax.Expr, syntax.Stmt) {
	p.take()
	direction := uint8(0)
	if p.cur.tok == tokReply {
		direction = 1
	}
	e := &syntax.CT{Dir: &direction}
	t := p.peek()
	switch {
	case t == tokIp || t == tokIp6:
		p.take()
		e.NFProto = uint8(nftables.IPv4)
		keys := [2]expr.CTKey{expr.CTSrcIP, expr.CTDstIP}
		if t == tokIp6 {
			e.NFProto = uint8(nftables.IPv6)
			keys = [2]expr.CTKey{expr.CTSrcIP6, expr.CTDstIP6}
		}
		switch p.peek() {
		case tokSaddr:
			e.Key = keys[0]
		case tokDaddr:
			e.Key = keys[1]
		default:
			p.unexpected(tokSaddr, tokDaddr)
			return nil, nil
		}
		p.take()
		p.close(opens[t])
	case ctDirected[t]:
		p.take()
		e.Key = ctKeys[t]
		either := t == tokBytes || t == tokPackets || t == tokAvgpkt || t == tokZone
		if first && either && p.accept(tokSet) {
			s := &syntax.SetCT{Key: e.Key, Dir: e.Dir, Value: p.stmtExpr()}
			s.Loc = p.since(from)
			p.close(scopeCT)
			return nil, s
		}
	default:
		p.unexpected(anything...)
		return nil, nil
	}
	p.close(scopeCT)
	e.Loc = p.since(from)
	return e, nil
}

func (p *exprParser) hash(t token) syntax.Expr {
	from := p.here()
	p.take()
	e := &syntax.Hash{Symmetric: t == tokSymhash}
	if !e.Symmetric {
		e.Of = p.inside(1, p.wholeExpr)
	}
	p.expect(tokMod)
	e.Modulus = uint32(p.number())
	if !e.Symmetric && p.accept(tokSeed) {
		e.Seed, e.HasSeed = uint32(p.number()), true
	}
	e.Offset = p.keys.offset()
	p.close(scopeHash)
	e.Loc = p.since(from)
	return e
}
