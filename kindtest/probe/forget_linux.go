package probe

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/chainwalk/chainwalk/internal/ctnetlink"
)

// forget is Client.Forget. The connections of both families are listed at once: for each list the kernel goes through the table of the
// whole machine, with the connections of all its network namespaces, which takes milliseconds however few there are.
func forget(addresses []netip.Addr) error {
	list := nl.NewNetlinkRequest(unix.NFNL_SUBSYS_CTNETLINK<<8|nl.IPCTNL_MSG_CT_GET, unix.NLM_F_DUMP)
	list.AddData(&nl.Nfgenmsg{NfgenFamily: unix.AF_UNSPEC, Version: nl.NFNETLINK_V0})
	messages, err := list.Execute(unix.NETLINK_NETFILTER, 0)
	if err != nil && !errors.Is(err, netlink.ErrDumpInterrupted) { // what was listed is deleted; of what came meanwhile nobody has asked
		return fmt.Errorf("list connections: %w", err)
	}
	var failed []error
	for _, message := range messages {
		c, err := ctnetlink.Parse(message)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		ends := []netip.Addr{c.Original.Src, c.Original.Dst, c.Reply.Src, c.Reply.Dst}
		if slices.ContainsFunc(ends, func(a netip.Addr) bool { return slices.Contains(addresses, a) }) {
			failed = append(failed, forgetOne(message))
		}
	}
	return errors.Join(failed...)
}

// forgetOne deletes a connection that the kernel has listed. It may have gone by itself.
func forgetOne(message []byte) error {
	request := nl.NewNetlinkRequest(unix.NFNL_SUBSYS_CTNETLINK<<8|nl.IPCTNL_MSG_CT_DELETE, unix.NLM_F_ACK)
	request.AddRawData(message)
	if _, err := request.Execute(unix.NETLINK_NETFILTER, 0); err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("delete a connection: %w", err)
	}
	return nil
}
