package fakeipt

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDialectIsReadAsItIsWritten(t *testing.T) {
	for want, name := range map[Dialect]string{Legacy: "legacy", NFT: "nft"} {
		text, err := want.MarshalText()
		require.NoError(t, err)
		assert.Equal(t, name, string(text))
		var got Dialect
		require.NoError(t, got.UnmarshalText(text))
		assert.Equal(t, want, got)
	}
	var d Dialect
	assert.EqualError(t, d.UnmarshalText([]byte("NFT")), `unknown dialect "NFT": want legacy or nft`)
}
