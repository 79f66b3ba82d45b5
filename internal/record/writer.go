package record

import (
	"encoding/binary"
	"net/netip"
	"sync/atomic"
	"time"
	"unsafe"
)

// Writer writes values one after the other. The zero value is not usable: see Types.Writer.
type Writer struct {
	types   *Types
	out     []byte
	begin   int                      // of the record in out
	places  map[unsafe.Pointer]place // of values behind interfaces that were written
	numbers []int                    // of the layouts behind interfaces, in order of first use; by their place in Types.layouts, 0: not used
	used    []*layout
}

// place is where a value was written, and as what: two values may begin at one address.
type place struct {
	layout *layout
	at     int
}

// Writer returns a new writer, which appends a record to dst. It is to expect so many values behind interfaces.
func (t *Types) Writer(dst []byte, expect int) *Writer {
	return &Writer{types: t, out: dst, begin: len(dst), places: make(map[unsafe.Pointer]place, expect), numbers: make([]int, len(t.layouts))}
}

// Len is the number of bytes of the values so far.
func (w *Writer) Len() int { return len(w.out) - w.begin }

// Write writes what v points to. It panics if that is none of the types.
func (w *Writer) Write(v any) {
	l := w.types.must(v)
	w.number(l)
	w.write(l, addressOf(v))
}

// Record ends the record with a list of the types that it is made of, and the length of the values before it. It returns dst with all of
// it.
func (w *Writer) Record() []byte {
	values := w.Len()
	w.out = binary.AppendUvarint(w.out, uint64(len(w.used)))
	for _, l := range w.used {
		w.out = appendString(appendString(w.out, l.typ.String()), l.describe())
	}
	return binary.BigEndian.AppendUint64(w.out, uint64(values))
}

// sizeOfEnd is that of the length at the end of a record.
const sizeOfEnd = 8

func appendString(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// number is that of a layout in the list of types.
func (w *Writer) number(l *layout) int {
	if w.numbers[l.number] == 0 {
		w.used = append(w.used, l)
		w.numbers[l.number] = len(w.used)
	}
	return w.numbers[l.number] - 1
}

func (w *Writer) write(l *layout, p unsafe.Pointer) {
	for i := range l.fields {
		f := &l.fields[i]
		w.writeField(f, unsafe.Add(p, f.offset))
	}
}

func (w *Writer) writeField(f *field, p unsafe.Pointer) {
	switch f.kind {
	case kindBool:
		w.out = append(w.out, boolByte(*(*bool)(p)))
	case kindUint8:
		w.out = append(w.out, *(*uint8)(p))
	case kindUint16:
		w.out = binary.AppendUvarint(w.out, uint64(*(*uint16)(p)))
	case kindUint32:
		w.out = binary.AppendUvarint(w.out, uint64(*(*uint32)(p)))
	case kindUint64:
		w.out = binary.AppendUvarint(w.out, *(*uint64)(p))
	case kindInt:
		w.out = binary.AppendVarint(w.out, int64(*(*int)(p)))
	case kindAtomic:
		w.out = binary.AppendUvarint(w.out, (*atomic.Uint64)(p).Load())
	case kindString:
		w.out = appendString(w.out, *(*string)(p))
	case kindAddr:
		w.out = appendAddr(w.out, *(*netip.Addr)(p))
	case kindTime:
		w.out = appendTime(w.out, *(*time.Time)(p))
	case kindPointer:
		to := *(*unsafe.Pointer)(p)
		w.out = append(w.out, boolByte(to != nil))
		if to != nil {
			w.write(f.elem, to)
		}
	case kindSlice:
		w.writeSlice(f.elem, (*sliceHeader)(p))
	case kindInterface:
		w.writeInterface(f.behind.get(p))
	}
}

func boolByte(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// sliceHeader is a slice in memory.
type sliceHeader struct {
	data          unsafe.Pointer
	length, space int
}

// writeSlice writes 0 for nil, else the length plus one and the elements.
func (w *Writer) writeSlice(elem *layout, s *sliceHeader) {
	if s.data == nil {
		w.out = append(w.out, 0)
		return
	}
	w.out = binary.AppendUvarint(w.out, uint64(s.length)+1)
	for i := range s.length {
		w.write(elem, unsafe.Add(s.data, uintptr(i)*elem.typ.Size()))
	}
}

// A value behind an interface is 0 for nil, an odd number that is its type's before the value itself, or an even one that tells where it
// was written before.
func (w *Writer) writeInterface(v any) {
	if v == nil {
		w.out = append(w.out, 0)
		return
	}
	l, p := w.types.must(v), addressOf(v)
	if known, ok := w.places[p]; ok && known.layout == l {
		w.out = binary.AppendUvarint(w.out, uint64(known.at+1)<<1)
		return
	}
	if len(l.fields) > 0 {
		w.places[p] = place{l, w.Len()}
	}
	w.out = binary.AppendUvarint(w.out, uint64(w.number(l))<<1|1)
	w.write(l, p)
}

// The forms of an address.
const (
	addrNone byte = iota
	addr4
	addr6
	addr6Zone
)

func appendAddr(dst []byte, a netip.Addr) []byte {
	switch {
	case !a.IsValid():
		return append(dst, addrNone)
	case a.Is4():
		b := a.As4()
		return append(append(dst, addr4), b[:]...)
	}
	b, form := a.As16(), addr6
	if a.Zone() != "" {
		form = addr6Zone
	}
	dst = append(append(dst, form), b[:]...)
	if form == addr6Zone {
		dst = appendString(dst, a.Zone())
	}
	return dst
}

// appendTime writes the time to the nanosecond, without its zone.
func appendTime(dst []byte, t time.Time) []byte {
	if t.IsZero() {
		return append(dst, 0)
	}
	return binary.AppendVarint(append(dst, 1), t.UnixNano())
}
