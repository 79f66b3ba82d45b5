package syntax

import "fmt"

// The extension headers of IPv6.
var (
	headerHBH = extension("hbh", 0, field("nexthdr", TypeInetProto, 0, 8), field("hdrlength", TypeInteger, 8, 8))
	headerRT  = extension("rt", 43, field("nexthdr", TypeInetProto, 0, 8), field("hdrlength", TypeInteger, 8, 8),
		field("type", TypeInteger, 16, 8), field("seg-left", TypeInteger, 24, 8))
	headerRT0 = extension("rt0", 43, addresses("addr", field("reserved", TypeInteger, 32, 8))...)
	headerRT2 = extension("rt2", 43, field("reserved", TypeInteger, 32, 32), field("addr", TypeInteger, 64, 128))
	headerSRH = extension("srh", 43, addresses("sid", field("last-entry", TypeInteger, 32, 8), field("flags", TypeInteger, 40, 8),
		field("tag", TypeInteger, 48, 16))...)
	headerFrag = extension("frag", 44, field("nexthdr", TypeInetProto, 0, 8), field("reserved", TypeInteger, 8, 8),
		field("frag-off", TypeInteger, 16, 13), field("reserved2", TypeInteger, 29, 2), field("more-fragments", TypeInteger, 31, 1),
		field("id", TypeInteger, 32, 32))
	headerDst = extension("dst", 60, field("nexthdr", TypeInetProto, 0, 8), field("hdrlength", TypeInteger, 8, 8))
	headerMH  = extension("mh", 135, field("nexthdr", TypeInetProto, 0, 8), field("hdrlength", TypeInteger, 8, 8),
		field("type", typeMHType, 16, 8), field("reserved", TypeInteger, 24, 8), field("checksum", TypeInteger, 32, 16))
)

var extensions = []*Header{headerHBH, headerRT, headerRT0, headerRT2, headerSRH, headerFrag, headerDst, headerMH}

// maxSegments is how many addresses of a routing header have a name.
const maxSegments = 16

// addresses are the addresses that a routing header may hold, behind its other fields.
func addresses(name string, before ...Field) []Field {
	for i := range maxSegments {
		before = append(before, field(fmt.Sprintf("%s[%d]", name, i+1), TypeIPv6Addr, 64+128*i, 128))
	}
	return before
}

func extension(name string, number uint8, fields ...Field) *Header {
	return &Header{Name: name, ExtType: number, Fields: fields}
}

// ExtensionNamed is the extension header of a name; nil if there is none.
func ExtensionNamed(name string) *Header { return headerIn(extensions, name) }

// ExtensionsOf are the extension headers of a number: several for 43.
func ExtensionsOf(number uint8) []*Header { return numbered(extensions, number) }

func numbered(list []*Header, number uint8) []*Header {
	var found []*Header
	for _, h := range list {
		if h.ExtType == number {
			found = append(found, h)
		}
	}
	return found
}

// option is an option with a kind and a length.
func option(name string, number uint8, fields ...Field) *Header {
	return extension(name, number, append([]Field{field("kind", TypeInteger, 0, 8), field("length", TypeInteger, 8, 8)}, fields...)...)
}

func sack(name string, number int) *Header {
	return option(name, 5, field("left", TypeInteger, 16+64*number, 32), field("right", TypeInteger, 48+64*number, 32))
}

// tcpOptions are the options of TCP. sack0 is another word for sack.
var tcpOptions = []*Header{
	extension("eol", 0, field("kind", TypeInteger, 0, 8)), extension("nop", 1, field("kind", TypeInteger, 0, 8)),
	option("maxseg", 2, field("size", TypeInteger, 16, 16)), option("window", 3, field("count", TypeInteger, 16, 8)),
	option("sack-perm", 4), sack("sack", 0), sack("sack0", 0), sack("sack1", 1), sack("sack2", 2), sack("sack3", 3),
	option("timestamp", 8, field("tsval", TypeInteger, 16, 32), field("tsecr", TypeInteger, 48, 32)), option("echo", 8),
	option("md5sig", 19), option("mptcp", 30, field("subtype", TypeInteger, 16, 4)), option("fastopen", 34),
}

// TCPOptionNamed is the TCP option of a name; nil if there is none.
func TCPOptionNamed(name string) *Header { return headerIn(tcpOptions, name) }

// TCPOptionsOf are the TCP options of a number.
func TCPOptionsOf(number uint8) []*Header { return numbered(tcpOptions, number) }

func ipOption(name string, number uint8, fields ...Field) *Header {
	return extension(name, number, append([]Field{field("type", TypeInteger, 0, 8), field("length", TypeInteger, 8, 8)}, fields...)...)
}

func routeOption(name string, number uint8) *Header {
	return ipOption(name, number, field("ptr", TypeInteger, 16, 8), field("addr", TypeInteger, 24, 32))
}

var ipOptions = []*Header{
	routeOption("lsrr", 131), routeOption("rr", 7), routeOption("ssrr", 137), ipOption("ra", 148, field("value", TypeInteger, 16, 16)),
}

// IPOptionNamed is the option of IPv4 of a name; nil if there is none.
func IPOptionNamed(name string) *Header { return headerIn(ipOptions, name) }

// IPOptionOf is the option of IPv4 of a number; nil if there is none.
func IPOptionOf(number uint8) *Header { return firstOf(numbered(ipOptions, number)) }

func firstOf(list []*Header) *Header {
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

func chunk(name string, number uint8, fields ...Field) *Header {
	return extension(name, number, append([]Field{
		field("type", TypeInteger, 0, 8), field("flags", TypeInteger, 8, 8), field("length", TypeInteger, 16, 16),
	}, fields...)...)
}

func initChunk(name string, number uint8) *Header {
	return chunk(name, number, field("init-tag", TypeInteger, 32, 32), field("a-rwnd", TypeInteger, 64, 32),
		field("num-outbound-streams", TypeInteger, 96, 16), field("num-inbound-streams", TypeInteger, 112, 16),
		field("initial-tsn", TypeInteger, 128, 32))
}

var sctpChunks = []*Header{
	chunk("data", 0, field("tsn", TypeInteger, 32, 32), field("stream", TypeInteger, 64, 16), field("ssn", TypeInteger, 80, 16),
		field("ppid", TypeInteger, 96, 32)),
	initChunk("init", 1), initChunk("init-ack", 2),
	chunk("sack", 3, field("cum-tsn-ack", TypeInteger, 32, 32), field("a-rwnd", TypeInteger, 64, 32),
		field("num-gap-ack-blocks", TypeInteger, 96, 16), field("num-dup-tsns", TypeInteger, 112, 16)),
	chunk("heartbeat", 4), chunk("heartbeat-ack", 5), chunk("abort", 6),
	chunk("shutdown", 7, field("cum-tsn-ack", TypeInteger, 32, 32)),
	chunk("shutdown-ack", 8), chunk("error", 9), chunk("cookie-echo", 10), chunk("cookie-ack", 11),
	chunk("ecne", 12, field("lowest-tsn", TypeInteger, 32, 32)), chunk("cwr", 13, field("lowest-tsn", TypeInteger, 32, 32)),
	chunk("shutdown-complete", 14), chunk("asconf-ack", 0x80, field("seqno", TypeInteger, 32, 32)),
	chunk("forward-tsn", 0xc0, field("new-cum-tsn", TypeInteger, 32, 32)), chunk("asconf", 0xc1, field("seqno", TypeInteger, 32, 32)),
}

// SCTPChunkNamed is the chunk of SCTP of a name; nil if there is none.
func SCTPChunkNamed(name string) *Header { return headerIn(sctpChunks, name) }

// SCTPChunkOf is the chunk of SCTP of a number; nil if there is none.
func SCTPChunkOf(number uint8) *Header { return firstOf(numbered(sctpChunks, number)) }
