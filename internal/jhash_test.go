package internal_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/chainwalk/chainwalk/internal/jhash"
)

// TestJhashOfWords: the hashes of which Linux 6.18 has made nodes of -m cluster. Other tests hold whole walks and the order of sets against
// the kernel.
func TestJhashOfWords(t *testing.T) {
	node := func(hash uint32) uint64 { return uint64(hash) * 7 >> 32 }
	assert.Equal(t, uint64(0), node(jhash.Words([]uint32{0x0100007f}, 0xdeadbeef)))
	assert.Equal(t, uint64(4), node(jhash.Words([]uint32{0x02014d0a}, 0xdeadbeef)))
	assert.Equal(t, uint32(0xdeadbef2), jhash.Words(nil, 3), "without words it is the constant and the seed")
}
