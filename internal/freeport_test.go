package internal_test

import (
	"fmt"
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/freeport"
)

func TestPortsAreFreeAndNobodyElses(t *testing.T) {
	seen := map[int]bool{}
	for range 20 {
		port := freeport.New(t)
		assert.False(t, seen[port], port)
		seen[port] = true
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		require.NoError(t, err)
		require.NoError(t, listener.Close())
	}
}
