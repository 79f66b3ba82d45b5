package netns

import (
	"errors"
	"fmt"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/chainwalk/chainwalk/internal/namespace"
	"github.com/chainwalk/chainwalk/internal/nfnetlink"
)

// linked is a namespace with the sockets that ask for its devices, addresses and routes, and set them.
type linked struct {
	*namespace.Namespace
	link *netlink.Handle
}

func newLinked() (*linked, error) {
	ns, err := namespace.New()
	if err != nil {
		return nil, err
	}
	link, err := netlink.NewHandleAt(netns.NsHandle(ns.FD()), unix.NETLINK_ROUTE, unix.NETLINK_NETFILTER)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open netlink in a new namespace: %w", err), ns.Close())
	}
	return &linked{ns, link}, nil
}

func (l *linked) close() error {
	l.link.Close()
	return l.Close()
}

// netfilter opens a socket that speaks with the namespace's netfilter.
func (l *linked) netfilter() (socket *nfnetlink.Socket, err error) {
	err = l.Do(func() (err error) {
		socket, err = nfnetlink.Open()
		return err
	})
	return socket, err
}

// setSysctls sets kernel settings, in turn.
func (l *linked) setSysctls(settings [][2]string) error {
	for _, s := range settings {
		if err := l.SetSysctl(s[0], s[1]); err != nil {
			return err
		}
	}
	return nil
}
