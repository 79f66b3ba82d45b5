package match

import (
	"math"
	"slices"
	"strconv"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// srhField is a field of the header of segment routing that -m srh compares.
type srhField uint8

// The comparisons, in the order in which they are printed. Those of one field share the field's number.
const (
	srhNextHeader srhField = iota
	srhLengthEqual
	srhLengthGreater
	srhLengthLess
	srhSegmentsEqual // segments that are left
	srhSegmentsGreater
	srhSegmentsLess
	srhLastEntryEqual
	srhLastEntryGreater
	srhLastEntryLess
	srhTag
	srhNumbers // how many there are
)

// srhFieldNames are the options of the comparisons, without the "srh-" before them.
var srhFieldNames = [srhNumbers]string{"next-hdr", "hdr-len-eq", "hdr-len-gt", "hdr-len-lt", "segs-left-eq", "segs-left-gt", "segs-left-lt",
	"last-entry-eq", "last-entry-gt", "last-entry-lt", "tag"}

// srhSegmentNames are the options about addresses: of the segment before, of the next one, and of the last one.
var srhSegmentNames = [...]string{"psid", "nsid", "lsid"}

// SRH is -m srh (IPv6 only): the header of segment routing (RFC 8754).
type SRH struct {
	asked, inverted uint32 // a bit for each srhField
	numbers         [srhNumbers]uint16
	// Previous, Next and Last are segments; without an address: any.
	Previous, Next, Last xtables.AddrMatch
}

// asks says whether the rule makes a comparison, with what number, and whether it wants it not to hold.
func (m *SRH) asks(field srhField) (number uint16, invert, ok bool) {
	bit := uint32(1) << field
	return m.numbers[field.first()], m.inverted&bit != 0, m.asked&bit != 0
}

// first is the first of the comparisons of the same field, at which its number is kept.
func (f srhField) first() srhField {
	if f == srhNextHeader || f == srhTag {
		return f
	}
	return f - (f-srhLengthEqual)%3
}

// Name is "srh".
func (*SRH) Name() string { return "srh" }

func (m *SRH) segments() [3]*xtables.AddrMatch {
	return [...]*xtables.AddrMatch{&m.Previous, &m.Next, &m.Last}
}

func (m *SRH) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	for field, name := range srhFieldNames {
		if number, invert, ok := m.asks(srhField(field)); ok {
			dst = strconv.AppendUint(append(xtables.AppendOption(dst, "--srh-"+name, invert), ' '), uint64(number), 10)
		}
	}
	for i, s := range m.segments() {
		if s.Addr.IsValid() {
			dst = s.AppendSave(append(xtables.AppendOption(dst, "--srh-"+srhSegmentNames[i], s.Invert), ' '))
		}
	}
	return dst
}

func (m *SRH) AppendList(dst []byte, _ xtables.ListStyle) []byte {
	dst = append(dst, " srh"...)
	for field, name := range srhFieldNames {
		if number, invert, ok := m.asks(srhField(field)); ok {
			dst = append(append(append(append(dst, ' '), name...), ':'), xtables.Bang(invert)...)
			dst = strconv.AppendUint(dst, uint64(number), 10)
		}
	}
	for i, s := range m.segments() {
		if s.Addr.IsValid() {
			dst = append(append(append(dst, ' '), srhSegmentNames[i]...), ' ')
			dst = s.AppendSave(append(append(dst, xtables.Bang(s.Invert)...), ' '))
		}
	}
	return dst
}

var srhExtension = &xtables.Extension{
	Name:     "srh",
	OnlyIn:   netfilter.IPv6,
	Options:  srhOptions(),
	NewMatch: xtables.MatchOf(xtables.ValueParser[SRH]{Read: (*SRH).read}),
}

func srhOptions() []xtables.Option {
	var options []xtables.Option
	for _, name := range slices.Concat(srhFieldNames[:], srhSegmentNames[:]) {
		options = append(options, xtables.Option{Name: "srh-" + name, Invert: true})
	}
	return options
}

func (m *SRH) read(o *xtables.OptionCall) (err error) {
	name := o.Name[len("srh-"):]
	if i := slices.Index(srhSegmentNames[:], name); i >= 0 {
		*m.segments()[i], err = o.ResolvedHostMask()
		return err
	}
	field := srhField(slices.Index(srhFieldNames[:], name))
	limit := uint64(math.MaxUint8)
	if field == srhTag {
		limit = math.MaxUint16
	}
	n, err := o.Number(0, limit)
	m.asked |= 1 << field
	if o.Invert {
		m.inverted |= 1 << field
	}
	m.numbers[field.first()] = uint16(n)
	return err
}
