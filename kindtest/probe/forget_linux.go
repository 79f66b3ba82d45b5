package probe

import (
	"errors"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
)

// addressFilter wants what has one of its addresses at an end.
type addressFilter map[netip.Addr]bool

var _ netlink.CustomConntrackFilter = addressFilter{}

// MatchConntrackFlow implements netlink.CustomConntrackFilter.
func (f addressFilter) MatchConntrackFlow(flow *netlink.ConntrackFlow) bool {
	for _, end := range []net.IP{flow.Forward.SrcIP, flow.Forward.DstIP, flow.Reverse.SrcIP, flow.Reverse.DstIP} {
		if a, ok := netip.AddrFromSlice(end); ok && f[a.Unmap()] {
			return true
		}
	}
	return false
}

// forget is Client.Forget.
func forget(addresses []netip.Addr) error {
	wanted := map[bool]addressFilter{false: {}, true: {}}
	for _, a := range addresses {
		wanted[a.Is6()][a] = true
	}
	var failed []error
	for six, family := range map[bool]netlink.InetFamily{false: netlink.FAMILY_V4, true: netlink.FAMILY_V6} {
		if len(wanted[six]) == 0 {
			continue
		}
		_, err := netlink.ConntrackDeleteFilters(netlink.ConntrackTable, family, wanted[six])
		if errors.Is(err, netlink.ErrDumpInterrupted) {
			err = nil // what was listed is deleted; of what came meanwhile nobody has asked
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}
