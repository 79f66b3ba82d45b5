package compile

import (
	"time"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

func isAnonymous(s *syntax.SetDecl) bool { return s.Flags&nftables.SetAnonymous != 0 }

// setName is a set's name; that of an anonymous one is a pattern, which the kernel numbers.
func setName(s *syntax.SetDecl) string {
	switch {
	case s.Handle.Name != "":
		return s.Handle.Name
	case s.Map:
		return "__map%d"
	default:
		return "__set%d"
	}
}

func declOf(e syntax.Expr) *syntax.SetDecl {
	switch e := e.(type) {
	case *syntax.SetRef:
		return e.Set
	case *syntax.Set:
		return e.Ref
	}
	return nil
}

// isConcat says whether a key or data is a concatenation, written as one or by its type.
func isConcat(e syntax.Expr) bool {
	if _, is := e.(*syntax.Concat); is {
		return true
	}
	t := e.Info().Type
	return t != nil && len(t.Parts) > 1
}

// hasIntervals says whether a map's data are ranges.
func hasIntervals(s *syntax.SetDecl) bool {
	if s.IntervalData {
		return true
	}
	items, _ := s.Elements.(*syntax.Set)
	if items == nil || len(items.Items) == 0 {
		return false
	}
	m, isMapping := items.Items[0].(*syntax.Mapping)
	return isMapping && isInterval(m.Data)
}

func isInterval(e syntax.Expr) bool {
	switch e := e.(type) {
	case *syntax.Range, *syntax.Prefix:
		return true
	case *syntax.Concat:
		for _, part := range e.Parts {
			if isInterval(part) {
				return true
			}
		}
	}
	return false
}

// keyBytes is how many bytes keys or data have.
func keyBytes(e syntax.Expr) uint32 {
	if e == nil {
		return 0
	}
	if t := e.Info().Type; t != nil && len(t.Parts) > 1 {
		bits := 0
		for _, part := range t.Parts {
			bits += syntax.Padded(part.Bits)
		}
		if bits > 0 && e.Info().Bits == 0 {
			return uint32(bits / 8)
		}
	}
	return uint32(syntax.Bytes(bitsOf(e)))
}

// setSpec is what the kernel is told of a set; of one of a rule, key is what is looked up in it.
func (g *generator) setSpec(s *syntax.SetDecl, key syntax.Expr) nftables.SetSpec {
	spec := nftables.SetSpec{
		Name: setName(s), ID: s.ID, Flags: s.Flags, KeyType: typeNumber(s.Key), KeyLen: keyBytes(s.Key),
		Timeout: milliseconds(s.Timeout), GCInterval: milliseconds(s.GCInterval), Policy: s.Policy, Size: s.Size,
		Exprs: g.statefuls(s.Stmts), UserData: setUserData(s, key),
	}
	if isAnonymous(s) && s.Flags&nftables.SetEval == 0 {
		spec.Flags |= nftables.SetConstant
	}
	switch {
	case !s.Map:
	case s.Object != 0:
		spec.Flags |= nftables.SetObject
		spec.ObjectType = s.Object
	case s.Data != nil:
		spec.Flags |= nftables.SetMap
		spec.DataType, spec.DataLen = typeNumber(s.Data), keyBytes(s.Data)
		if spec.DataType == uint32(syntax.TypeVerdict.ID) {
			spec.DataType, spec.DataLen = nftables.DataVerdict, 0
		} else if hasIntervals(s) {
			spec.DataLen *= 2
		}
	}
	if s.Flags&nftables.SetInterval != 0 && isConcat(s.Key) {
		spec.Flags |= nftables.SetConcat
		spec.FieldLens = fieldLens(s.Key)
	}
	return spec
}

func milliseconds(n uint64) time.Duration { return time.Duration(n) * time.Millisecond }

func typeNumber(e syntax.Expr) uint32 {
	if e == nil || e.Info().Type == nil {
		return 0
	}
	return uint32(e.Info().Type.ID)
}

func fieldLens(key syntax.Expr) (lens []uint8) {
	if c, is := key.(*syntax.Concat); is {
		for _, part := range c.Parts {
			lens = append(lens, uint8(syntax.Bytes(bitsOf(part))))
		}
		return lens
	}
	for _, part := range key.Info().Type.Parts {
		lens = append(lens, uint8(syntax.Bytes(part.Bits)))
	}
	return lens
}

// Types of the user data of sets (enum nftnl_udata_set_types) and of what a type was made of (NFTNL_UDATA_SET_TYPEOF_*).
const (
	udataKeyByteorder  = 0
	udataDataByteorder = 1
	udataMerge         = 2
	udataKeyTypeof     = 3
	udataDataTypeof    = 4
	udataDataInterval  = 6
	udataComment       = 7

	typeofExpr = 0
	typeofData = 1

	// maxTypeof is how many parts of a concatenation nft notes.
	maxTypeof = 4
	// udataPayloadLen is the size of a field in bits, which the type of some does not say.
	udataPayloadLen = 4
)

func setUserData(s *syntax.SetDecl, key syntax.Expr) []byte {
	b := nftables.AppendTLVNumber(make([]byte, 0, 64), udataKeyByteorder, byteorder(s.Key))
	if s.Map && s.Object == 0 {
		b = nftables.AppendTLVNumber(b, udataDataByteorder, byteorder(s.Data))
	}
	if s.AutoMerge || isAnonymous(s) && !s.Map && s.Flags&nftables.SetInterval != 0 {
		b = nftables.AppendTLVNumber(b, udataMerge, 1)
	}
	if typeof, has := typeofKey(s, key); has {
		b = nftables.AppendTLV(b, udataKeyTypeof, typeof)
	}
	if s.Map && s.Data != nil {
		if typeof, has := typeofDatum(s); has {
			b = nftables.AppendTLV(b, udataDataTypeof, typeof)
		}
	}
	if s.Map {
		interval := uint32(0)
		if hasIntervals(s) {
			interval = 1
		}
		b = nftables.AppendTLVNumber(b, udataDataInterval, interval)
	}
	if s.HasComment {
		b = nftables.AppendTLV(b, udataComment, append([]byte(s.Comment), 0))
	}
	return b
}

// byteorder is the number of an order of bytes in user data (enum byteorder in nft).
func byteorder(e syntax.Expr) uint32 {
	if e == nil || isConcat(e) {
		return 0
	}
	c := e.Info()
	if c.Type != nil && c.Type.ID == syntax.TypeVerdict.ID {
		return 0
	}
	order := c.Order
	if order == syntax.NoOrder && c.Type != nil {
		order = c.Type.Order
	}
	return uint32(order)
}

// typeofKey is what nft notes of what the keys are. Of maps of rules it notes concatenations alone, of meters nothing.
func typeofKey(s *syntax.SetDecl, key syntax.Expr) (b []byte, has bool) {
	if !isAnonymous(s) {
		return typeof(s.Key)
	}
	if key == nil || s.Map && !isConcat(key) {
		return nil, false
	}
	return typeof(loaded(key))
}

// loaded is what is loaded, before its bytes are put into the network's order.
func loaded(e syntax.Expr) syntax.Expr {
	if u, isUnary := e.(*syntax.Unary); isUnary {
		return loaded(u.Of)
	}
	return e
}

// field is what a part of a concatenation loads, before a mask leaves its last bits.
func field(e syntax.Expr) syntax.Expr {
	if b, isBinop := e.(*syntax.Binop); isBinop && b.Op == syntax.OpAnd {
		return b.Left
	}
	return e
}

func typeofDatum(s *syntax.SetDecl) (b []byte, has bool) {
	if t := s.Data.Info().Type; t != nil && t.ID == syntax.TypeVerdict.ID {
		if isAnonymous(s) {
			return wrapTypeof(etypeVerdict, nil), true
		}
		return nil, false
	}
	if isAnonymous(s) {
		return nil, false
	}
	return typeof(s.Data)
}

// Numbers of kinds of expressions (enum expr_types in nft's include/expression.h).
const (
	etypeVerdict = 1
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

func wrapTypeof(etype uint32, data []byte) []byte {
	return nftables.AppendTLV(nftables.AppendTLVNumber(nil, typeofExpr, etype), typeofData, data)
}

// typeof is what nft notes of an expression, so that a listing can say typeof.
func typeof(e syntax.Expr) (b []byte, has bool) {
	switch e := e.(type) {
	case *syntax.Payload:
		if e.Field == nil || e.Raw && e.Header != syntax.HeaderTH {
			return wrapTypeof(etypePayload, numbers(0, 0, uint32(e.Base)+1, uint32(e.Offset), uint32(e.Bits))), true
		}
		number, field, known := syntax.FieldNumber(e.Header, e.Field)
		if !known {
			return nil, false
		}
		data := numbers(number, field)
		if e.Field.Type.ID == syntax.TypeInteger.ID {
			data = nftables.AppendTLVNumber(data, udataPayloadLen, uint32(e.Field.Bits))
		}
		return wrapTypeof(etypePayload, data), true
	case *syntax.Exthdr:
		return typeofExthdr(e)
	case *syntax.Meta:
		return wrapTypeof(etypeMeta, numbers(uint32(e.Key))), true
	case *syntax.Socket:
		return wrapTypeof(etypeSocket, numbers(e.Key)), true
	case *syntax.CT:
		dir := ^uint32(0)
		if e.Dir != nil {
			dir = uint32(*e.Dir)
		}
		return wrapTypeof(etypeCT, numbers(uint32(e.Key), dir)), true
	case *syntax.RT:
		return wrapTypeof(etypeRT, numbers(e.Key)), true
	case *syntax.Fib:
		return wrapTypeof(etypeFib, numbers(uint32(e.Result), uint32(e.Flags))), true
	case *syntax.Numgen:
		return wrapTypeof(etypeNumgen, numbers(flagNumber(e.Random), e.Modulus, e.Offset)), true
	case *syntax.Hash:
		return wrapTypeof(etypeHash, numbers(flagNumber(e.Symmetric), e.Offset, e.Modulus, e.Seed, flagNumber(e.HasSeed))), true
	case *syntax.Osf:
		return wrapTypeof(etypeOsf, nil), true
	case *syntax.XFRM:
		return wrapTypeof(etypeXFRM, numbers(e.Key, e.SPNum, uint32(e.Dir))), true
	case *syntax.Concat:
		var data []byte
		for i, part := range e.Parts {
			inner, known := typeof(field(part))
			if !known || i == maxTypeof {
				break
			}
			data = nftables.AppendTLV(data, uint8(i), inner)
		}
		return wrapTypeof(etypeConcat, data), true
	default:
		if isConcat(e) {
			return wrapTypeof(etypeConcat, nil), true
		}
		return nil, false
	}
}

func numbers(list ...uint32) (b []byte) {
	for i, n := range list {
		b = nftables.AppendTLVNumber(b, uint8(i), n)
	}
	return b
}

func flagNumber(set bool) uint32 {
	if set {
		return 1
	}
	return 0
}

func typeofExthdr(e *syntax.Exthdr) (b []byte, has bool) {
	header, field, known := syntax.OptionNumber(e.Op, e.Header, e.Field)
	if !known {
		return nil, false
	}
	data := nftables.AppendTLVNumber(nil, 1, field)
	if e.Op != expr.ExthdrIPv6 {
		data = nftables.AppendTLVNumber(data, 2, uint32(e.Op))
	}
	return wrapTypeof(etypeExthdr, nftables.AppendTLVNumber(data, 0, header)), true
}

// objects are the kinds of named objects by the words of commands.
var objects = map[syntax.Kind]expr.ObjectType{
	syntax.KindCounter: expr.ObjectCounter, syntax.KindQuota: expr.ObjectQuota, syntax.KindLimit: expr.ObjectLimit,
	syntax.KindCTHelper: expr.ObjectCTHelper, syntax.KindCTTimeout: expr.ObjectCTTimeout, syntax.KindCTExpectation: expr.ObjectCTExpect,
	syntax.KindSecmark: expr.ObjectSecmark, syntax.KindSynproxy: expr.ObjectSynproxy,
}
