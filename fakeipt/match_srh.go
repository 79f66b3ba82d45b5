package fakeipt

import (
	"math"
	"slices"
	"strconv"

	"github.com/chainwalk/chainwalk/netfilter"
)

// SRHField is a field of the header of segment routing that -m srh compares.
type SRHField uint8

// The comparisons, in the order in which they are printed. Those of one field share the field's number.
const (
	SRHNextHeader SRHField = iota
	SRHLengthEqual
	SRHLengthGreater
	SRHLengthLess
	SRHSegmentsEqual // segments that are left
	SRHSegmentsGreater
	SRHSegmentsLess
	SRHLastEntryEqual
	SRHLastEntryGreater
	SRHLastEntryLess
	SRHTag
	srhNumbers // how many there are
)

// srhFieldNames are the options of the comparisons, without the "srh-" before them.
var srhFieldNames = [srhNumbers]string{"next-hdr", "hdr-len-eq", "hdr-len-gt", "hdr-len-lt", "segs-left-eq", "segs-left-gt", "segs-left-lt",
	"last-entry-eq", "last-entry-gt", "last-entry-lt", "tag"}

// srhSegmentNames are the options about addresses: of the segment before, of the next one, and of the last one.
var srhSegmentNames = [...]string{"psid", "nsid", "lsid"}

// MatchSRH is -m srh (IPv6 only): the header of segment routing (RFC 8754).
type MatchSRH struct {
	asked, inverted uint32 // a bit for each SRHField
	numbers         [srhNumbers]uint16
	// Previous, Next and Last are segments; without an address: any.
	Previous, Next, Last AddrMatch
}

// Asks says whether the rule makes a comparison, with what number, and whether it wants it not to hold.
func (m *MatchSRH) Asks(field SRHField) (number uint16, invert, ok bool) {
	bit := uint32(1) << field
	return m.numbers[field.first()], m.inverted&bit != 0, m.asked&bit != 0
}

// first is the first of the comparisons of the same field, at which its number is kept.
func (f SRHField) first() SRHField {
	if f == SRHNextHeader || f == SRHTag {
		return f
	}
	return f - (f-SRHLengthEqual)%3
}

// Name is "srh".
func (*MatchSRH) Name() string { return "srh" }

func (m *MatchSRH) segments() [3]*AddrMatch { return [...]*AddrMatch{&m.Previous, &m.Next, &m.Last} }

func (m *MatchSRH) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	for field, name := range srhFieldNames {
		if number, invert, ok := m.Asks(SRHField(field)); ok {
			dst = strconv.AppendUint(append(appendOption(dst, "--srh-"+name, invert), ' '), uint64(number), 10)
		}
	}
	for i, s := range m.segments() {
		if s.Addr.IsValid() {
			dst = s.appendSave(append(appendOption(dst, "--srh-"+srhSegmentNames[i], s.Invert), ' '))
		}
	}
	return dst
}

func (m *MatchSRH) appendList(dst []byte, _ listStyle) []byte {
	dst = append(dst, " srh"...)
	for field, name := range srhFieldNames {
		if number, invert, ok := m.Asks(SRHField(field)); ok {
			dst = append(append(append(append(dst, ' '), name...), ':'), bang(invert)...)
			dst = strconv.AppendUint(dst, uint64(number), 10)
		}
	}
	for i, s := range m.segments() {
		if s.Addr.IsValid() {
			dst = append(append(append(dst, ' '), srhSegmentNames[i]...), ' ')
			dst = s.appendSave(append(append(dst, bang(s.Invert)...), ' '))
		}
	}
	return dst
}

var srhExtension = &extension{
	name:     "srh",
	onlyIn:   netfilter.IPv6,
	options:  srhOptions(),
	newMatch: matchOf(valueParser[MatchSRH]{read: (*MatchSRH).read}),
}

func srhOptions() []optionSpec {
	var options []optionSpec
	for _, name := range slices.Concat(srhFieldNames[:], srhSegmentNames[:]) {
		options = append(options, optionSpec{name: "srh-" + name, invert: true})
	}
	return options
}

func (m *MatchSRH) read(o *optionCall) (err error) {
	name := o.name[len("srh-"):]
	if i := slices.Index(srhSegmentNames[:], name); i >= 0 {
		*m.segments()[i], err = o.resolvedHostMask()
		return err
	}
	field := SRHField(slices.Index(srhFieldNames[:], name))
	limit := uint64(math.MaxUint8)
	if field == SRHTag {
		limit = math.MaxUint16
	}
	n, err := o.number(0, limit)
	m.asked |= 1 << field
	if o.invert {
		m.inverted |= 1 << field
	}
	m.numbers[field.first()] = uint16(n)
	return err
}
