package nfacct

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// recorded is an object of a real kernel: the message without its netlink header.
func recorded() []byte {
	return []byte{
		0x00, 0x00, 0x00, 0x00,
		0x0a, 0x00, 0x01, 0x00, 'd', 'r', 'o', 'p', 's', 0, 0, 0,
		0x0c, 0x00, 0x02, 0x00, 0, 0, 0, 0, 0, 0, 0x01, 0x02,
		0x0c, 0x00, 0x03, 0x00, 0, 0, 0, 1, 0, 0, 0, 0,
		0x08, 0x00, 0x04, 0x00, 0, 0, 0, 1, // NFACCT_USE
	}
}

func TestParseCounter(t *testing.T) {
	c, err := parseCounter(recorded())
	require.NoError(t, err)
	assert.Equal(t, Counter{name: "drops", Packets: 0x102, bytes: 1 << 32}, c)
}

func TestParseCounterRefuses(t *testing.T) {
	for name, message := range map[string][]byte{
		"nothing":                 {},
		"no name":                 append(recorded()[:4], recorded()[16:]...),
		"a name without its end":  {0, 0, 0, 0, 9, 0, 1, 0, 'd', 'r', 'o', 'p', 's'},
		"an empty name":           {0, 0, 0, 0, 5, 0, 1, 0, 0},
		"a number of four bytes":  append(recorded(), 8, 0, 2, 0, 0, 0, 0, 1),
		"a length of zero":        append(recorded(), 0, 0, 2, 0),
		"an attribute cut short":  recorded()[:30],
		"an attribute of nothing": append(recorded(), 0, 0),
	} {
		_, err := parseCounter(message)
		assert.ErrorIs(t, err, errMessage, name)
	}
}

// FuzzParseCounter: bad messages are refused; what is read has a name that can be asked for.
func FuzzParseCounter(f *testing.F) {
	f.Add(recorded())
	f.Add(recorded()[:20])
	f.Fuzz(func(t *testing.T, message []byte) {
		if c, err := parseCounter(message); err == nil {
			require.NotEmpty(t, c.name)
		}
	})
}
