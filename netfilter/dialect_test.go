package netfilter

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDialectIsReadByItsName(t *testing.T) {
	for name, want := range map[string]Dialect{"legacy": Legacy, "nft": NFT} {
		got, err := ParseDialect(name)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	for _, name := range []string{"", "NFT", "nftables"} {
		_, err := ParseDialect(name)
		assert.ErrorContains(t, err, "want legacy or nft", name)
	}
	assert.Equal(t, []Dialect{NFT, Legacy}, []Dialect{Legacy.Other(), NFT.Other()})
}
