package xtables

import "github.com/chainwalk/chainwalk/netfilter"

// AddReads adds that it is not known.
func (*OpaqueMatch) AddReads(r *Reads) { r.Reading |= netfilter.ReadsUnknown }

// Reads is not known.
func (*OpaqueTarget) Reads() netfilter.Reading { return netfilter.ReadsUnknown }

// Reads is nothing.
func (*Jump) Reads() netfilter.Reading { return 0 }

// Reads is nothing.
func (*TargetVerdict) Reads() netfilter.Reading { return 0 }

// Reads is nothing.
func (*Queue) Reads() netfilter.Reading { return 0 }

// AddReads adds that it is not known.
func (*Gone) AddReads(r *Reads) { r.Reading |= netfilter.ReadsUnknown }

// Reads is not known.
func (*Gone) Reads() netfilter.Reading { return netfilter.ReadsUnknown }
