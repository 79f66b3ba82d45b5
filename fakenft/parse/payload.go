package parse

import (
	"strconv"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// headerOf is a header that is named by a token.
type headerOf struct {
	header *syntax.Header
	fields map[token]*syntax.Field
}

// headers are those of packets, and extensions those of IPv6, by their tokens.
var headers, extensions = makeHeaders(), makeExtensions()

// fieldWords are the tokens of fields whose name in the tables is not that of the token.
var fieldWords = map[token]string{tokSeq: "sequence", tokParamProblem: "parameter-problem"}

func fieldsOf(h *syntax.Header, words ...token) map[token]*syntax.Field {
	fields := make(map[token]*syntax.Field, len(words))
	for _, t := range words {
		name, ok := fieldWords[t]
		if !ok {
			name = tokenNames[t]
		}
		fields[t] = h.Field(name)
	}
	return fields
}

func makeHeaders() (table [tokens]*headerOf) {
	add := func(t token, h *syntax.Header, words ...token) { table[t] = &headerOf{h, fieldsOf(h, words...)} }
	add(tokEther, syntax.HeaderEther, tokSaddr, tokDaddr, tokType)
	add(tokVlan, syntax.HeaderVLAN, tokId, tokCfi, tokDei, tokPcp, tokType)
	add(tokArp, syntax.HeaderARP, tokHtype, tokPtype, tokHlen, tokPlen, tokOperation)
	add(tokIp, syntax.HeaderIP, tokVersion, tokHdrlength, tokDscp, tokEcn, tokLength, tokId, tokFragOff, tokTtl, tokProtocol, tokChecksum,
		tokSaddr, tokDaddr)
	add(tokIcmp, syntax.HeaderICMP, tokType, tokCode, tokChecksum, tokId, tokSeq, tokGateway, tokMtu)
	add(tokIgmp, syntax.HeaderIGMP, tokType, tokChecksum, tokMrt, tokGroup)
	add(tokIp6, syntax.HeaderIP6, tokVersion, tokDscp, tokEcn, tokFlowlabel, tokLength, tokNexthdr, tokHoplimit, tokSaddr, tokDaddr)
	add(tokIcmpv6, syntax.HeaderICMPv6, tokType, tokCode, tokChecksum, tokParamProblem, tokMtu, tokId, tokSeq, tokMaxDelay)
	add(tokAh, syntax.HeaderAH, tokNexthdr, tokHdrlength, tokReserved, tokSpi, tokSeq)
	add(tokEsp, syntax.HeaderESP, tokSpi, tokSeq)
	add(tokComp, syntax.HeaderComp, tokNexthdr, tokFlags, tokCpi)
	add(tokUdp, syntax.HeaderUDP, tokSport, tokDport, tokLength, tokChecksum)
	add(tokUdplite, syntax.HeaderUDPLite, tokSport, tokDport, tokCsumcov, tokChecksum)
	add(tokTcp, syntax.HeaderTCP, tokSport, tokDport, tokSeq, tokAckseq, tokDoff, tokReserved, tokFlags, tokWindow, tokChecksum, tokUrgptr)
	add(tokDccp, syntax.HeaderDCCP, tokSport, tokDport, tokType)
	add(tokSctp, syntax.HeaderSCTP, tokSport, tokDport, tokVtag, tokChecksum)
	add(tokTh, syntax.HeaderTH, tokSport, tokDport)
	return table
}

func makeExtensions() map[token]headerOf {
	table := map[token]headerOf{}
	add := func(t token, name string, words ...token) {
		h := syntax.ExtensionNamed(name)
		table[t] = headerOf{h, fieldsOf(h, words...)}
	}
	add(tokHbh, "hbh", tokNexthdr, tokHdrlength)
	add(tokRt, "rt", tokNexthdr, tokHdrlength, tokType, tokSegLeft)
	add(tokRt0, "rt0", tokAddr)
	add(tokRt2, "rt2", tokAddr)
	add(tokSrh, "srh", tokLastEntry, tokFlags, tokTag, tokSid)
	add(tokFrag, "frag", tokNexthdr, tokReserved, tokFragOff, tokReserved2, tokMoreFragments, tokId)
	add(tokDst, "dst", tokNexthdr, tokHdrlength)
	add(tokMh, "mh", tokNexthdr, tokHdrlength, tokType, tokReserved, tokChecksum)
	return table
}

// keyParser takes what a relation compares or a statement sets, as far as no expression is in it: fields of headers, and what the kernel
// knows of a packet.
type keyParser struct {
	*stream
	*nodes
}

// payload takes a field of a header; it is nil if no header comes. Word says that the name of a header may also stand for itself.
func (p *keyParser) payload(t token, word bool) syntax.Expr {
	h := headers[t]
	if h == nil {
		return nil
	}
	from := p.here()
	p.take()
	e := p.payloadField(t, h, from)
	if e == nil && !p.bad {
		if word {
			switch t {
			case tokEther, tokIp, tokIp6, tokVlan, tokArp:
				p.close(opens[t])
				return p.symbol(from, tokenNames[t])
			}
		}
		p.unexpectedField(t, h)
	}
	return e
}

// payloadField takes the field of a header whose name was taken; it is nil if none comes.
func (p *keyParser) payloadField(t token, h *headerOf, from syntax.Loc) syntax.Expr {
	next := p.peek()
	switch {
	case t == tokIp && next == tokOption:
		return p.ipOption(from)
	case t == tokTcp && next == tokOption:
		p.take()
		return p.tcpOption(from)
	case t == tokSctp && next == tokChunk:
		return p.sctpChunk(from)
	case t == tokArp && (next == tokSaddr || next == tokDaddr):
		return p.arpAddress(h.header, from)
	}
	f, ok := h.fields[next]
	if !ok {
		return nil
	}
	p.take()
	if next == tokType {
		p.close(scopeType)
	}
	p.close(opens[t])
	e := p.payloads.New()
	e.Loc, e.Header, e.Field = p.since(from), h.header, f
	return e
}

// unexpectedField says what fields a header has, and what else may follow its name.
func (p *keyParser) unexpectedField(t token, h *headerOf) {
	var expected []token
	for f := range h.fields {
		expected = append(expected, f)
	}
	switch t {
	case tokIp, tokTcp:
		expected = append(expected, tokOption)
	case tokSctp:
		expected = append(expected, tokChunk)
	case tokArp:
		expected = append(expected, tokSaddr, tokDaddr)
	}
	p.unexpected(expected...)
}

func (p *keyParser) arpAddress(h *syntax.Header, from syntax.Loc) syntax.Expr {
	p.take()
	name := p.cur.text
	switch t := p.peek(); t {
	case tokEther, tokIp:
		p.take()
		name += " " + tokenNames[t]
		p.close(opens[t])
	default:
		p.unexpected(tokEther, tokIp)
		return nil
	}
	p.close(scopeARP)
	e := p.payloads.New()
	e.Loc, e.Header, e.Field = p.since(from), h, h.Field(name)
	return e
}

// ipOption takes an option of IPv4 and a field of it, if one comes.
func (p *keyParser) ipOption(from syntax.Loc) syntax.Expr {
	p.take()
	e := &syntax.Exthdr{Op: expr.ExthdrIPv4}
	switch t := p.peek(); t {
	case tokLsrr, tokRr, tokSsrr, tokRa:
		p.take()
		e.Header = syntax.IPOptionNamed(tokenNames[t])
	default:
		p.unexpected(tokLsrr, tokRr, tokSsrr, tokRa)
		return nil
	}
	switch t := p.peek(); t {
	case tokType, tokLength, tokValue, tokPtr, tokAddr:
		p.take()
		if t == tokType {
			p.close(scopeType)
		}
		e.Field = e.Header.Field(tokenNames[t])
		if e.Field == nil {
			p.wrong("unknown ip option type/field", from)
		}
	default:
		e.Field, e.Present = e.Header.Field("type"), true
	}
	p.close(scopeIP)
	e.Loc = p.since(from)
	return e
}

// tcpOptions are the words for options of TCP, as the tables name them.
var tcpOptions = map[token]string{
	tokEcho: "echo", tokEol: "eol", tokFastopen: "fastopen", tokMd5sig: "md5sig", tokMptcp: "mptcp", tokMss: "maxseg", tokNop: "nop",
	tokSackPermitted: "sack-perm", tokTimestamp: "timestamp", tokWindow: "window", tokSack: "sack", tokSack0: "sack0", tokSack1: "sack1",
	tokSack2: "sack2", tokSack3: "sack3",
}

// tcpOptionFields are the fields that an option has beside its length.
var tcpOptionFields = map[token][]token{
	tokMss: {tokSize}, tokWindow: {tokCount}, tokTimestamp: {tokTsval, tokTsecr}, tokMptcp: {tokSubtype}, tokSack: {tokLeft, tokRight},
	tokSack0: {tokLeft, tokRight}, tokSack1: {tokLeft, tokRight}, tokSack2: {tokLeft, tokRight}, tokSack3: {tokLeft, tokRight},
}

// tcpOption takes an option of TCP and a field of it, if one comes; or with "@" its number and where the bytes are.
func (p *keyParser) tcpOption(from syntax.Loc) syntax.Expr {
	e := &syntax.Exthdr{Op: expr.ExthdrTCPOption}
	if p.accept(tokAt) {
		p.close(scopeAt)
		if _, ok := p.tcpOptionType(e); !ok {
			return nil
		}
		p.expect(tokComma)
		e.Offset = int(p.number())
		p.expect(tokComma)
		e.Bits = int(p.number())
		e.Header = nil
		e.Loc = p.since(from)
		p.close(scopeTCP)
		return e
	}
	t, ok := p.tcpOptionType(e)
	if !ok {
		return nil
	}
	next := p.peek()
	field := ""
	if next == tokLength {
		field = "length"
	}
	for _, f := range tcpOptionFields[t] {
		if f == next {
			field = tokenNames[f]
		}
	}
	switch {
	case field == "":
		e.Present = true
		if e.Header != nil {
			e.Field = e.Header.Field("kind")
		}
	case e.Header == nil:
		p.take()
		e.Offset, e.Bits = 8, 8
	default:
		p.take()
		e.Field = e.Header.Field(field)
	}
	e.Loc = p.since(from)
	p.close(scopeTCP)
	return e
}

// tcpOptionType takes the name or number of an option.
func (p *keyParser) tcpOptionType(e *syntax.Exthdr) (token, bool) {
	t := p.peek()
	if name, ok := tcpOptions[t]; ok {
		p.take()
		e.Header = syntax.TCPOptionNamed(name)
		if e.Header != nil {
			e.RawType = e.Header.ExtType
		}
		return t, true
	}
	if t != tokNumber {
		p.unexpected(anything...)
		return t, false
	}
	p.take()
	if p.cur.number > 255 {
		p.wrong("value too large", p.last)
		return t, false
	}
	e.RawType = uint8(p.cur.number)
	return t, true
}

// chunkFields are the fields of each chunk of SCTP beside those that all have.
var chunkFields = map[token][]token{
	tokData: {tokTsn, tokStream, tokSsn, tokPpid},
	tokInit: {tokInitTag, tokARwnd, tokNumOutboundStreams, tokNumInboundStreams, tokInitialTsn}, tokInitAck: {tokInitTag, tokARwnd,
		tokNumOutboundStreams, tokNumInboundStreams, tokInitialTsn},
	tokSack: {tokCumTsnAck, tokARwnd, tokNumGapAckBlocks, tokNumDupTsns}, tokShutdown: {tokCumTsnAck}, tokEcne: {tokLowestTsn},
	tokCwr: {tokLowestTsn}, tokAsconfAck: {tokSeqno}, tokForwardTsn: {tokNewCumTsn}, tokAsconf: {tokSeqno}, tokHeartbeat: nil,
	tokHeartbeatAck: nil, tokAbort: nil, tokShutdownAck: nil, tokError: nil, tokCookieEcho: nil, tokCookieAck: nil, tokShutdownComplete: nil,
}

func (p *keyParser) sctpChunk(from syntax.Loc) syntax.Expr {
	p.take()
	t := p.peek()
	fields, ok := chunkFields[t]
	if !ok {
		p.unexpected(anything...)
		return nil
	}
	p.take()
	e := &syntax.Exthdr{Op: expr.ExthdrSCTP, Header: syntax.SCTPChunkNamed(tokenNames[t])}
	next := p.peek()
	has := next == tokType || next == tokFlags || next == tokLength
	for _, f := range fields {
		has = has || f == next
	}
	if has {
		p.take()
		if next == tokType {
			p.close(scopeType)
		}
		e.Field = e.Header.Field(tokenNames[next])
	} else {
		e.Field, e.Present = e.Header.Field("type"), true
	}
	p.close(scopeChunk)
	p.close(scopeSCTP)
	e.Loc = p.since(from)
	return e
}

// extension takes a field of an extension header of IPv6.
func (p *keyParser) extension(t token) syntax.Expr {
	from := p.here()
	p.take()
	h := extensions[t]
	if _, ok := h.fields[p.peek()]; !ok {
		p.unexpectedField(t, &h)
		return nil
	}
	return p.extensionField(h.header, from, opens[t])
}

// extensionField takes a field of an extension header whose name was taken; addresses have a number.
func (p *keyParser) extensionField(h *syntax.Header, from syntax.Loc, s scope) syntax.Expr {
	t := p.peek()
	p.take()
	name := tokenNames[t]
	switch {
	case t == tokType:
		p.close(scopeType)
	case t == tokAddr && h.Name == "rt0", t == tokSid:
		p.expect(tokLBracket)
		name += "[" + strconv.FormatUint(p.number(), 10) + "]"
		p.expect(tokRBracket)
	}
	p.close(s)
	e := &syntax.Exthdr{Op: expr.ExthdrIPv6, Header: h, Field: h.Field(name)}
	e.Loc = p.since(from)
	if e.Field == nil {
		p.wrong("chainwalk does not support "+h.Name+" "+name, e.Loc)
	}
	return e
}

// exthdrExists takes "exthdr" and the name of an extension header.
func (p *keyParser) exthdrExists() syntax.Expr {
	from := p.here()
	p.take()
	t := p.peek()
	switch t {
	case tokHbh, tokRt, tokFrag, tokDst, tokMh:
		p.take()
		p.close(opens[t])
	default:
		p.unexpected(anything...)
		return nil
	}
	e := &syntax.Exthdr{Op: expr.ExthdrIPv6, Header: extensions[t].header, Present: true}
	e.Field = e.Header.Field("nexthdr")
	e.Loc = p.since(from)
	return e
}
