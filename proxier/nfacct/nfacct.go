package nfacct

import (
	"errors"
	"fmt"

	"github.com/chainwalk/chainwalk/internal/nlattr"
)

// Counter is a named object and what it has counted since it was made.
type Counter struct {
	name           string
	Packets, bytes uint64
}

// maxName is how many bytes a name may have: NFACCT_NAME_MAX of the kernel without the zero at the end.
const maxName = 31

// Errors of Kernel, for errors.Is.
var (
	errNotFound     = errors.New("no such object")
	errExists       = errors.New("the object exists already")
	errEmptyName    = errors.New("the name of the object is empty")
	errNameTooLong  = fmt.Errorf("the name of the object has more than %d bytes", maxName)
	errNotSupported = errors.New("the kernel has no nfacct objects: load the module nfnetlink_acct")
)

// Attributes of messages, from linux/netfilter/nfnetlink_acct.h.
const (
	attrName    = 1
	attrPackets = 2
	attrBytes   = 3

	// nfgenHeader is the size of struct nfgenmsg, which begins each message.
	nfgenHeader = 4
)

// errMessage says that the kernel sent what this package does not know.
var errMessage = errors.New("unknown nfacct message of the kernel")

// parseCounter reads a message without its netlink header.
func parseCounter(message []byte) (c Counter, err error) {
	if len(message) < nfgenHeader {
		return c, errMessage
	}
	for a, err := range nlattr.All(message[nfgenHeader:]) {
		if err == nil {
			err = c.set(a)
		}
		if err != nil {
			return Counter{}, errMessage
		}
	}
	if c.name == "" {
		return Counter{}, errMessage
	}
	return c, nil
}

// set takes an attribute. Those that a Counter has no place for are left out.
func (c *Counter) set(a nlattr.Attribute) (err error) {
	switch a.Type {
	case attrName:
		c.name, err = cString(a.Value)
	case attrPackets:
		c.Packets, err = a.Uint64()
	case attrBytes:
		c.bytes, err = a.Uint64()
	}
	return err
}

// cString is the text before the zero at the end.
func cString(value []byte) (string, error) {
	if len(value) == 0 || value[len(value)-1] != 0 {
		return "", errMessage
	}
	return string(value[:len(value)-1]), nil
}
