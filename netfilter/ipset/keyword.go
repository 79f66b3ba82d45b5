package ipset

import (
	"math"
	"slices"
)

// keyword is a word of create, add, del or test that sets an option.
type keyword struct {
	name  string
	value bool // a word follows
	opt   option
	parse func(p *parser, o option, word string) error
}

// The keywords. Several of one name belong to different types.
var (
	kwFamily     = &keyword{"family", true, optFamily, (*parser).parseFamily}
	kwInet       = &keyword{"-4", false, optFamily, (*parser).parseFamily}
	kwInet6      = &keyword{"-6", false, optFamily, (*parser).parseFamily}
	kwHashSize   = numberKeyword("hashsize", optHashSize, math.MaxUint32, func(m *message, n uint64) { m.hashSize = uint32(n) })
	kwMaxElem    = numberKeyword("maxelem", optMaxElem, math.MaxUint32, func(m *message, n uint64) { m.maxElem = uint32(n) })
	kwProbes     = &keyword{"probes", true, optProbes, (*parser).ignore}
	kwResize     = &keyword{"resize", true, optResize, (*parser).ignore}
	kwGC         = &keyword{"gc", true, optGC, (*parser).ignore}
	kwOldFrom    = &keyword{"from", true, optIP, (*parser).ignore}
	kwOldTo      = &keyword{"to", true, optIPTo, (*parser).ignore}
	kwOldNetwork = &keyword{"network", true, optIP, (*parser).ignore}
	kwSize       = numberKeyword("size", optSize, math.MaxUint32, func(m *message, n uint64) { m.size = uint32(n) })
	kwIPRange    = &keyword{"range", true, optIP, (*parser).parseNetOrRange}
	kwNetMask    = &keyword{"netmask", true, optNetMask, (*parser).parseNetMask}
	kwPortRange  = &keyword{"range", true, optPort, (*parser).parseTCPOrUDPPort}
	kwBefore     = &keyword{"before", true, optReference, (*parser).parseBefore}
	kwAfter      = &keyword{"after", true, optReference, (*parser).parseName}
	kwFromIP     = &keyword{"from", true, optIP, (*parser).parseSingleIP}
	kwToIP       = &keyword{"to", true, optIPTo, (*parser).parseSingleIP}
	kwNetwork    = &keyword{"network", true, optIP, (*parser).parseNet}
	kwFromPort   = &keyword{"from", true, optPort, (*parser).parseTCPPort}
	kwToPort     = &keyword{"to", true, optPortTo, (*parser).parseTCPPort}
	kwForceAdd   = &keyword{"forceadd", false, optForceAdd, (*parser).parseFlag}
	kwNomatch    = &keyword{"nomatch", false, optNomatch, (*parser).parseFlag}
	kwWildcard   = &keyword{"wildcard", false, optWildcard, (*parser).parseFlag}
	kwTimeout    = numberKeyword("timeout", optTimeout, maxTimeout, func(m *message, n uint64) { m.timeout = uint32(n) })
	kwCounters   = &keyword{"counters", false, optCounters, (*parser).parseFlag}
	kwPackets    = numberKeyword("packets", optPackets, math.MaxUint64-1, func(m *message, n uint64) { m.packets = n })
	kwBytes      = numberKeyword("bytes", optBytes, math.MaxUint64-1, func(m *message, n uint64) { m.bytes = n })
	kwComments   = &keyword{"comment", false, optComment, (*parser).parseFlag}
	kwComment    = &keyword{"comment", true, optEntryComment, (*parser).parseComment}
	kwSKBInfo    = &keyword{"skbinfo", false, optSKBInfo, (*parser).parseFlag}
	kwSKBMark    = &keyword{"skbmark", true, optSKBMark, (*parser).parseSKBMark}
	kwSKBPrio    = &keyword{"skbprio", true, optSKBPrio, (*parser).parseSKBPrio}
	kwSKBQueue   = numberKeyword("skbqueue", optSKBQueue, math.MaxUint16, func(m *message, n uint64) { m.skb.queue = uint16(n) })
	kwBucketSize = numberKeyword("bucketsize", optBucketSize, math.MaxUint8, func(m *message, n uint64) { m.bucketSize = uint8(n) })
	kwInitVal    = numberKeyword("initval", optInitVal, math.MaxUint32, func(m *message, n uint64) { m.initVal = uint32(n) })
	kwBitMask    = &keyword{"bitmask", true, optBitMask, (*parser).parseBitMask}
)

// numberKeyword is a keyword with a number up to a limit behind it.
func numberKeyword(name string, o option, high uint64, set func(m *message, n uint64)) *keyword {
	return &keyword{name, true, o, parseNumberOf(high, set)}
}

// maxTimeout is the greatest timeout in seconds.
const maxTimeout = 2147483

// createKeywords are the keywords of create, in the order in which the header of the set shows them.
func (k *setType) createKeywords() []*keyword {
	extensions := []*keyword{kwTimeout, kwCounters, kwComments, kwSKBInfo}
	switch k {
	case listSet:
		return append([]*keyword{kwSize}, extensions...)
	case bitmapPort:
		return slices.Concat([]*keyword{kwPortRange}, extensions, []*keyword{kwFromPort, kwToPort})
	case bitmapIP:
		return slices.Concat([]*keyword{kwIPRange, kwNetMask}, extensions, []*keyword{kwFromIP, kwToIP, kwNetwork})
	case bitmapIPMAC:
		return slices.Concat([]*keyword{kwIPRange}, extensions, []*keyword{kwFromIP, kwToIP, kwNetwork})
	}
	words := []*keyword{kwFamily, kwInet, kwInet6, kwHashSize, kwMaxElem}
	if k == hashIP {
		words = append(words, kwNetMask, kwBitMask)
	}
	words = append(words, kwTimeout, kwCounters, kwComments, kwForceAdd, kwSKBInfo, kwBucketSize, kwInitVal)
	switch k {
	case hashIP:
		words = append(words, kwProbes, kwResize, kwGC)
	case hashNet:
		words = append(words, kwProbes, kwResize)
	case hashIPPort:
		words = append(words, kwNetMask, kwBitMask, kwProbes, kwResize, kwOldFrom, kwOldTo, kwOldNetwork)
	case hashIPPortIP, hashIPPortNet:
		words = append(words, kwProbes, kwResize, kwOldFrom, kwOldTo, kwOldNetwork)
	}
	return words
}

// addKeywords are the keywords of add, in the order in which an entry shows them.
func (k *setType) addKeywords() []*keyword {
	words := []*keyword{kwTimeout}
	switch {
	case k == listSet:
		words = append(words, kwBefore, kwAfter)
	case k == hashNetIface:
		words = append(words, kwNomatch, kwWildcard)
	case k.nets():
		words = append(words, kwNomatch)
	}
	return append(words, kwPackets, kwBytes, kwComment, kwSKBMark, kwSKBPrio, kwSKBQueue)
}

// keywords are the keywords of a command.
func (k *setType) keywords(c command) []*keyword {
	switch {
	case c == cmdCreate:
		return k.createKeywords()
	case c == cmdAdd:
		return k.addKeywords()
	case k == listSet:
		return []*keyword{kwBefore, kwAfter}
	case c == cmdTest && k.nets():
		return []*keyword{kwNomatch}
	}
	return nil
}

// needed are the options that a command must set.
func (k *setType) needed(c command) optionSet {
	if c == cmdCreate {
		switch k {
		case bitmapPort:
			return optionsOf(optPort, optPortTo)
		case bitmapIP, bitmapIPMAC:
			return optionsOf(optIP, optIPTo)
		}
		return 0
	}
	var s optionSet
	for i, p := range k.parts {
		switch p {
		case partIP, partNet:
			s |= optionsOf([]option{optIP, optIP2, optIP2}[i])
		case partPort:
			s |= optionsOf(optPort)
			if k != bitmapPort {
				s |= optionsOf(optProto)
			}
		case partIface:
			s |= optionsOf(optIface)
		case partSet:
			s |= optionsOf(optMember)
		}
	}
	return s
}

// allowed are the options that a command may set.
func (k *setType) allowed(c command) optionSet {
	s := k.needed(c)
	for _, w := range k.keywords(c) {
		s |= optionsOf(w.opt)
	}
	switch {
	case c == cmdCreate:
	case k == bitmapIPMAC:
		s |= optionsOf(optMAC)
	case k == hashIP:
		s |= optionsOf(optIPTo)
	case c == cmdTest && k.parts[0] == partNet:
		s |= optionsOf(optCIDR)
	case c == cmdTest && k.net2():
		s |= optionsOf(optCIDR2)
	case c == cmdTest || k == listSet:
	default:
		s |= k.ranges()
	}
	if s.has(optIPTo) {
		s |= optionsOf(optCIDR)
	}
	return s
}

// ranges are the options by which an element of add and del stands for many.
func (k *setType) ranges() optionSet {
	var s optionSet
	if k.parts[0] == partIP || k.parts[0] == partNet {
		s |= optionsOf(optIPTo)
	}
	if k.has(partPort) {
		s |= optionsOf(optPortTo)
	}
	if k.net2() {
		s |= optionsOf(optCIDR2, optIP2To)
	}
	return s
}
