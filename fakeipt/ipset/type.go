package ipset

import "slices"

// part is one dimension of a type of set.
type part uint8

const (
	partIP part = iota
	partNet
	partPort
	partSet
)

// setType is a type of set.
type setType struct {
	name     string
	revision int
	parts    []part
}

var (
	bitmapPort = &setType{"bitmap:port", 3, []part{partPort}}
	listSet    = &setType{"list:set", 3, []part{partSet}}

	setTypes = [...]*setType{
		bitmapPort, listSet,
		{"hash:ip", 6, []part{partIP}},
		{"hash:net", 7, []part{partNet}},
		{"hash:ip,port", 7, []part{partIP, partPort}},
		{"hash:net,port", 8, []part{partNet, partPort}},
		{"hash:ip,port,ip", 6, []part{partIP, partPort, partIP}},
		{"hash:ip,port,net", 8, []part{partIP, partPort, partNet}},
	}
)

// typesWithoutModule are those that the tool knows and the kernel has not, as a machine without their modules; typesNotHere are those that
// the kernel has as well.
var (
	typesWithoutModule = [...]string{"hash:mac", "hash:ip,mac", "hash:net,net", "hash:net,port,net", "hash:ip,mark"}
	typesNotHere       = [...]string{"bitmap:ip", "bitmap:ip,mac", "hash:net,iface"}
)

func findType(name string) *setType {
	for _, k := range setTypes {
		if k.name == name {
			return k
		}
	}
	return nil
}

func (k *setType) hash() bool { return k != bitmapPort && k != listSet }

// nets says that an element has a net, which may be marked nomatch.
func (k *setType) nets() bool { return slices.Contains(k.parts, partNet) }

// net2 says that the net is the second address.
func (k *setType) net2() bool { return len(k.parts) == 3 && k.parts[2] == partNet }

// masked says that addresses may be cut to a prefix, with netmask.
func (k *setType) masked() bool { return k.parts[0] == partIP && len(k.parts) < 3 }

// createOptions are the names of the options of create. The tool takes forceadd and does not tell the kernel of it.
func (k *setType) createOptions() []string {
	switch {
	case k == bitmapPort:
		return []string{"range", "timeout", "counters", "comment", "skbinfo"}
	case k == listSet:
		return []string{"size", "timeout", "counters", "comment", "skbinfo"}
	}
	options := []string{"family", "-4", "-6", "hashsize", "maxelem", "timeout", "counters", "comment", "forceadd", "skbinfo",
		"bucketsize", "initval"}
	if k.masked() {
		options = append(options, "netmask")
	}
	return options
}
