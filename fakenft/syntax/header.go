package syntax

import "github.com/chainwalk/chainwalk/netfilter/nftables/expr"

// Header is the layout of a protocol's header (struct proto_desc and exthdr_desc in nft).
type Header struct {
	Name   string
	Base   expr.PayloadBase
	Fields []Field
	// Next is the field whose value says what header comes next, nil if none does; Protocols are these values with their headers.
	Next      *Field
	Protocols []NextHeader
	// ExtType is the number of an extension header or TCP option.
	ExtType uint8
}

// NextHeader is a value of Header.Next and what comes then.
type NextHeader struct {
	Value  uint32
	Header *Header
}

// Field is a part of a header. Offset and Bits are in bits.
type Field struct {
	Name         string
	Type         *Datatype
	Offset, Bits int
	Order        ByteOrder
	// Meta is the key of meta that says the same ("ip protocol" and "meta l4proto"); HasMeta: there is one.
	Meta    expr.MetaKey
	HasMeta bool
}
