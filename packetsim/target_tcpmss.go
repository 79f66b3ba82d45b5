package packetsim

import (
	"math"

	"github.com/chainwalk/chainwalk/fakeipt/target"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

const (
	// defaultMSS4 and defaultMSS6 are what is announced at most where nothing was announced (RFC 1122, RFC 2460).
	defaultMSS4 = 536
	defaultMSS6 = 1220
)

// setMSS is -j TCPMSS (net/netfilter/xt_TCPMSS.c). An option that is not known is taken not to be there, so that it is added to a packet
// without data; a packet that is longer is left as it is.
func (tg *targets) setMSS(s *skb, t *target.TCPMSS) fate {
	if s.Proto != inet.TCP {
		return goOn
	}
	limit := int(t.MSS)
	if t.ClampToPMTU {
		var ok bool
		if limit, ok = tg.clampedMSS(s); !ok {
			tg.drop(ReasonNoSegmentFits)
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
		s.Length = headers + inet.MSSOptionSize
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
func (tg *targets) clampedMSS(s *skb) (mss int, ok bool) {
	mtu := maxMTU(s.path.out)
	if back, _, err := tg.routes.routeOutput(&flow{dst: s.Src, in: loopbackName, chance: tg.chance}, true); err == nil {
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
