package probe

import (
	"errors"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/chainwalk/chainwalk/kindtest/internal/socket"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// withReset is Result.With of a TCP reset, and withAbort of an SCTP ABORT.
const (
	withReset = "tcp-reset"
	withAbort = "sctp-abort"
)

// troubleOf is what an entry of an error queue makes of a question.
func troubleOf(t socket.Trouble, six bool) Result {
	if !t.ICMP {
		return Result{End: Failed, Why: t.Errno.Error()}
	}
	said := inet.Packet{Proto: inet.ICMP, ICMPType: t.Type, ICMPCode: t.Code}
	if six {
		said.Proto = inet.ICMPv6
	}
	return Result{End: Refused, With: packetsim.ErrorName(&said), Offender: t.Offender}
}

// errorOf is what an error of a system call makes of a question, where the error queue is empty.
func errorOf(err error) Result {
	switch {
	case errors.Is(err, unix.ECONNREFUSED), errors.Is(err, unix.ECONNRESET):
		return Result{End: Refused, With: withReset}
	case errors.Is(err, unix.ETIMEDOUT):
		return Result{End: Silent, Why: err.Error()}
	}
	return Result{End: Failed, Why: err.Error()}
}

// bindTo is what a socket for a dial is bound to.
func bindTo(from, to netip.AddrPort) netip.AddrPort {
	if from.Addr().IsValid() {
		return from
	}
	return netip.AddrPortFrom(socket.Unspecified(to.Addr().Is6()), from.Port())
}
