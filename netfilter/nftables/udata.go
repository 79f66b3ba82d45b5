package nftables

// UserDataKind says what user data belongs to: its types have other numbers for each (NFTNL_UDATA_* of libnftnl's udata.h).
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

// UserData is what nft lets the kernel keep for it.
type UserData struct {
	Comment    string
	HasComment bool
	// Of sets: the byte orders of key and data (NFTNL_UDATA_SET_KEYBYTEORDER: 1 host, 2 network; 0: not said), and whether elements are
	// merged.
	KeyByteorder, DataByteorder uint32
	MergeElements               bool
	HasMergeElements            bool
	// KeyTypeof and DataTypeof are what a set's typeof was made of, as TLVs that nft alone reads; nil: none.
	KeyTypeof, DataTypeof []byte
	DataInterval          bool
	// ElementFlags of an element (NFTNL_UDATA_SET_ELEM_FLAGS): 1 is an open interval.
	ElementFlags uint32
}

// Encode is the user data as libnftnl writes it.
func (u *UserData) Encode(kind UserDataKind) []byte { panic("soon") }

// DecodeUserData reads what Encode and libnftnl write. What it does not know it leaves out.
func DecodeUserData(kind UserDataKind, data []byte) *UserData { panic("soon") }
