package fakeipt

import "slices"

// setPart is one dimension of a type of set.
type setPart uint8

const (
	partIP setPart = iota
	partNet
	partPort
	partSet
)

// setKind is a type of set.
type setKind struct {
	name     string
	revision int
	parts    []setPart
}

var (
	bitmapPortKind = &setKind{"bitmap:port", 3, []setPart{partPort}}
	listSetKind    = &setKind{"list:set", 3, []setPart{partSet}}

	setKinds = [...]*setKind{
		bitmapPortKind, listSetKind,
		{"hash:ip", 6, []setPart{partIP}},
		{"hash:net", 7, []setPart{partNet}},
		{"hash:ip,port", 7, []setPart{partIP, partPort}},
		{"hash:net,port", 8, []setPart{partNet, partPort}},
		{"hash:ip,port,ip", 6, []setPart{partIP, partPort, partIP}},
		{"hash:ip,port,net", 8, []setPart{partIP, partPort, partNet}},
	}
)

func findSetKind(name string) *setKind {
	for _, k := range setKinds {
		if k.name == name {
			return k
		}
	}
	return nil
}

func (k *setKind) hash() bool { return k != bitmapPortKind && k != listSetKind }

// nets says that an element has a net, which may be marked nomatch.
func (k *setKind) nets() bool { return slices.Contains(k.parts, partNet) }

// net2 says that the net is the second address.
func (k *setKind) net2() bool { return len(k.parts) == 3 && k.parts[2] == partNet }

// masked says that addresses may be cut to a prefix, with netmask.
func (k *setKind) masked() bool { return k.parts[0] == partIP && len(k.parts) < 3 }

// createOptions are the names of the options of create. The tool takes forceadd and does not tell the kernel of it.
func (k *setKind) createOptions() []string {
	switch {
	case k == bitmapPortKind:
		return []string{"range", "timeout", "counters", "comment", "skbinfo"}
	case k == listSetKind:
		return []string{"size", "timeout", "counters", "comment", "skbinfo"}
	case k.masked():
		return []string{"family", "-4", "-6", "hashsize", "maxelem", "netmask", "timeout", "counters", "comment", "forceadd", "skbinfo", "bucketsize", "initval"}
	}
	return []string{"family", "-4", "-6", "hashsize", "maxelem", "timeout", "counters", "comment", "forceadd", "skbinfo", "bucketsize", "initval"}
}
