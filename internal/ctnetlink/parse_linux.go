package ctnetlink

import (
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink/nl"

	"github.com/chainwalk/chainwalk/internal/nlattr"
)

// Parse reads an entry as the kernel lists it: a message without its netlink header. Errors are nlattr.ErrMessage.
func Parse(message []byte) (Entry, error) {
	if len(message) < nl.SizeofNfgenmsg {
		return Entry{}, fmt.Errorf("%w: %d bytes", nlattr.ErrMessage, len(message))
	}
	var e Entry
	for a, err := range nlattr.All(message[nl.SizeofNfgenmsg:]) {
		if err == nil {
			err = e.set(a)
		}
		if err != nil {
			return Entry{}, err
		}
	}
	if !e.Original.Src.IsValid() {
		return Entry{}, fmt.Errorf("original tuple: %w", errTuple)
	}
	if !e.Reply.Src.IsValid() {
		return Entry{}, fmt.Errorf("reply tuple: %w", errTuple)
	}
	return e, nil
}

var errTuple = fmt.Errorf("%w: a tuple without addresses or protocol", nlattr.ErrMessage)

// set takes an attribute of the message.
func (e *Entry) set(a nlattr.Attribute) (err error) {
	switch a.Type {
	case nl.CTA_TUPLE_ORIG:
		if err = e.Original.parse(a.Value); err != nil {
			return fmt.Errorf("original tuple: %w", err)
		}
	case nl.CTA_TUPLE_REPLY:
		if err = e.Reply.parse(a.Value); err != nil {
			return fmt.Errorf("reply tuple: %w", err)
		}
	case nl.CTA_STATUS:
		e.Status, err = a.Uint32()
	case nl.CTA_PROTOINFO:
		err = e.parseInfo(a.Value)
	case nl.CTA_TIMEOUT:
		e.Timeout, err = a.Uint32()
	case nl.CTA_MARK:
		e.Mark, err = a.Uint32()
	case nl.CTA_ID:
		e.ID, err = a.Uint32()
	case nl.CTA_ZONE:
		e.Zone, err = a.Uint16()
	}
	return err
}

// parseInfo reads CTA_PROTOINFO: an attribute named by protocol, of which the state is the first one.
func (e *Entry) parseInfo(data []byte) error {
	for protocol, err := range nlattr.All(data) {
		if err != nil {
			return err
		}
		for a, err := range nlattr.All(protocol.Value) {
			if err == nil && a.Type == infoState {
				e.State, err = a.Uint8()
				e.HasState = true
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// parse reads a tuple, which has addresses of one family and a protocol afterwards.
func (t *Tuple) parse(data []byte) error {
	*t = Tuple{}
	hasProtocol := false
	for a, err := range nlattr.All(data) {
		if err == nil {
			switch a.Type {
			case nl.CTA_TUPLE_IP:
				err = t.parseAddresses(a.Value)
			case nl.CTA_TUPLE_PROTO:
				hasProtocol, err = t.parseProtocol(a.Value)
			case tupleZone:
				t.Zone, err = a.Uint16()
			}
		}
		if err != nil {
			return err
		}
	}
	if !hasProtocol || !t.Src.IsValid() || t.Src.BitLen() != t.Dst.BitLen() {
		return errTuple
	}
	return nil
}

func (t *Tuple) parseAddresses(data []byte) error {
	for a, err := range nlattr.All(data) {
		if err != nil {
			return err
		}
		address, size := &t.Src, 4
		switch a.Type {
		case nl.CTA_IP_V4_SRC:
		case nl.CTA_IP_V4_DST:
			address = &t.Dst
		case nl.CTA_IP_V6_SRC:
			size = 16
		case nl.CTA_IP_V6_DST:
			address, size = &t.Dst, 16
		default:
			continue
		}
		if len(a.Value) != size {
			return fmt.Errorf("%w: an address of %d bytes", nlattr.ErrMessage, len(a.Value))
		}
		*address, _ = netip.AddrFromSlice(a.Value)
	}
	return nil
}

// parseProtocol reads the protocol and what it tells connections apart by. It says whether there was a protocol.
func (t *Tuple) parseProtocol(data []byte) (has bool, err error) {
	for a, err := range nlattr.All(data) {
		if err == nil {
			switch a.Type {
			case nl.CTA_PROTO_NUM:
				t.Protocol, err = a.Uint8()
				has = true
			case nl.CTA_PROTO_SRC_PORT:
				t.SrcPort, err = a.Uint16()
			case nl.CTA_PROTO_DST_PORT:
				t.DstPort, err = a.Uint16()
			case icmpID, icmpv6ID:
				t.ICMPID, err = a.Uint16()
			case icmpType, icmpv6Type:
				t.ICMPType, err = a.Uint8()
			case icmpCode, icmpv6Code:
				t.ICMPCode, err = a.Uint8()
			}
		}
		if err != nil {
			return false, err
		}
	}
	return has, nil
}
