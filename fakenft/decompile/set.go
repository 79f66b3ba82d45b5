package decompile

import (
	"time"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// set is a declaration with the sizes of its keys and data in bytes.
type set struct {
	*syntax.SetDecl
	spec              *nftables.SetSpec
	keySize, dataSize int
	// keyParts and dataParts are what partsOf says of both.
	keyParts, dataParts []syntax.Common
}

// Set is a set or map with its elements; nil if there is none of the name.
func (d *Decompiler) Set(name string) *syntax.SetDecl {
	s := d.declared(name)
	if s == nil {
		return nil
	}
	d.fill(s)
	return s.SetDecl
}

// Declaration is a set or map without elements; nil if there is none of the name.
func (d *Decompiler) Declaration(name string) *syntax.SetDecl {
	if s := d.declared(name); s != nil {
		return s.SetDecl
	}
	return nil
}

// inRule is a set as rules need it: with its elements if it is written there.
func (d *Decompiler) inRule(name string) *set {
	s := d.declared(name)
	if s != nil && s.Flags&nftables.SetAnonymous != 0 {
		d.fill(s)
	}
	return s
}

func (d *Decompiler) declared(name string) *set {
	if s, known := d.sets[name]; known {
		return s
	}
	spec, handle := d.source.Set(name)
	if spec == nil {
		return nil
	}
	s := &set{SetDecl: d.declare(spec, handle), spec: spec, keySize: int(spec.KeyLen), dataSize: int(spec.DataLen)}
	s.keyParts = partsOf(s.Key)
	if s.Data != nil {
		s.dataParts = partsOf(s.Data)
	}
	d.sets[name] = s
	return s
}

func (d *Decompiler) declare(spec *nftables.SetSpec, handle uint64) *syntax.SetDecl {
	user := nftables.DecodeUserData(nftables.SetUserData, spec.UserData)
	fields := user.Set
	if fields == nil {
		fields = &nftables.SetUserFields{}
	}
	decl := &syntax.SetDecl{
		Handle: syntax.Handle{Family: d.family, Table: d.table, Name: spec.Name, Number: handle},
		Flags:  spec.Flags, Map: spec.Flags&(nftables.SetMap|nftables.SetObject) != 0, Object: spec.ObjectType,
		Timeout: uint64(spec.Timeout / time.Millisecond), GCInterval: uint64(spec.GCInterval / time.Millisecond),
		Policy: spec.Policy, Size: spec.Size, AutoMerge: fields.MergeElements, Comment: user.Comment, HasComment: user.HasComment,
		Stmts: statements(spec.Exprs), IntervalData: fields.DataInterval,
	}
	typeofKey, typeofData := readTypeof(fields.KeyTypeof), readTypeof(fields.DataTypeof)
	if typeofKey != nil && bitsOf(typeofKey) > 8*int(spec.KeyLen) || isShort(typeofKey, int(spec.KeyLen)) {
		typeofKey = nil
	}
	decl.Key, decl.Typeof = typed(typeofKey, spec.KeyType, int(spec.KeyLen), fields.KeyByteorder), typeofKey != nil
	if decl.Typeof && fields.DataInterval {
		decl.Typeof = false // nft keeps no expression with ranges
	}
	if isPortOfCT(readTypeof(fields.KeyTypeof)) {
		decl.Key.Info().Type = syntax.TypeInvalid
	}
	if spec.Flags&nftables.SetMap == 0 {
		return decl
	}
	if spec.DataType == nftables.DataVerdict {
		decl.Data = &syntax.Value{Common: syntax.Common{Type: syntax.TypeVerdict}}
		return decl
	}
	size := int(spec.DataLen)
	if fields.DataInterval {
		size /= 2
	}
	decl.Data = typed(typeofData, spec.DataType, size, fields.DataByteorder)
	return decl
}

// isPortOfCT says whether an expression is a port of a connection, whose type nft does not know where it reads what the kernel holds.
func isPortOfCT(e syntax.Expr) bool {
	ct, is := e.(*syntax.CT)
	return is && (ct.Key == expr.CTProtoSrc || ct.Key == expr.CTProtoDst)
}

// isShort says whether a concatenation has fewer parts than fit into a key: user data has no room for many.
func isShort(typeof syntax.Expr, size int) bool {
	c, isConcat := typeof.(*syntax.Concat)
	return isConcat && bitsOf(c) < 8*size
}

// typed is an expression of a type that the kernel has the number of.
func typed(typeof syntax.Expr, number uint32, size int, order uint32) syntax.Expr {
	if typeof != nil {
		return typeof
	}
	t := syntax.TypeOf(syntax.TypeID(number))
	if t == nil {
		t = syntax.TypeInvalid
	}
	if t.Bits == 0 && len(t.Parts) == 0 {
		t = syntax.Sized(t, 8*size)
	}
	info := syntax.Common{Type: t, Order: syntax.ByteOrder(order), Bits: 8 * size}
	if info.Order == syntax.NoOrder && len(t.Parts) == 0 {
		info.Order = t.Order
	}
	return &syntax.Value{Common: info}
}

// Numbers of the TLVs of what a set's type was made of, and of the kinds of expressions in them (enum expr_types in nft's expression.h).
const (
	typeofExpr = 0
	typeofData = 1

	etypePayload = 7
	etypeExthdr  = 8
	etypeMeta    = 9
	etypeSocket  = 10
	etypeOsf     = 11
	etypeCT      = 12
	etypeConcat  = 13
	etypeNumgen  = 23
	etypeHash    = 24
	etypeRT      = 25
	etypeFib     = 26
	etypeXFRM    = 27
)

// readTypeof is the expression that a set's user data has; nil if there is none.
func readTypeof(data []byte) syntax.Expr {
	var etype uint32
	var inner []byte
	for typ, value := range nftables.TLVs(data) {
		switch typ {
		case typeofExpr:
			etype = nftables.TLVNumber(value)
		case typeofData:
			inner = value
		}
	}
	if etype == etypeConcat {
		return readConcat(inner)
	}
	var n [5]uint32
	for typ, value := range nftables.TLVs(inner) {
		if int(typ) < len(n) {
			n[typ] = nftables.TLVNumber(value)
		}
	}
	if len(inner) == 0 && etype != etypeOsf {
		return nil
	}
	return typeofOne(etype, n)
}

func readConcat(data []byte) syntax.Expr {
	c := &syntax.Concat{}
	var types []*syntax.Datatype
	for _, value := range nftables.TLVs(data) {
		part := readTypeof(value)
		if part == nil {
			return nil
		}
		c.Parts = append(c.Parts, part)
		types = append(types, part.Info().Type)
	}
	if len(c.Parts) == 0 {
		return nil
	}
	c.Type = syntax.ConcatType(types...)
	c.Bits = bitsOf(c)
	return c
}

func typeofOne(etype uint32, n [5]uint32) syntax.Expr {
	switch etype {
	case etypePayload:
		if n[0] == 0 && n[2] > 0 {
			return rawPayload(expr.PayloadBase(n[2]-1), int(n[3]), int(n[4]))
		}
		h, f := syntax.FieldNumbered(n[0], n[1])
		if f == nil {
			return nil
		}
		p := &syntax.Payload{Common: syntax.Common{Bits: f.Bits}, Base: h.Base, Offset: f.Offset}
		assign(p, h, f)
		p.Type = syntax.Sized(p.Type, f.Bits)
		return p
	case etypeExthdr:
		return typeofExthdr(n)
	case etypeMeta:
		if k := syntax.MetaKeyOf(metaKey(n[0])); k != nil {
			return &syntax.Meta{Common: syntax.Common{Type: syntax.Sized(k.Type, k.Bits), Order: k.Order, Bits: k.Bits}, Key: metaKey(n[0])}
		}
	case etypeSocket:
		t, bits, order := syntax.SocketType(n[0])
		return &syntax.Socket{Common: syntax.Common{Type: syntax.Sized(t, bits), Order: order, Bits: bits}, Key: n[0]}
	case etypeCT:
		t, bits, order := syntax.CTType(ctKey(n[0]))
		c := &syntax.CT{Common: syntax.Common{Type: t, Order: order, Bits: bits}, Key: ctKey(n[0])}
		if dir := uint8(n[1]); n[1] < 2 {
			c.Dir = &dir
		}
		return c
	case etypeNumgen:
		return &syntax.Numgen{Common: hostNumber(), Random: n[0] == 1, Modulus: n[1], Offset: n[2]}
	case etypeHash:
		return &syntax.Hash{Common: hostNumber(), Symmetric: n[0] == 1, Offset: n[1], Modulus: n[2], Seed: n[3], HasSeed: n[4] != 0}
	case etypeOsf:
		return &syntax.Osf{Common: syntax.Common{Type: syntax.Sized(syntax.TypeString, 128), Order: syntax.HostOrder, Bits: 128}}
	case etypeXFRM:
		x := &syntax.XFRM{Key: n[0], SPNum: n[1], Dir: uint8(n[2])}
		if k := syntax.XFRMKeyOf(n[0]); k != nil {
			x.Common = syntax.Common{Type: syntax.Sized(k.Type, k.Bits), Order: k.Order, Bits: k.Bits}
		}
		return x
	case etypeRT:
		t, bits, order := syntax.RTType(n[0])
		return withFamily(&syntax.RT{Common: syntax.Common{Type: t, Order: order, Bits: bits}, Key: n[0]})
	case etypeFib:
		t, bits, order := syntax.FibType(fibResult(n[0]), fibFlags(n[1]))
		return &syntax.Fib{Common: syntax.Common{Type: t, Order: order, Bits: bits}, Result: fibResult(n[0]), Flags: fibFlags(n[1])}
	}
	return nil
}

// hostNumber is what numgen and hashes are.
func hostNumber() syntax.Common {
	return syntax.Common{Type: syntax.Sized(syntax.TypeInteger, 32), Order: syntax.HostOrder, Bits: 32}
}

// typeofExthdr is an optional header of a number, a field and a kind of header.
func typeofExthdr(n [5]uint32) syntax.Expr {
	op := expr.ExthdrOp(n[2])
	h, f := syntax.OptionNumbered(op, n[0], n[1])
	if f == nil {
		return nil
	}
	return &syntax.Exthdr{
		Common: syntax.Common{Type: syntax.Sized(f.Type, f.Bits), Order: f.Order, Bits: f.Bits}, Op: op, RawType: h.ExtType, Header: h, Field: f,
		Offset: f.Offset,
	}
}
