package nftables

import (
	"encoding/binary"
	"iter"
	"strings"
)

// UserDataKind says what user data belongs to: its types have other numbers for each (NFTNL_UDATA_* in libnftnl's udata.h).
type UserDataKind uint8

// The kinds.
const (
	TableUserData UserDataKind = iota
	ChainUserData
	RuleUserData
	SetUserData
	ElementUserData
	ObjectUserData
)

// Byte orders as nft notes them of sets (enum byteorder of nft); 0 is that of concatenations and verdicts.
const (
	userDataHost    uint32 = 1
	UserDataNetwork uint32 = 2
)

// UserData is what nft lets the kernel keep for it.
type UserData struct {
	Comment    string
	HasComment bool
	// Set is nil but for sets.
	Set *SetUserFields
	// ElementFlags are of elements (NFTNL_UDATA_SET_ELEM_FLAGS); 1 is the beginning of an interval that has no end.
	ElementFlags uint32
}

// SetUserFields are what nft notes of a set.
type SetUserFields struct {
	KeyByteorder uint32
	// Of a map that is not one of objects; IsMap says so.
	IsMap         bool
	DataByteorder uint32
	DataInterval  bool
	MergeElements bool // auto-merge
	// KeyTypeof and DataTypeof are what the types were made of (NFTNL_UDATA_SET_KEY_TYPEOF), in TLVs again (see TLVs); nil: not noted.
	KeyTypeof, DataTypeof []byte
}

// The types of TLVs (enum nftnl_udata_set_types, and so on). Comments of all but sets have the type 0.
const (
	tlvComment = 0

	tlvKeyByteorder  = 0
	tlvDataByteorder = 1
	tlvMergeElements = 2
	tlvKeyTypeof     = 3
	tlvDataTypeof    = 4
	tlvDataInterval  = 6
	tlvSetComment    = 7

	tlvElementFlags = 1
)

// AppendTLV appends a value in libnftnl's form: its type, its length and itself.
func AppendTLV(to []byte, typ uint8, value []byte) []byte {
	return append(append(to, typ, uint8(len(value))), value...)
}

// AppendTLVNumber appends a number of 32 bits.
func AppendTLVNumber(to []byte, typ uint8, n uint32) []byte {
	return binary.NativeEndian.AppendUint32(append(to, typ, 4), n)
}

// TLVs are the types and values of data that AppendTLV has made. What is cut short at the end is left out.
func TLVs(data []byte) iter.Seq2[uint8, []byte] {
	return func(yield func(uint8, []byte) bool) {
		for len(data) >= 2 && len(data) >= 2+int(data[1]) {
			end := 2 + int(data[1])
			if !yield(data[0], data[2:end]) {
				return
			}
			data = data[end:]
		}
	}
}

// TLVNumber is the number of 32 bits that a value of TLVs is.
func TLVNumber(value []byte) uint32 {
	if len(value) != 4 {
		return 0
	}
	return binary.NativeEndian.Uint32(value)
}

func flagNumber(set bool) uint32 {
	if set {
		return 1
	}
	return 0
}

// Encode is the user data as nft writes it; nil if there is nothing in it.
func (u *UserData) Encode(kind UserDataKind) []byte {
	var b []byte
	comment := uint8(tlvComment)
	if s := u.Set; kind == SetUserData && s != nil {
		b, comment = AppendTLVNumber(b, tlvKeyByteorder, s.KeyByteorder), tlvSetComment
		if s.IsMap {
			b = AppendTLVNumber(b, tlvDataByteorder, s.DataByteorder)
		}
		if s.MergeElements {
			b = AppendTLVNumber(b, tlvMergeElements, 1)
		}
		if s.KeyTypeof != nil {
			b = AppendTLV(b, tlvKeyTypeof, s.KeyTypeof)
		}
		if s.DataTypeof != nil {
			b = AppendTLV(b, tlvDataTypeof, s.DataTypeof)
		}
		if s.IsMap {
			b = AppendTLVNumber(b, tlvDataInterval, flagNumber(s.DataInterval))
		}
	}
	if u.HasComment {
		b = AppendTLV(b, comment, append([]byte(u.Comment), 0))
	}
	if kind == ElementUserData && u.ElementFlags != 0 {
		b = AppendTLVNumber(b, tlvElementFlags, u.ElementFlags)
	}
	return b
}

// DecodeUserData reads what Encode and nft write. What it does not know it leaves out.
func DecodeUserData(kind UserDataKind, data []byte) *UserData {
	u := &UserData{}
	if kind == SetUserData {
		u.decodeSet(data)
		return u
	}
	for typ, value := range TLVs(data) {
		switch {
		case typ == tlvComment:
			u.setComment(value)
		case typ == tlvElementFlags && kind == ElementUserData:
			u.ElementFlags = TLVNumber(value)
		}
	}
	return u
}

func (u *UserData) setComment(value []byte) {
	u.Comment, _, _ = strings.Cut(string(value), "\x00")
	u.HasComment = true
}

func (u *UserData) decodeSet(data []byte) {
	for typ, value := range TLVs(data) {
		if typ != tlvSetComment && u.Set == nil {
			u.Set = &SetUserFields{}
		}
		switch typ {
		case tlvKeyByteorder:
			u.Set.KeyByteorder = TLVNumber(value)
		case tlvDataByteorder:
			u.Set.IsMap, u.Set.DataByteorder = true, TLVNumber(value)
		case tlvMergeElements:
			u.Set.MergeElements = TLVNumber(value) != 0
		case tlvKeyTypeof:
			u.Set.KeyTypeof = value
		case tlvDataTypeof:
			u.Set.DataTypeof = value
		case tlvDataInterval:
			u.Set.DataInterval = TLVNumber(value) != 0
		case tlvSetComment:
			u.setComment(value)
		}
	}
}
