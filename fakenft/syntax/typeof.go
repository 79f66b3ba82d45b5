package syntax

import "github.com/chainwalk/chainwalk/netfilter/nftables/expr"

// numberedHeaders are the headers by their number in the user data of sets (enum proto_desc_id in nft's include/proto.h).
var numberedHeaders = [...]*Header{
	1: HeaderAH, 2: HeaderESP, 3: HeaderComp, 4: HeaderICMP, 5: HeaderIGMP, 6: HeaderUDP, 7: HeaderUDPLite, 8: HeaderTCP, 9: HeaderDCCP,
	10: HeaderSCTP, 11: HeaderTH, 12: HeaderIP, 13: HeaderIP6, 14: HeaderICMPv6, 15: HeaderARP, 16: HeaderVLAN, 17: HeaderEther,
}

// numberedExtensions are the extension headers by theirs (enum exthdr_desc_id in nft's include/exthdr.h).
var numberedExtensions = [...]*Header{
	1: headerHBH, 2: headerRT, 3: headerRT0, 4: headerRT2, 5: headerSRH, 6: headerFrag, 7: headerDst, 8: headerMH,
}

// ipOptionFields are the fields of options of IPv4 by theirs.
var ipOptionFields = [...]string{1: "type", 2: "length", 3: "value", 4: "ptr", 5: "addr"}

func (h *Header) index(f *Field) int {
	for i := range h.Fields {
		if &h.Fields[i] == f {
			return i
		}
	}
	return -1
}

// FieldNumber is the number of a header and of one of its fields, by which nft notes what the keys of a set were said to be.
func FieldNumber(h *Header, f *Field) (header, field uint32, ok bool) {
	for i, known := range numberedHeaders {
		if known == h && h != nil && f != nil {
			return uint32(i), uint32(h.index(f) + 1), true
		}
	}
	return 0, 0, false
}

// FieldNumbered is the header and field of numbers of FieldNumber; nil if there is none.
func FieldNumbered(header, field uint32) (*Header, *Field) {
	if int(header) >= len(numberedHeaders) || numberedHeaders[header] == nil {
		return nil, nil
	}
	h := numberedHeaders[header]
	if field == 0 || int(field) > len(h.Fields) {
		return nil, nil
	}
	return h, &h.Fields[field-1]
}

// OptionNumber is the number of an optional header and of one of its fields.
func OptionNumber(op expr.ExthdrOp, h *Header, f *Field) (header, field uint32, ok bool) {
	if h == nil || f == nil {
		return 0, 0, false
	}
	switch op {
	case expr.ExthdrIPv6:
		for i, known := range numberedExtensions {
			if known == h {
				return uint32(i), uint32(h.index(f) + 1), true
			}
		}
		return 0, 0, false
	case expr.ExthdrIPv4:
		for i, name := range ipOptionFields {
			if name == f.Name {
				return uint32(h.ExtType), uint32(i), true
			}
		}
		return 0, 0, false
	case expr.ExthdrTCPOption:
		index := h.index(f)
		if n, isSack := sackNumber(h); isSack && index >= firstSack {
			index += n * perSack
		}
		return uint32(h.ExtType), uint32(index), true
	}
	return uint32(h.ExtType), uint32(h.index(f)), true
}

// The fields of the option sack form blocks. The first block begins at field firstSack, and each block has perSack fields.
const (
	firstSack = 2
	perSack   = 2
)

// sackNumber says which block of the option sack a header is.
func sackNumber(h *Header) (n int, isSack bool) {
	switch h.Name {
	case "sack", "sack0":
		return 0, true
	case "sack1", "sack2", "sack3":
		return int(h.Name[4] - '0'), true
	}
	return 0, false
}

// OptionNumbered is the optional header and field of numbers of OptionNumber; nil if there is none.
func OptionNumbered(op expr.ExthdrOp, header, field uint32) (*Header, *Field) {
	var h *Header
	index := int(field)
	switch op {
	case expr.ExthdrIPv6:
		if int(header) < len(numberedExtensions) {
			h = numberedExtensions[header]
		}
		index--
	case expr.ExthdrIPv4:
		if h = IPOptionOf(uint8(header)); h == nil || index >= len(ipOptionFields) {
			return nil, nil
		}
		return h, h.Field(ipOptionFields[index])
	case expr.ExthdrTCPOption:
		h = firstOf(TCPOptionsOf(uint8(header)))
		if h == nil {
			return nil, nil
		}
		if _, isSack := sackNumber(h); isSack && index >= firstSack+perSack {
			h = TCPOptionNamed("sack" + string(rune('0'+(index-firstSack)/perSack)))
			index = firstSack + index%perSack
		}
	case expr.ExthdrSCTP:
		h = SCTPChunkOf(uint8(header))
	}
	if h == nil || index < 0 || index >= len(h.Fields) {
		return nil, nil
	}
	return h, &h.Fields[index]
}
