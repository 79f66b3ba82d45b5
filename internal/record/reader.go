package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"sync/atomic"
	"time"
	"unsafe"
)

// Reader reads the values of a record in the order in which they were written, or from places that it is told.
type Reader struct {
	types *Types
	used  []*layout
	text  string // the values
	at    int
	err   error
	known map[int]any // values that were pointed to again, by their places
	depth int
	spare []spare
}

// ErrOther says that a program with other types has written the record.
var ErrOther = errors.New("it was written by a program with other types")

var errShort = errors.New("it ends too early, or has a number that cannot be")

// Reader returns a reader of a record. What is not the beginning of one is an error, ErrOther where its types are others.
func (t *Types) Reader(record []byte) (*Reader, error) {
	r := &Reader{types: t, known: map[int]any{}, spare: make([]spare, len(t.layouts))}
	end := len(record) - sizeOfEnd
	if end < 0 {
		return nil, errShort
	}
	size := binary.BigEndian.Uint64(record[end:])
	if size > uint64(end) {
		return nil, errShort
	}
	values := string(record[:size])
	r.text = string(record[size:end])
	for range r.length(len(r.text)) {
		name, description := r.string(), r.string()
		l := t.byName[name]
		if r.err == nil && (l == nil || l.describe() != description) {
			return nil, fmt.Errorf("%w: %s", ErrOther, name)
		}
		r.used = append(r.used, l)
	}
	r.text, r.at = values, 0
	return r, r.err
}

// Read reads what was written into what v points to.
func (r *Reader) Read(v any) error {
	l := r.types.must(v)
	if !slices.Contains(r.used, l) {
		r.fail()
		return r.err
	}
	r.read(l, addressOf(v))
	return r.err
}

// Seek goes to a place: what Writer.Len was.
func (r *Reader) Seek(at int) {
	if r.at = at; at < 0 || at > len(r.text) {
		r.fail()
	}
}

// end says that everything was read.
func (r *Reader) end() bool { return r.err != nil || r.at == len(r.text) }

// fail notes that the record cannot be.
func (r *Reader) fail() {
	if r.err == nil {
		r.err = errShort
	}
	r.at = len(r.text)
}

func (r *Reader) read(l *layout, p unsafe.Pointer) {
	for i := range l.fields {
		f := &l.fields[i]
		r.readField(f, unsafe.Add(p, f.offset))
	}
}

func (r *Reader) readField(f *field, p unsafe.Pointer) {
	switch f.kind {
	case kindBool:
		*(*bool)(p) = r.byte() != 0
	case kindUint8:
		*(*uint8)(p) = r.byte()
	case kindUint16:
		*(*uint16)(p) = uint16(r.number())
	case kindUint32:
		*(*uint32)(p) = uint32(r.number())
	case kindUint64:
		*(*uint64)(p) = r.number()
	case kindInt:
		*(*int)(p) = int(r.signed())
	case kindAtomic:
		(*atomic.Uint64)(p).Store(r.number())
	case kindString:
		*(*string)(p) = r.string()
	case kindAddr:
		*(*netip.Addr)(p) = r.addr()
	case kindTime:
		*(*time.Time)(p) = r.time()
	case kindPointer:
		if r.byte() != 0 && r.err == nil {
			to := r.alloc(f.elem, 1)
			r.read(f.elem, to)
			*(*unsafe.Pointer)(p) = to
		}
	case kindSlice:
		r.readSlice(f.elem, (*sliceHeader)(p))
	case kindInterface:
		if v := r.value(); v != nil && !f.behind.set(p, v) {
			r.fail()
		}
	}
}

func (r *Reader) byte() byte {
	if r.at >= len(r.text) {
		r.fail()
		return 0
	}
	b := r.text[r.at]
	r.at++
	return b
}

func (r *Reader) number() uint64 {
	var n uint64
	for shift := 0; shift < 64; shift += 7 {
		b := r.byte()
		if n |= uint64(b&0x7f) << shift; b < 0x80 {
			return n
		}
	}
	r.fail()
	return 0
}

// signed is a number that may be negative.
func (r *Reader) signed() int64 {
	n := r.number()
	return int64(n>>1) ^ -int64(n&1)
}

// length is a number of things of which each takes a byte or more, at most so many.
func (r *Reader) length(most int) int {
	n := r.number()
	if n > uint64(most) {
		r.fail()
		return 0
	}
	return int(n)
}

func (r *Reader) take(n int) string {
	if n > len(r.text)-r.at {
		r.fail()
		return ""
	}
	r.at += n
	return r.text[r.at-n : r.at]
}

func (r *Reader) string() string { return r.take(r.length(len(r.text))) }

func (r *Reader) addr() netip.Addr {
	switch form := r.byte(); form {
	case addrNone:
	case addr4:
		var b [4]byte
		copy(b[:], r.take(len(b)))
		return netip.AddrFrom4(b)
	case addr6, addr6Zone:
		var b [16]byte
		copy(b[:], r.take(len(b)))
		a := netip.AddrFrom16(b)
		if form == addr6Zone {
			a = a.WithZone(r.string())
		}
		return a
	default:
		r.fail()
	}
	return netip.Addr{}
}

func (r *Reader) time() time.Time {
	if r.byte() == 0 {
		return time.Time{}
	}
	return time.Unix(0, r.signed()).UTC()
}

func (r *Reader) readSlice(elem *layout, s *sliceHeader) {
	n := r.length(len(r.text) - r.at + 1)
	if n == 0 {
		return
	}
	n--
	s.data, s.length, s.space = r.alloc(elem, n), n, n
	for i := range n {
		r.read(elem, unsafe.Add(s.data, uintptr(i)*elem.typ.Size()))
	}
}

// deepest is how far values may lead to others; only damage leads further.
const deepest = 16

// value reads a value behind an interface: a pointer, or nil.
func (r *Reader) value() any {
	n := r.number()
	switch {
	case n == 0 || r.err != nil:
		return nil
	case n&1 == 0:
		return r.valueAt(n>>1 - 1)
	case n>>1 >= uint64(len(r.used)):
		r.fail()
		return nil
	}
	l := r.used[n>>1]
	p := r.alloc(l, 1)
	r.read(l, p)
	return reflect.NewAt(l.typ, p).Interface()
}

// valueAt is the value behind an interface that stands at a place before this one.
func (r *Reader) valueAt(at uint64) any {
	if v, ok := r.known[int(at)]; ok {
		return v
	}
	if r.depth++; at >= uint64(r.at) || r.depth > deepest {
		r.fail()
		return nil
	}
	back := r.at
	r.at = int(at)
	v := r.value()
	if r.err == nil {
		r.at = back
	}
	r.depth--
	r.known[int(at)] = v
	return v
}

// spare is memory that is given out bit by bit.
type spare struct {
	chunk unsafe.Pointer
	left  int
}

const spareSize = 128

// alloc is memory for n values of a layout next to one another, all of them zero.
func (r *Reader) alloc(l *layout, n int) unsafe.Pointer {
	if n >= spareSize || n == 0 || l.typ.Size() == 0 {
		return reflect.MakeSlice(reflect.SliceOf(l.typ), n, n).UnsafePointer()
	}
	s := &r.spare[l.number]
	if s.left < n {
		s.chunk, s.left = reflect.MakeSlice(reflect.SliceOf(l.typ), spareSize, spareSize).UnsafePointer(), spareSize
	}
	p := s.chunk
	if s.left -= n; s.left > 0 {
		s.chunk = unsafe.Add(p, uintptr(n)*l.typ.Size())
	}
	return p
}
