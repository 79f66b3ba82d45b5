package netns

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// namespace is a network namespace without a name: the kernel removes it with all
// its devices when the last reference is closed, by close or by the process's end.
type namespace struct {
	ns   netns.NsHandle
	link *netlink.Handle
}

func newNamespace() (*namespace, error) {
	n := &namespace{}
	err := onOwnThread(func() (err error) {
		n.ns, err = netns.New()
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("make a network namespace: %w", err)
	}
	if n.link, err = netlink.NewHandleAt(n.ns, unix.NETLINK_ROUTE, unix.NETLINK_NETFILTER); err != nil {
		return nil, errors.Join(fmt.Errorf("open netlink in a new namespace: %w", err), n.ns.Close())
	}
	return n, nil
}

func (n *namespace) close() error {
	n.link.Close()
	return n.ns.Close()
}

// onOwnThread runs a function that changes the thread's namespace, and changes it
// back. A thread that cannot go back is given up.
func onOwnThread(f func() error) error {
	runtime.LockOSThread()
	home, err := netns.Get()
	if err != nil {
		runtime.UnlockOSThread()
		return err
	}
	defer func() { _ = home.Close() }()
	err = f()
	if back := netns.Set(home); back != nil {
		return errors.Join(err, back) // still locked: the thread ends with its goroutine
	}
	runtime.UnlockOSThread()
	return err
}

// do runs a function in the namespace. Sockets that it opens and programs that it
// starts stay there.
func (n *namespace) do(f func() error) error {
	return onOwnThread(func() error {
		if err := netns.Set(n.ns); err != nil {
			return err
		}
		return f()
	})
}

// setSysctls sets kernel settings by dotted name.
func (n *namespace) setSysctls(settings [][2]string) error {
	return n.do(func() error {
		for _, s := range settings {
			if err := os.WriteFile(sysctlFile(s[0]), []byte(s[1]), 0o644); err != nil {
				return fmt.Errorf("set the sysctl %s to %s: %w", s[0], s[1], err)
			}
		}
		return nil
	})
}

func (n *namespace) sysctl(name string) (value string, err error) {
	err = n.do(func() error {
		text, err := os.ReadFile(sysctlFile(name))
		value = strings.TrimSpace(string(text))
		return err
	})
	return value, err
}

// sysctlFile is where a setting is, by its name with dots or slashes.
func sysctlFile(name string) string {
	return "/proc/sys/" + strings.ReplaceAll(name, ".", "/")
}
