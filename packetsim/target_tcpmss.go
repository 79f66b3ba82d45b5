package packetsim

import (
	"math"

	"github.com/chainwalk/chainwalk/fakeipt/target"
)

const (
	// mssOption is the length of TCP's option for the greatest segment.
	mssOption = 4
	// defaultMSS4 and defaultMSS6 are what is announced at most where nothing was announced (RFC 1122, RFC 2460).
	defaultMSS4 = 536
	defaultMSS6 = 1220
)

// setMSS is -j TCPMSS (net/netfilter/xt_TCPMSS.c). An option that is not known is taken not to be there, so that it is added to a packet
// without data; a packet that is longer is left as it is.
func (w *walk) setMSS(s *skb, t *target.TCPMSS) fate {
	if s.Proto != TCP {
		return goOn
	}
	limit := int(t.MSS)
	if t.ClampToPMTU {
		var ok bool
		if limit, ok = w.clampedMSS(s); !ok {
			w.drop("no segment fits the MTU")
			return stopped
		}
	}
	if s.MSS != 0 {
		s.MSS = uint16(min(int(s.MSS), limit))
		return goOn
	}
	if s.Numbers != nil && s.Numbers.Data > 0 || len(s.Payload) > 0 {
		return goOn
	}
	headers := s.headerSize() + s.padding
	if s.Length == 0 || s.Length == headers {
		s.Length = headers + mssOption
		if s.Numbers != nil || s.noMSS {
			s.MSS = uint16(min(limit, defaultMSS(s)))
		}
	}
	return goOn
}

func defaultMSS(s *skb) int {
	if s.Is6() {
		return defaultMSS6
	}
	return defaultMSS4
}

// clampedMSS is the segment that fits the devices on both ways. ok is false if none does.
func (w *walk) clampedMSS(s *skb) (mss int, ok bool) {
	mtu := maxMTU(s.path.out)
	if back, _, err := w.h.routeOutput(&flow{dst: s.Src, in: loopbackName, chance: w.chance}, true); err == nil {
		mtu = min(mtu, maxMTU(back.out))
	}
	headers := 20 + 20
	if s.Is6() {
		headers = 40 + 20
	}
	return mtu - headers, mtu > headers
}

// maxMTU is the MTU of a device; one that is not known is no limit.
func maxMTU(dev *device) int {
	if dev == nil || dev.MTU == 0 {
		return math.MaxUint16
	}
	return min(dev.MTU, math.MaxUint16)
}
