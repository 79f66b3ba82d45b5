package nfacct

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Counter is a named object and what it has counted since it was made.
type Counter struct {
	Name           string
	Packets, Bytes uint64
}

// MaxName is how many bytes a name may have: NFACCT_NAME_MAX of the kernel without the zero at the end.
const MaxName = 31

// Errors of Kernel, for errors.Is.
var (
	ErrNotFound     = errors.New("no such object")
	ErrExists       = errors.New("the object exists already")
	ErrEmptyName    = errors.New("the name of the object is empty")
	ErrNameTooLong  = fmt.Errorf("the name of the object has more than %d bytes", MaxName)
	ErrNotSupported = errors.New("the kernel has no nfacct objects: load the module nfnetlink_acct")
)

// Attributes of messages, from linux/netfilter/nfnetlink_acct.h.
const (
	attrName    = 1
	attrPackets = 2
	attrBytes   = 3

	// nfgenHeader is the size of struct nfgenmsg, which begins each message.
	nfgenHeader = 4
	attrHeader  = 4
)

// errMessage says that the kernel sent what this package does not know.
var errMessage = errors.New("unknown nfacct message of the kernel")

// parseCounter reads a message without its netlink header.
func parseCounter(message []byte) (c Counter, err error) {
	if len(message) < nfgenHeader {
		return c, errMessage
	}
	for rest := message[nfgenHeader:]; len(rest) > 0; {
		if len(rest) < attrHeader {
			return Counter{}, errMessage
		}
		length, typ := int(binary.NativeEndian.Uint16(rest)), binary.NativeEndian.Uint16(rest[2:])
		if length < attrHeader || length > len(rest) || !c.set(typ, rest[attrHeader:length]) {
			return Counter{}, errMessage
		}
		rest = rest[min((length+3)&^3, len(rest)):]
	}
	if c.Name == "" {
		return Counter{}, errMessage
	}
	return c, nil
}

// set takes an attribute. Those that a Counter has no place for are left out.
func (c *Counter) set(typ uint16, value []byte) (ok bool) {
	switch typ {
	case attrName:
		c.Name, ok = cString(value)
	case attrPackets:
		c.Packets, ok = number(value)
	case attrBytes:
		c.Bytes, ok = number(value)
	default:
		ok = true
	}
	return ok
}

// cString is the text before the zero at the end.
func cString(value []byte) (text string, ok bool) {
	if len(value) == 0 || value[len(value)-1] != 0 {
		return "", false
	}
	return string(value[:len(value)-1]), true
}

func number(value []byte) (n uint64, ok bool) {
	if len(value) != 8 {
		return 0, false
	}
	return binary.BigEndian.Uint64(value), true
}
