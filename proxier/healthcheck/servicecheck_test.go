package healthcheck

import (
	"net"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/chainwalk/chainwalk/internal/freeport"
)

type alwaysWell struct{}

func (alwaysWell) Healthy() bool { return true }

func newCheckAtFreePlace(t *testing.T) (*serviceCheck, netip.AddrPort) {
	t.Helper()
	check := newServiceCheck(types.NamespacedName{Namespace: "shop", Name: "web"}, alwaysWell{})
	t.Cleanup(func() { check.closeElsewhere(0, nil) })
	return check, netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), uint16(freeport.New(t)))
}

// shut ends a listening behind the check's back.
func shut(t *testing.T, l *listening) {
	t.Helper()
	require.NoError(t, l.server.Close())
	<-l.done
}

func TestListenerThatBrokeIsOpenedAgain(t *testing.T) {
	check, place := newCheckAtFreePlace(t)
	_, err := check.open("tcp4", place)
	require.NoError(t, err)
	broken := check.listening[place]
	shut(t, broken)
	assert.False(t, check.listensAt(1))

	_, err = check.open("tcp4", place)
	require.NoError(t, err)
	assert.NotSame(t, broken, check.listening[place])
	assert.True(t, check.listensAt(1))
	connection, err := net.Dial("tcp", place.String())
	require.NoError(t, err)
	require.NoError(t, connection.Close())
}

func TestFailureIsNewsAfterASuccess(t *testing.T) {
	check, place := newCheckAtFreePlace(t)
	fails := func() (isNews bool) {
		other, err := net.Listen("tcp", place.String())
		require.NoError(t, err)
		defer func() { require.NoError(t, other.Close()) }()
		isNews, err = check.open("tcp4", place)
		require.Error(t, err)
		return isNews
	}
	assert.True(t, fails())
	assert.False(t, fails())
	_, err := check.open("tcp4", place)
	require.NoError(t, err)
	shut(t, check.listening[place])
	assert.True(t, fails())
}

func TestPortIsFreeWhenCloseReturns(t *testing.T) {
	check, place := newCheckAtFreePlace(t)
	for range 100 {
		_, err := check.open("tcp4", place)
		require.NoError(t, err)
		check.closeElsewhere(0, nil)
	}
}
