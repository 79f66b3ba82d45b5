package ipset

import "net/netip"

// option is what a command line can set of a message.
type option uint8

// The options, with the tool's numbers, which some of its messages have. Those that are missing only the kernel's answers have.
const (
	_ option = iota
	optName
	optType
	optFamily
	optIP
	optIPTo
	optCIDR
	optMark
	optPort
	optPortTo
	optTimeout
	optGC
	optHashSize
	optMaxElem
	optMarkMask
	optNetMask
	optProbes
	optResize
	optSize
	optForceAdd
	optBitMask
	_
	_
	_
	optMAC
	optMember
	optReference
	optIP2
	optCIDR2
	optIP2To
	optProto
	optIface
	optName2
	_
	optBefore
	optPhysdev
	optNomatch
	optCounters
	optPackets
	optBytes
	optComment      // of create
	optEntryComment // of add
	optSKBInfo
	optSKBMark
	optSKBPrio
	optSKBQueue
	optWildcard
	optBucketSize
	optInitVal
	_
	optFlags // those that are sent as one number
)

// firstElementOption is the first of the options that say something of an element or of a set.
const firstElementOption = optIP

// unlooked are the options that the tool does not look at when it looks for those that a command does not allow: of create those of
// elements, of the others those of create and one that was forgotten.
func unlooked(c command) optionSet {
	if c == cmdCreate {
		return sentWithElement&^sentWithCreate | optionsOf(optProto, optBucketSize, optInitVal, optName2)
	}
	return sentWithCreate&^sentWithElement | optionsOf(optIP2To, optName2)
}

// optionSet is a set of options.
type optionSet uint64

func optionsOf(options ...option) optionSet {
	var s optionSet
	for _, o := range options {
		s |= 1 << o
	}
	return s
}

func (s optionSet) has(o option) bool { return s&(1<<o) != 0 }

// message is what the tool sends to the kernel: a command's names, and what create, add, del and test say.
type message struct {
	// given are the options that are set; the fields of the others mean nothing.
	given optionSet
	// ignored are the options of older versions that were given.
	ignored optionSet

	name, name2 string
	kind        *setType
	revision    int // of the type, as the kernel has it
	family      Family

	addr, addrTo, addr2, addr2To netip.Addr
	cidr, cidr2                  uint8
	port, portTo                 uint16
	proto                        uint8
	mac                          [6]byte
	iface                        string
	member, reference            string // of list:set
	timeout                      uint32
	packets, bytes               uint64
	comment                      string
	skb                          skbInfo
	flags                        messageFlags

	hashSize, maxElem, initVal, size uint32
	netMask, bucketSize              uint8
	bitMask                          netip.Addr
}

// messageFlags are the flags of create, add, del and test. A flag that is set shows in optFlags, not in given.
type messageFlags struct {
	before, physdev, nomatch, wildcard   bool
	counters, comment, skbInfo, forceAdd bool
}

func (m *message) has(o option) bool { return m.given.has(o) }

func (m *message) set(o option) { m.given |= 1 << o }

// bytesOfPage is the size of the tool's buffer for a message.
const bytesOfPage = 4096

// The sizes of parts of a netlink message, in bytes.
const (
	sizeHead      = 28 // of nlmsghdr, nfgenmsg and the version of the protocol
	sizeAttribute = 4  // the head of an attribute
	sizeNumber    = 8  // an attribute with a number of up to 32 bits
	sizeLong      = 12 // one with 64 bits, or a MAC address
	sizeError     = 20 // the room that is left for the answer
)

// elementSizes are the sizes of the attributes of an element in the order in which they are sent: what is written, and what the tool
// looks for in its buffer before.
func (m *message) elementSizes() [][2]int {
	var sizes [][2]int
	add := func(o option, written, asked int) {
		if m.has(o) {
			sizes = append(sizes, [2]int{written, asked})
		}
	}
	address := sizeAttribute + sizeAttribute + m.family.bits()/8
	text := func(s string) int { return sizeAttribute + roundUp(len(s)+1, 4) }
	add(optIP, address, address)
	add(optIPTo, address, address)
	add(optCIDR, sizeNumber, sizeNumber)
	add(optPort, sizeNumber, sizeNumber)
	add(optPortTo, sizeNumber, sizeNumber)
	add(optTimeout, sizeNumber, sizeNumber)
	add(optProto, sizeNumber, sizeNumber)
	add(optFlags, sizeNumber, sizeNumber)
	add(optMAC, sizeLong, sizeLong)
	add(optMember, text(m.member), sizeAttribute+MaxName+1)
	add(optReference, text(m.reference), sizeAttribute+MaxName+1)
	add(optIP2, address, address)
	add(optCIDR2, sizeNumber, sizeNumber)
	add(optIP2To, address, address)
	add(optIface, text(m.iface), sizeAttribute+maxIface+1)
	add(optBytes, sizeLong, sizeLong)
	add(optPackets, sizeLong, sizeLong)
	add(optEntryComment, text(m.comment), sizeAttribute+maxComment+1)
	add(optSKBMark, sizeLong, sizeLong)
	add(optSKBPrio, sizeNumber, sizeNumber)
	add(optSKBQueue, sizeNumber, sizeNumber)
	return append(sizes, [2]int{sizeNumber, sizeNumber}) // the line of restore
}

// fits says whether the element finds room behind a message that has so many bytes, and how many it has then.
func (m *message) fits(size int) (int, bool) {
	if size+sizeAttribute > bytesOfPage {
		return size, false
	}
	size += sizeAttribute
	for _, s := range m.elementSizes() {
		if size+s[1]+sizeError > bytesOfPage {
			return size, false
		}
		size += s[0]
	}
	return size, true
}
