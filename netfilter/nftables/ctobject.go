package nftables

import (
	"syscall"

	"github.com/chainwalk/chainwalk/internal/nlattr"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// Attributes of objects that the kernel alone understands (enum nft_ct_helper_attributes and so on).
const (
	helperName, helperL3, helperL4 = 1, 2, 3
	timeoutL4                      = 2
	expectL3                       = 1
	secmarkContext                 = 1
)

// takeOpaque is such an object as a new one of a table keeps it, or why the kernel does not take it.
func takeOpaque(table Family, kind expr.ObjectType, o *expr.Opaque) (*expr.Opaque, syscall.Errno) {
	var a opaqueParts
	for attribute, err := range nlattr.All(o.Data) {
		if err != nil {
			return nil, syscall.EINVAL
		}
		if int(attribute.Type) < len(a) {
			a[attribute.Type] = attribute
		}
	}
	switch kind {
	case expr.ObjectCTHelper:
		return takeHelper(table, a)
	case expr.ObjectCTTimeout:
		return o, timeoutErrno(table, a)
	case expr.ObjectCTExpect:
		return o, expectationErrno(table, a)
	case expr.ObjectSecmark:
		if a[secmarkContext].Text() == "" {
			return nil, syscall.ERANGE
		}
		return nil, syscall.ENOENT // no security module knows the context
	}
	return o, 0
}

// opaqueParts are the attributes of an object by their types.
type opaqueParts [4]nlattr.Attribute

// takeHelper looks for the helper of a family, or for those of both: it is an object of those that are there (nft_ct_helper_obj_init and
// nft_ct_helper_obj_dump in net/netfilter/nft_ct.c).
func takeHelper(table Family, a opaqueParts) (*expr.Opaque, syscall.Errno) {
	number, _ := a[helperL3].Uint16()
	protocol, _ := a[helperL4].Uint8()
	name, of := a[helperName].Text(), Family(number)
	ip4, ip6 := netfilter.HasHelper(name, protocol, netfilter.IPv4), netfilter.HasHelper(name, protocol, netfilter.IPv6)
	if name == "" {
		return nil, syscall.ERANGE
	}
	switch of {
	case IPv4:
		ip6 = false
	case IPv6:
		ip4 = false
	case Inet, Bridge, Netdev:
	default:
		return nil, syscall.EAFNOSUPPORT
	}
	switch {
	case of == IPv4 && table == IPv6, of == IPv6 && table == IPv4:
		return nil, syscall.EINVAL
	case !ip4 && !ip6:
		return nil, syscall.ENOENT
	}
	if errno := trackingErrno(table); errno != 0 {
		return nil, errno
	}
	switch of = IPv4; {
	case ip4 && ip6:
		of = Inet
	case ip6:
		of = IPv6
	}
	data := nlattr.Append(nil, helperName, a[helperName].Value...)
	data = nlattr.AppendUint16(data, helperL3, uint16(of))
	return &expr.Opaque{Kind: "ct helper", Data: nlattr.Append(data, helperL4, protocol)}, 0
}

// timeoutErrno is why a table cannot have a policy of timeouts (nft_ct_timeout_obj_init).
func timeoutErrno(table Family, a opaqueParts) syscall.Errno {
	if protocol, _ := a[timeoutL4].Uint8(); protocol == 0 {
		return syscall.EOPNOTSUPP
	}
	return trackingErrno(table)
}

// expectationErrno is why a table cannot have an expectation (nft_ct_expect_obj_init).
func expectationErrno(table Family, a opaqueParts) syscall.Errno {
	number, _ := a[expectL3].Uint16()
	switch of := Family(number); {
	case of != IPv4 && of != IPv6:
		return syscall.EAFNOSUPPORT
	case of != table && table != Inet:
		return syscall.EINVAL
	}
	return trackingErrno(table)
}

// trackingErrno is why a table cannot have connections tracked (nf_ct_netns_get): bridges need a module for that.
func trackingErrno(table Family) syscall.Errno {
	if table != IPv4 && table != IPv6 && table != Inet {
		return syscall.EPROTO
	}
	return 0
}
