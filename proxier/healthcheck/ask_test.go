package healthcheck_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/freeport"
)

// answered is an answer over HTTP. The zero value is a connection that was
// refused.
type answered struct {
	status int
	header http.Header
	body   string
}

// ask asks on a connection of its own.
func ask(t *testing.T, url string) answered {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get(url)
	if err != nil {
		// A machine without IPv6 does not have the address.
		require.True(t, errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.EADDRNOTAVAIL), err)
		return answered{}
	}
	defer func() { require.NoError(t, response.Body.Close()) }()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return answered{status: response.StatusCode, header: response.Header, body: string(body)}
}

// freePort returns a port that nobody listens at on any address.
func freePort(t *testing.T) uint16 {
	t.Helper()
	return uint16(freeport.New(t))
}

// occupy listens at a place until the test ends or the function is called.
func occupy(t *testing.T, place string) (leave func()) {
	t.Helper()
	listener, err := net.Listen("tcp", place)
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	return func() { require.NoError(t, listener.Close()) }
}
