package nftnetlink

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/chainwalk/chainwalk/internal/nlattr"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// maxType is the highest type of an attribute that is looked at.
const maxType = 31

// attributes are those of a message by their type. A wrong one is told by err, once all have been asked for.
type attributes struct {
	values [maxType + 1][]byte
	has    [maxType + 1]bool
	err    error
}

func split(data []byte) *attributes {
	t := new(attributes)
	for a, err := range nlattr.All(data) {
		if err != nil {
			t.err = err
			break
		}
		if a.Type <= maxType {
			t.values[a.Type], t.has[a.Type] = a.Value, true
		}
	}
	return t
}

// number is an attribute of so many bytes, 0 if it is not there.
func (t *attributes) number(typ uint16, size int) uint64 {
	if !t.has[typ] {
		return 0
	}
	v := t.values[typ]
	if len(v) != size {
		t.err = fmt.Errorf("%w: attribute %d is a number of %d bytes and has %d", nlattr.ErrMessage, typ, size, len(v))
		return 0
	}
	switch size {
	case 1:
		return uint64(v[0])
	case 2:
		return uint64(binary.BigEndian.Uint16(v))
	case 4:
		return uint64(binary.BigEndian.Uint32(v))
	default:
		return binary.BigEndian.Uint64(v)
	}
}

func (t *attributes) u8(typ uint16) uint8   { return uint8(t.number(typ, 1)) }
func (t *attributes) u16(typ uint16) uint16 { return uint16(t.number(typ, 2)) }
func (t *attributes) u32(typ uint16) uint32 { return uint32(t.number(typ, 4)) }
func (t *attributes) u64(typ uint16) uint64 { return t.number(typ, 8) }

func (t *attributes) register(typ uint16) expr.Register { return expr.Register(t.u32(typ)) }

func (t *attributes) text(typ uint16) string { return nlattr.Attribute{Value: t.values[typ]}.Text() }

func (t *attributes) bytes(typ uint16) []byte { return slices.Clone(t.values[typ]) }

func (t *attributes) milliseconds(typ uint16) time.Duration {
	return time.Duration(t.u64(typ)) * time.Millisecond
}

// shortMilliseconds is an attribute of four bytes.
func (t *attributes) shortMilliseconds(typ uint16) time.Duration {
	return time.Duration(t.u32(typ)) * time.Millisecond
}

// nested are the attributes within one.
func (t *attributes) nested(typ uint16) *attributes {
	inside := split(t.values[typ])
	if inside.err != nil && t.err == nil {
		t.err = inside.err
	}
	return inside
}

// all are the attributes within one, in order.
func (t *attributes) all(typ uint16) (list []nlattr.Attribute) {
	for a, err := range nlattr.All(t.values[typ]) {
		if err != nil {
			t.err = err
			break
		}
		list = append(list, a)
	}
	return list
}

// Types of attributes of data (enum nft_data_attributes, nft_verdict_attributes).
const (
	dataValue    = 1
	dataVerdict  = 2
	verdictCode  = 1
	verdictChain = 2
)

func (t *attributes) data(typ uint16) expr.Data {
	inside := t.nested(typ)
	if !inside.has[dataVerdict] {
		return expr.Data{Bytes: inside.bytes(dataValue)}
	}
	v := inside.nested(dataVerdict)
	if v.err != nil {
		t.err = v.err
	}
	return expr.Data{Verdict: &expr.Verdict{Code: expr.Code(int32(v.u32(verdictCode))), Chain: v.text(verdictChain)}}
}

// value is the bytes of an attribute of data.
func (t *attributes) value(typ uint16) []byte { return t.nested(typ).bytes(dataValue) }

// Types of attributes of an expression (enum nft_expr_attributes).
const (
	exprName = 1
	exprData = 2
)

// exprs are the expressions of a list.
func (t *attributes) exprs(typ uint16) []expr.Expr {
	list := t.all(typ)
	exprs := make([]expr.Expr, 0, len(list))
	for _, a := range list {
		exprs = append(exprs, t.expr(a.Value))
	}
	return exprs
}

func (t *attributes) expr(value []byte) expr.Expr {
	e, err := readExpr(value)
	if err != nil {
		t.err = err
	}
	return e
}

func readExpr(value []byte) (expr.Expr, error) {
	outer := split(value)
	name, data := outer.text(exprName), outer.values[exprData]
	read, isKnown := readers[name]
	if !isKnown {
		return &expr.Opaque{Kind: name, Data: slices.Clone(data)}, outer.err
	}
	inside := split(data)
	e := read(inside)
	for _, err := range []error{outer.err, inside.err} {
		if err != nil {
			return nil, fmt.Errorf("expression %s: %w", name, err)
		}
	}
	return e, nil
}
