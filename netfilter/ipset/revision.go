package ipset

// revisions are the revisions of a type that brought options. 0: no kernel has the type without.
type revisions struct{ counters, comment, forceAdd, skbInfo, wildcard, bucketSize, bitMask int }

// of is the revision that brought an option.
func (v *revisions) of(o option) int {
	switch o {
	case optCounters, optPackets, optBytes:
		return v.counters
	case optComment, optEntryComment:
		return v.comment
	case optForceAdd:
		return v.forceAdd
	case optSKBInfo, optSKBMark, optSKBPrio, optSKBQueue:
		return v.skbInfo
	case optWildcard:
		return v.wildcard
	case optBucketSize, optInitVal:
		return v.bucketSize
	case optBitMask:
		return v.bitMask
	}
	return 0
}
