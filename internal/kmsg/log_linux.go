package kmsg

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// recordSize is more than a record can have (CONSOLE_EXT_LOG_MAX of kernel/printk/internal.h): the kernel gives each whole or not at all.
const recordSize = 8192

// Log is the kernel's log behind what it held when it was opened.
type Log struct {
	fd  int
	buf []byte
}

// Open opens the log, which root may.
func Open() (*Log, error) {
	fd, err := unix.Open("/dev/kmsg", unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("kernel log: %w", err)
	}
	if _, err := unix.Seek(fd, 0, unix.SEEK_END); err != nil {
		return nil, errors.Join(fmt.Errorf("kernel log: %w", err), unix.Close(fd))
	}
	return &Log{fd: fd, buf: make([]byte, recordSize)}, nil
}

// Close closes the log.
func (l *Log) Close() error { return unix.Close(l.fd) }

// Next is the next record that is there; false if there is none now. Records that the kernel has overwritten are passed over.
func (l *Log) Next() (record string, there bool, err error) {
	for {
		n, err := unix.Read(l.fd, l.buf)
		switch {
		case err == nil:
			return string(l.buf[:n]), true, nil
		case errors.Is(err, unix.EAGAIN):
			return "", false, nil
		case !errors.Is(err, unix.EPIPE) && !errors.Is(err, unix.EINTR):
			return "", false, fmt.Errorf("kernel log: %w", err)
		}
	}
}

// Wait waits until a record is there, but no longer than given. It is false if none came.
func (l *Log) Wait(longest time.Duration) (bool, error) {
	fds := []unix.PollFd{{Fd: int32(l.fd), Events: unix.POLLIN}}
	n, err := unix.Poll(fds, int(max(longest, 0)/time.Millisecond))
	if errors.Is(err, unix.EINTR) {
		return true, nil // one may be
	}
	return n > 0, err
}
