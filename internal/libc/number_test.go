package libc

import (
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
)

// What glibc makes of these, asked of it.

func TestCutNumberIsStrtoulWithBaseZero(t *testing.T) {
	for text, want := range map[string]struct {
		n    uint64
		rest string
		ok   bool
	}{
		"010":                  {8, "", true},
		"0x1f":                 {31, "", true},
		"0X1F rest":            {31, " rest", true},
		"0x":                   {0, "x", true},
		"0xg":                  {0, "xg", true},
		"08":                   {0, "8", true},
		" +7z":                 {7, "z", true},
		"18446744073709551615": {math.MaxUint64, "", true},
		"18446744073709551616": {math.MaxUint64, "", false},
		"":                     {0, "", false},
	} {
		n, rest, ok := CutNumber([]byte(text))
		assert.Equal(t, want.n, n, "%q", text)
		assert.Equal(t, want.rest, string(rest), "%q", text)
		assert.Equal(t, want.ok, ok, "%q", text)
	}
}

func TestAtoiAndAtoll(t *testing.T) {
	for text, want := range map[string]int64{
		"12x": 12, "-3": -3, "+4": 4, "+-4": 0, "x": 0, "": 0, "-": 0, "010": 10,
		" \t5":       5, //nolint:gocritic // strtoll skips blanks
		"4294967297": 4294967297, "99999999999999999999": math.MaxInt64, "-99999999999999999999": math.MinInt64,
	} {
		assert.Equal(t, want, Atoll([]byte(text)), "%q", text)
		assert.Equal(t, int32(want), Atoi([]byte(text)), "%q", text)
	}
}

func TestScans(t *testing.T) {
	for text, want := range map[string]uint64{"010": 10, "-1": math.MaxUint64, "+3x": 3, "99999999999999999999": math.MaxUint64} {
		n, ok := ScanUnsigned([]byte(text))
		assert.True(t, ok, "%q", text)
		assert.Equal(t, want, n, "%q", text)
	}
	for text, want := range map[string]int{
		"0x10": 16, "010": 8, "-5": 0, strconv.Itoa(math.MaxInt32 + 1): 0,
		" 7x": 7, //nolint:gocritic // strtol skips blanks
	} {
		n, ok := ScanInteger(text)
		assert.True(t, ok, "%q", text)
		assert.Equal(t, want, n, "%q", text)
	}
	_, ok := ScanUnsigned([]byte("x"))
	assert.False(t, ok)
	_, ok = ScanInteger("x")
	assert.False(t, ok)
}
