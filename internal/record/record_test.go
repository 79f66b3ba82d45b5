package record

import (
	"net/netip"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

type speaker interface{ speak() string }

type dog struct {
	Name   string
	secret uint16
	Past   [2]int32
}

func (d *dog) speak() string { return d.Name }

type stone struct{}

func (*stone) speak() string { return "" }

type whole struct {
	Yes             bool
	Small           int8
	Count           int
	Wide            uint64
	Text            string
	Address         netip.Addr
	When            time.Time
	To              *dog
	List            []dog
	Numbers         []uint32
	Speaker, Second speaker
	Speakers        []speaker
	count           atomic.Uint64
}

type other struct{ Name string }

var types = NewTypes([]Interface{InterfaceOf[speaker]()}, &whole{}, &dog{}, &stone{}, &other{})

// written is the value as it is read again.
func written(t require.TestingT, v *whole) *whole {
	w := types.Writer(nil, 0)
	w.Write(v)
	r, err := types.Reader(w.Record())
	require.NoError(t, err)
	var got whole
	require.NoError(t, r.Read(&got))
	require.True(t, r.end())
	return &got
}

func TestValuesAreReadAsTheyWere(t *testing.T) {
	shared := &dog{"one", 2, [2]int32{-1, 1 << 30}}
	v := &whole{
		Yes: true, Small: -128, Count: -5, Wide: 1<<64 - 1, Text: "a\x00\n\xff", Address: netip.MustParseAddr("fe80::1%eth 0"),
		When: time.Unix(-3, 5).UTC(), To: shared, List: []dog{{}, {Name: "x"}}, Numbers: []uint32{}, Speaker: shared, Second: &stone{},
		Speakers: []speaker{nil, shared, &stone{}, &dog{}},
	}
	v.count.Store(7)
	got := written(t, v)
	assert.Equal(t, v, got)
	assert.NotNil(t, got.Numbers, "empty and not nil")
}

func TestWhatIsPointedToTwiceIsWrittenOnce(t *testing.T) {
	shared := &dog{Name: strings.Repeat("x", 100)}
	v := &whole{}
	for range 10 {
		v.Speakers = append(v.Speakers, shared)
	}
	w := types.Writer(nil, 0)
	w.Write(v)
	assert.Less(t, w.Len(), 200)
	got := written(t, v)
	assert.Equal(t, v, got)
	assert.Same(t, got.Speakers[1], got.Speakers[9])
}

// TestPlacesCanBeReadAlone reads the second of two values, which has in common with the first what stands there.
func TestPlacesCanBeReadAlone(t *testing.T) {
	shared := &dog{Name: "both"}
	w := types.Writer(nil, 0)
	w.Write(&whole{Speaker: shared})
	at := w.Len()
	w.Write(&whole{Text: "second", Speaker: shared, Second: shared})
	r, err := types.Reader(w.Record())
	require.NoError(t, err)
	r.Seek(at)
	var got whole
	require.NoError(t, r.Read(&got))
	assert.Equal(t, &whole{Text: "second", Speaker: shared, Second: shared}, &got)
	assert.True(t, r.end())
	r.Seek(w.Len() + 1)
	assert.Error(t, r.Read(&got))
}

func TestAddresses(t *testing.T) {
	for _, text := range []string{"1.2.3.4", "::", "::ffff:1.2.3.4", "::1%x", "0.0.0.0"} {
		a := netip.MustParseAddr(text)
		assert.Equal(t, a, written(t, &whole{Address: a}).Address)
	}
}

func TestOtherTypesAreRefused(t *testing.T) {
	for about, values := range map[string][]any{
		"none of the name":        {&dog{}},
		"another field":           {&dog{}, &struct{ Name, More string }{}},
		"another kind of a field": {&dog{}, &struct{ Name uint8 }{}},
	} {
		theirs := NewTypes(nil, values...)
		for _, l := range theirs.layouts {
			if l.typ.Name() == "" {
				theirs.byName["record.other"] = l
			}
		}
		w := types.Writer(nil, 0)
		w.Write(&other{})
		_, err := theirs.Reader(w.Record())
		assert.ErrorIs(t, err, ErrOther, about)
	}
}

func TestWhatCannotBeWritten(t *testing.T) {
	for _, v := range []any{&struct{ M map[string]int }{}, &struct{ F func() }{}, &struct{ S speaker }{}, &struct{ N float64 }{}} {
		assert.Panics(t, func() { NewTypes(nil, v) }, "%T", v)
	}
	assert.Panics(t, func() { types.Writer(nil, 0).Write(&struct{}{}) })
	assert.False(t, types.has(dog{}))
	assert.True(t, types.has(&dog{}))
}

// TestNumbersOfEverySize holds that values at the edges of their types come back, whatever stands beside them.
func TestNumbersOfEverySize(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := &whole{
			Small: rapid.Int8().Draw(t, "small"), Wide: rapid.Uint64().Draw(t, "wide"), Text: rapid.String().Draw(t, "text"),
			Numbers: rapid.SliceOf(rapid.Uint32()).Draw(t, "numbers"),
			When:    time.Unix(0, rapid.Int64().Draw(t, "when")).UTC(),
		}
		got := written(t, v)
		require.True(t, reflect.DeepEqual(v, got), "%v %v", v, got)
	})
}

// FuzzReader: damage is an error and no more than that.
func FuzzReader(f *testing.F) {
	w := types.Writer(nil, 0)
	w.Write(&whole{Text: "x", List: []dog{{}}, Speaker: &dog{}, Speakers: []speaker{&stone{}, nil, &dog{Name: "x"}}})
	f.Add(w.Record(), uint16(3), byte(1))
	f.Fuzz(func(t *testing.T, record []byte, at uint16, change byte) {
		for _, text := range [][]byte{record, changed(w.Record(), at, change)} {
			if r, err := types.Reader(text); err == nil {
				_ = r.Read(&whole{})
			}
		}
	})
}

// changed is a record with another byte at a place.
func changed(record []byte, at uint16, change byte) []byte {
	record[int(at)%len(record)] ^= change
	return record
}
