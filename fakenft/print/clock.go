package print

import (
	"math/bits"
	"time"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
)

// singleBit is the number of the only bit that is set.
func singleBit(n syntax.Num) (int, bool) {
	switch {
	case n.Hi == 0 && bits.OnesCount64(n.Lo) == 1:
		return bits.TrailingZeros64(n.Lo), true
	case n.Lo == 0 && bits.OnesCount64(n.Hi) == 1:
		return 64 + bits.TrailingZeros64(n.Hi), true
	}
	return 0, false
}

// date is a moment of "meta time", which the kernel counts in nanoseconds since 1970, in local time.
func (p *values) date(ns uint64) {
	seconds := int64(ns / 1e9)
	if p.Zone != nil {
		seconds += int64(p.Zone(seconds))
	}
	p.b = time.Unix(seconds, 0).UTC().AppendFormat(p.b, time.DateTime)
}

// hour is a time of day of "meta hour", which the kernel counts in seconds of UTC, in local time.
func (p *values) hour(seconds uint64) {
	const day = 24 * 3600
	local := (int64(seconds) + int64(p.HourZone)) % day
	if local < 0 {
		local += day
	}
	p.padded(uint64(local/3600), 2, 10)
	p.b = append(p.b, ':')
	p.padded(uint64(local/60%60), 2, 10)
	if local%60 != 0 {
		p.b = append(p.b, ':')
		p.padded(uint64(local%60), 2, 10)
	}
}
