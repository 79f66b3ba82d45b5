package server

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/freeport"
)

// BindInterval and EventInterval are for the tests of Run.
const (
	BindInterval  = bindInterval
	EventInterval = eventInterval
)

func TestServerAnswersWhatHasBegun(t *testing.T) {
	begun, release := make(chan struct{}), make(chan struct{})
	slow := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(begun)
		<-release
		_, _ = io.WriteString(w, "late")
	})
	address := fmt.Sprintf("127.0.0.1:%d", freeport.New(t))
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- listenAndServe(ctx, address, slow) }()
	require.Eventually(t, func() bool { return accepts(address) }, 10*time.Second, time.Millisecond)
	answer := make(chan string, 1)
	go func() {
		response, err := http.Get("http://" + address)
		if !assert.NoError(t, err) {
			answer <- ""
			return
		}
		body, err := io.ReadAll(response.Body)
		assert.NoError(t, err)
		assert.NoError(t, response.Body.Close())
		answer <- string(body)
	}()

	<-begun
	stop()
	require.Eventually(t, func() bool { return !accepts(address) }, 10*time.Second, time.Millisecond)
	close(release)
	assert.Equal(t, "late", <-answer)
	require.NoError(t, <-served)
}

func TestServerSaysWhyItCannotListen(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, listener.Close()) }()
	address := listener.Addr().String()
	require.EqualError(t, listenAndServe(t.Context(), address, nil), "listen tcp "+address+": bind: address already in use")
}

func accepts(address string) bool {
	connection, err := net.Dial("tcp", address)
	return err == nil && connection.Close() == nil
}
