package namespace

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// Namespace is a network namespace. The kernel removes it with all its devices when it is closed and no socket of it is left.
type Namespace struct {
	handle netns.NsHandle
	lock   *os.File
}

// New makes a namespace with nothing in it but a loopback device that is down.
func New() (*Namespace, error) {
	n := &Namespace{}
	if err := n.make(); err != nil {
		return nil, fmt.Errorf("make a network namespace: %w", err)
	}
	fd, err := unix.MemfdCreate("xtables.lock", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make a lock for the iptables tools: %w", err), n.handle.Close())
	}
	n.lock = os.NewFile(uintptr(fd), "xtables.lock")
	return n, nil
}

func (n *Namespace) make() (err error) {
	goHome, err := keepThread()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, goHome()) }()
	n.handle, err = netns.New()
	return err
}

// Close gives the namespace up.
func (n *Namespace) Close() error { return errors.Join(n.lock.Close(), n.handle.Close()) }

// FD is the descriptor that holds the namespace, for netlink messages that name one.
func (n *Namespace) FD() int { return int(n.handle) }

// Path is where other processes find the namespace, such as "ip link add ... netns PATH".
func (n *Namespace) Path() string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), n.FD()) }

// LockFile is where the legacy iptables tools of the namespace find their lock: a file without a name that this process has open.
func (n *Namespace) LockFile() string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), n.lock.Fd()) }

// keepThread keeps the goroutine on its thread, whose namespace it may change then, until goHome brings that back.
func keepThread() (goHome func() error, err error) {
	runtime.LockOSThread()
	home, err := netns.Get()
	if err != nil {
		runtime.UnlockOSThread()
		return nil, err
	}
	return func() error {
		defer func() { _ = home.Close() }()
		if err := netns.Set(home); err != nil {
			return fmt.Errorf("leave a network namespace: %w", err) // still locked: the thread ends with its goroutine
		}
		runtime.UnlockOSThread()
		return nil
	}, nil
}

// Enter brings the goroutine into the namespace and keeps it on its thread until leave is called.
func (n *Namespace) Enter() (leave func() error, err error) {
	goHome, err := keepThread()
	if err != nil {
		return nil, err
	}
	if err := netns.Set(n.handle); err != nil {
		return nil, errors.Join(err, goHome())
	}
	return goHome, nil
}

// Do runs f in the namespace. Sockets that it opens and programs that it starts stay there.
func (n *Namespace) Do(f func() error) (err error) {
	leave, err := n.Enter()
	if err != nil {
		return err
	}
	defer func() {
		if away := leave(); away != nil {
			err = errors.Join(err, away)
		}
	}()
	return f()
}

// Socket opens a socket in the namespace, which programs do not inherit.
func (n *Namespace) Socket(domain, typ, protocol int) (fd int, err error) {
	err = n.Do(func() (err error) {
		fd, err = unix.Socket(domain, typ|unix.SOCK_CLOEXEC, protocol)
		return err
	})
	return fd, err
}

// SetSysctl sets a kernel setting, by its name with dots or slashes. One that this kernel does not have is os.ErrNotExist.
func (n *Namespace) SetSysctl(name, value string) error {
	return n.Do(func() error {
		if err := os.WriteFile(sysctlFile(name), []byte(value), 0o644); err != nil {
			return fmt.Errorf("set the sysctl %s to %s: %w", name, value, err)
		}
		return nil
	})
}

// Sysctl is the value of a kernel setting, by its name with dots or slashes.
func (n *Namespace) Sysctl(name string) (value string, err error) {
	err = n.Do(func() error {
		text, err := os.ReadFile(sysctlFile(name))
		value = strings.TrimSpace(string(text))
		return err
	})
	return value, err
}

// sysctlFile is where a setting is. A thread sees those of its own namespace.
func sysctlFile(name string) string { return "/proc/sys/" + strings.ReplaceAll(name, ".", "/") }
