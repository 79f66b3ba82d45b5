package iptables

import (
	"errors"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// lockFile locks the file, which is made if it is not there, and left there, as the tools do.
func lockFile(name string) (release func(), err error) {
	file, err := os.OpenFile(name, os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		return func() { _ = file.Close() }, nil
	}
	_ = file.Close()
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, errLocked
	}
	return nil, err
}

// bindSocket binds the abstract socket; its name begins with "@".
func bindSocket(name string) (release func(), err error) {
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: name, Net: "unix"})
	if err == nil {
		return func() { _ = listener.Close() }, nil
	}
	if errors.Is(err, unix.EADDRINUSE) {
		return nil, errLocked
	}
	return nil, err
}
