package nfacct

import (
	"errors"
	"fmt"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Kernel is the objects of the network namespace that its methods are called in. They need CAP_NET_ADMIN, and may be called by
// several goroutines.
type Kernel struct{}

// New returns the kernel's objects. It is ErrNotSupported if the kernel has none.
func New() (Kernel, error) {
	var k Kernel
	// Whether there is such an object does not matter, but whether the kernel knows the question.
	if _, err := k.Get("chainwalk"); err != nil && !errors.Is(err, errNotFound) {
		return k, err
	}
	return k, nil
}

// Messages, from linux/netfilter/nfnetlink_acct.h.
const (
	messageNew = unix.NFNL_SUBSYS_ACCT << 8
	messageGet = messageNew + 1
)

// Ensure makes the object if it is not there.
func (k Kernel) Ensure(name string) error {
	if err := k.add(name); err != nil && !errors.Is(err, errExists) {
		return err
	}
	return nil
}

// add makes an object with counters at zero. It is errExists if there is one of that name, whose counters stay.
func (Kernel) add(name string) error {
	if err := checkName(name); err != nil {
		return fmt.Errorf("making nfacct object %q: %w", name, err)
	}
	request := newRequest(messageNew, unix.NLM_F_CREATE|unix.NLM_F_ACK)
	request.AddData(nl.NewRtAttr(attrName, nl.ZeroTerminated(name)))
	_, err := request.Execute(unix.NETLINK_NETFILTER, 0)
	if err != nil {
		return fmt.Errorf("making nfacct object %q: %w", name, meaning(err))
	}
	return nil
}

// Get reads an object, and leaves its counters as they are. It is ErrNotFound if there is none.
func (Kernel) Get(name string) (Counter, error) {
	if err := checkName(name); err != nil {
		return Counter{}, fmt.Errorf("reading nfacct object %q: %w", name, err)
	}
	request := newRequest(messageGet, unix.NLM_F_ACK)
	request.AddData(nl.NewRtAttr(attrName, nl.ZeroTerminated(name)))
	counters, err := read(request)
	if err == nil && len(counters) != 1 {
		err = errMessage
	}
	if err != nil {
		return Counter{}, fmt.Errorf("reading nfacct object %q: %w", name, err)
	}
	return counters[0], nil
}

// list reads all objects, in the order that the kernel has them.
func (Kernel) list() ([]Counter, error) {
	counters, err := read(newRequest(messageGet, unix.NLM_F_DUMP))
	if err != nil {
		return nil, fmt.Errorf("listing nfacct objects: %w", err)
	}
	return counters, nil
}

func checkName(name string) error {
	switch {
	case name == "":
		return errEmptyName
	case len(name) > maxName:
		return errNameTooLong
	}
	return nil
}

func newRequest(message, flags int) *nl.NetlinkRequest {
	request := nl.NewNetlinkRequest(message, flags)
	request.AddData(&nl.Nfgenmsg{NfgenFamily: unix.AF_UNSPEC, Version: nl.NFNETLINK_V0})
	return request
}

// attempts is how often a list is asked for that the kernel says has changed meanwhile, or that a signal interrupts.
const attempts = 5

// read sends a request and reads the counters that come back. Counters of a list that never held still are each right.
func read(request *nl.NetlinkRequest) (counters []Counter, err error) {
	var messages [][]byte
	for range attempts {
		messages, err = request.Execute(unix.NETLINK_NETFILTER, 0)
		if !errors.Is(err, nl.ErrDumpInterrupted) && !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil && !errors.Is(err, nl.ErrDumpInterrupted) {
		return nil, meaning(err)
	}
	for _, message := range messages {
		counter, err := parseCounter(message)
		if err != nil {
			return nil, err
		}
		counters = append(counters, counter)
	}
	return counters, nil
}

// meaning says what an answer of the kernel means.
func meaning(err error) error {
	switch {
	case errors.Is(err, unix.ENOENT):
		return errNotFound
	case errors.Is(err, unix.EBUSY), errors.Is(err, unix.EEXIST):
		return errExists
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.EPROTONOSUPPORT):
		return fmt.Errorf("%w: %w", errNotSupported, err)
	case errors.Is(err, unix.EPERM):
		return fmt.Errorf("%w: run as root, or with CAP_NET_ADMIN", err)
	}
	return err
}
