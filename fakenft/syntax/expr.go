package syntax

import (
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// Expr is an expression: something that has a value, or a set of values. The types of this file, as pointers, are all of them.
type Expr interface{ Info() *Common }

// Common is what every expression has. The parser sets Loc alone; check and decompile set the rest.
type Common struct {
	Loc   Loc
	Type  *Datatype
	Order ByteOrder
	Bits  int
}

// Info returns itself.
func (c *Common) Info() *Common { return c }

// Num is a number of at most 128 bits.
type Num struct{ Hi, Lo uint64 }

// The expressions.
type (
	// Verdict is accept, drop, jump and so on; Chain is a Symbol, a Variable or nil.
	Verdict struct {
		Common
		Code  expr.Code
		Chain Expr
	}
	// Symbol is a word, the Text, whose meaning depends on the type that is expected. Once that is known, it is evaluated in its place: its
	// Value becomes what it means. Quoted: it was written in quotes.
	Symbol struct {
		Value
		Quoted bool
	}
	// Variable is $name; To is what it was defined as.
	Variable struct {
		Common
		Name string
		To   Expr
	}
	// Value is a number, or a text of a device's name or a comment (Text is set then, without its trailing '*' if Bits is shorter).
	Value struct {
		Common
		Num  Num
		Text string
	}
	// Prefix is Of/Len.
	Prefix struct {
		Common
		Of  Expr
		Len int
	}
	// Range is Min-Max.
	Range struct {
		Common
		Min, Max Expr
	}
	// Catchall is *.
	Catchall struct{ Common }
	// Payload is bytes of a packet's header. With Field nil they are raw: Base, Offset and Common.Bits (offsets in bits).
	Payload struct {
		Common
		Header *Header
		Field  *Field
		Offset int
		Base   expr.PayloadBase
		Raw    bool
	}
	// Exthdr is an optional header or TCP option, or a field of it; Field is nil for "exists".
	Exthdr struct {
		Common
		Op      expr.ExthdrOp
		Header  *Header
		Field   *Field
		RawType uint8
		Offset  int
		Present bool
	}
	// Meta is what the kernel knows of a packet beside its bytes. Bare: written without the word meta.
	Meta struct {
		Common
		Key  expr.MetaKey
		Bare bool
	}
	// CT is something of the connection; Dir is nil, 0 (original) or 1 (reply). NFProto is that of "ip saddr", 0 if none was written.
	CT struct {
		Common
		Key     expr.CTKey
		Dir     *uint8
		NFProto uint8
	}
	// RT is something of the route (rt classid, rt nexthop, rt mtu, rt ipsec). Key as in enum nft_rt_keys.
	RT struct {
		Common
		Key     uint32
		NFProto uint8
		Invalid bool
	}
	// Socket is something of the socket that a packet belongs to.
	Socket struct {
		Common
		Key, Level uint32
	}
	// Osf is the operating system of a SYN.
	Osf struct {
		Common
		TTL     uint8
		Version bool
	}
	// XFRM is something of IPsec.
	XFRM struct {
		Common
		Key, SPNum uint32
		Dir        uint8
	}
	// Fib is what the routing tables say.
	Fib struct {
		Common
		Flags  expr.FibFlags
		Result expr.FibResult
	}
	// Numgen is numgen random|inc mod N offset M.
	Numgen struct {
		Common
		Random          bool
		Modulus, Offset uint32
	}
	// Hash is jhash or symhash.
	Hash struct {
		Common
		Symmetric       bool
		Of              Expr
		Modulus, Offset uint32
		Seed            uint32
		HasSeed         bool
	}
	// Concat is A . B . C.
	Concat struct {
		Common
		Parts []Expr
	}
	// List is A,B,C, of flags and of elements to be.
	List struct {
		Common
		Items []Expr
	}
	// Set is { ... }: anonymous, or the elements of a command. Its items are Element or Mapping.
	Set struct {
		Common
		Items []Expr
		// Anonymous once check has given it a set of its own:
		Ref *SetDecl
		// Flags are what check found out: SetInterval, SetConcat, SetConstant.
		Flags nftables.SetFlags
	}
	// SetRef is @name, or an anonymous set that a rule looks something up in.
	SetRef struct {
		Common
		Name string
		Set  *SetDecl
	}
	// Element is a member of a set with what belongs to it.
	Element struct {
		Common
		Key        Expr   // not nil
		Timeout    uint64 // ms; valid if HasTimeout
		Expires    uint64 // ms
		Comment    string
		HasTimeout bool
		HasExpires bool
		HasComment bool
		Stmts      []Stmt
	}
	// Mapping is KEY : DATA.
	Mapping struct {
		Common
		Key, Data Expr
	}
	// Map is KEY map|vmap SETOFMAPPINGS or @name.
	Map struct {
		Common
		Key, Mappings Expr
	}
	// Unary is hton or ntoh of something, made by check alone.
	Unary struct {
		Common
		ToHost bool
		Of     Expr
	}
	// Binop is A & B, |, ^, <<, >>.
	Binop struct {
		Common
		Op          BinaryOp
		Left, Right Expr
	}
	// Relational compares. OpImplicit: none was written.
	Relational struct {
		Common
		Op          RelOp
		Left, Right Expr
	}
	// FlagCmp is EXPR VALUE / MASK.
	FlagCmp struct {
		Common
		Invert      bool
		Of          Expr
		Value, Mask Expr
	}
)

// BinaryOp is an operator of Binop.
type BinaryOp uint8

// The operators.
const (
	OpAnd BinaryOp = iota
	OpOr
	OpXor
	OpLeft
	OpRight
)

// RelOp is an operator of Relational.
type RelOp uint8

// The operators.
const (
	OpImplicit RelOp = iota
	OpEq
	OpNeq
	OpLt
	OpGt
	OpLte
	OpGte
	OpNeg // "! flags", as in "ct state ! new"; made of Implicit by check
)
