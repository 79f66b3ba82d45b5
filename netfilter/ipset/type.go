package ipset

import "slices"

// part is one dimension of a type of set.
type part uint8

const (
	partIP part = iota
	partNet
	partPort
	partMAC
	partMark
	partIface
	partSet
)

// store is how the kernel keeps the elements of a type.
type store uint8

const (
	storeBitmap store = iota
	storeHash
	storeList
)

// setType is a type of set.
type setType struct {
	name, alias string
	revision    int
	store       store
	parts       []part
	// family is that of the addresses where the type has but one.
	family Family
	// revisions are the revisions that added something after the oldest one that a kernel has of any type.
	revisions revisions
	// absent says that the tool knows the type and the kernel was built without it.
	absent bool
}

var (
	listSet     = &setType{name: "list:set", alias: "setlist", revision: 3, store: storeList, parts: []part{partSet}}
	bitmapPort  = &setType{name: "bitmap:port", alias: "portmap", revision: 3, store: storeBitmap, parts: []part{partPort}}
	bitmapIP    = &setType{name: "bitmap:ip", alias: "ipmap", revision: 3, store: storeBitmap, parts: []part{partIP}, family: inet}
	bitmapIPMAC = &setType{name: "bitmap:ip,mac", alias: "macipmap", revision: 3, store: storeBitmap, parts: []part{partIP, partMAC},
		family: inet}
	hashIP = &setType{name: "hash:ip", alias: "iphash", revision: 6, store: storeHash, parts: []part{partIP},
		revisions: revisions{skbInfo: 4, bucketSize: 5, bitMask: 6}}
	hashNet = &setType{name: "hash:net", alias: "nethash", revision: 7, store: storeHash, parts: []part{partNet},
		revisions: revisions{comment: 4, forceAdd: 5, skbInfo: 6, bucketSize: 7}}
	hashIPPort = &setType{name: "hash:ip,port", alias: "ipporthash", revision: 7, store: storeHash, parts: []part{partIP, partPort},
		revisions: revisions{forceAdd: 4, skbInfo: 5, bucketSize: 6, bitMask: 7}}
	hashNetPort = &setType{name: "hash:net,port", alias: "netporthash", revision: 8, store: storeHash, parts: []part{partNet, partPort},
		revisions: revisions{counters: 4, comment: 5, forceAdd: 6, skbInfo: 7, bucketSize: 8}}
	hashIPPortIP = &setType{name: "hash:ip,port,ip", alias: "ipportiphash", revision: 6, store: storeHash,
		parts: []part{partIP, partPort, partIP}, revisions: revisions{forceAdd: 4, skbInfo: 5, bucketSize: 6}}
	hashIPPortNet = &setType{name: "hash:ip,port,net", alias: "ipportnethash", revision: 8, store: storeHash,
		parts: []part{partIP, partPort, partNet}, revisions: revisions{counters: 4, comment: 5, forceAdd: 6, skbInfo: 7, bucketSize: 8}}
	hashNetIface = &setType{name: "hash:net,iface", alias: "netifacehash", revision: 8, store: storeHash, parts: []part{partNet, partIface},
		revisions: revisions{comment: 4, forceAdd: 5, skbInfo: 6, wildcard: 7, bucketSize: 8}}
	hashMAC        = absentHash("hash:mac", "machash", 1, partMAC)
	hashIPMAC      = absentHash("hash:ip,mac", "ipmachash", 1, partIP, partMAC)
	hashIPMark     = absentHash("hash:ip,mark", "ipmarkhash", 3, partIP, partMark)
	hashNetNet     = absentHash("hash:net,net", "netnethash", 4, partNet, partNet)
	hashNetPortNet = absentHash("hash:net,port,net", "netportnethash", 3, partNet, partPort, partNet)

	// setTypes are the types that the tool knows.
	setTypes = [...]*setType{
		listSet, hashMAC, hashIPMAC, hashNetIface, hashNetPort, hashNetPortNet, hashNetNet, hashNet, hashIPPortNet, hashIPPortIP,
		hashIPMark, hashIPPort, hashIP, bitmapPort, bitmapIPMAC, bitmapIP,
	}
)

// absentHash is a type that the tool knows and the kernel lacks.
func absentHash(name, alias string, revision int, parts ...part) *setType {
	return &setType{name: name, alias: alias, revision: revision, store: storeHash, parts: parts, absent: true}
}

// findType is the type of that name, or of that older name.
func findType(name string) *setType {
	i := slices.IndexFunc(setTypes[:], func(k *setType) bool { return name == k.name || name == k.alias })
	if i < 0 {
		return nil
	}
	return setTypes[i]
}

func (k *setType) hash() bool { return k.store == storeHash }

// bothFamilies says that a set of the type has a family that may be chosen.
func (k *setType) bothFamilies() bool { return k.store == storeHash && k != hashMAC }

// takes says that a set of the type may be of that family, 0 for one that is not known.
func (k *setType) takes(f Family) bool { return f == 0 || f == k.family || k.bothFamilies() }

// has says that elements have such a part.
func (k *setType) has(p part) bool { return slices.Contains(k.parts, p) }

// nets says that an element has a net, which may be marked nomatch.
func (k *setType) nets() bool { return k.has(partNet) }

// net2 says that the net is the second address.
func (k *setType) net2() bool { return len(k.parts) == 3 && k.parts[2] == partNet }

// masked says that addresses may be put under a mask.
func (k *setType) masked() bool { return k == hashIP || k == hashIPPort }

// sameFeatures says that sets of the two types may be swapped: the kernel compares what elements are made of, and not the types.
func (k *setType) sameFeatures(o *setType) bool {
	address := func(p part) part {
		if p == partNet {
			return partIP
		}
		return p
	}
	return k.nets() == o.nets() && slices.EqualFunc(k.parts, o.parts, func(a, b part) bool { return address(a) == address(b) })
}
