package snapshot

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// conntrack reads the connections by netlink, which needs CAP_NET_ADMIN. The kernel is only
// asked where it counts connections at all: asking loads nf_conntrack_netlink.
func (t *taker) conntrack() {
	const what = UnreadConntrack
	count, err := os.ReadFile(filepath.Join(t.proc, "sys/net/netfilter/nf_conntrack_count"))
	switch {
	case errors.Is(err, fs.ErrNotExist) || strings.TrimSpace(string(count)) == "0":
		return
	case err != nil:
		t.unread(what, "%v", err)
		return
	}
	messages, err := dump(func() ([][]byte, error) {
		return dumpNetfilter(nl.IPCTNL_MSG_CT_GET|int(netlink.ConntrackTable)<<8, unix.AF_UNSPEC)
	})
	if err != nil {
		t.unread(what, "%v: %s", err, needsAdmin)
		return
	}
	for _, message := range messages {
		c, err := connectionFromNetlink(message)
		if err != nil {
			t.unread("conntrack entry", "%v", err)
			continue
		}
		t.snapshot.Conntrack = append(t.snapshot.Conntrack, c)
	}
	slices.SortFunc(t.snapshot.Conntrack, compareConnections)
}

const needsAdmin = "run as root or with CAP_NET_ADMIN"

// dumpNetfilter lists what one message type of nfnetlink lists, without the netlink headers.
func dumpNetfilter(message, family int, attributes ...nl.NetlinkRequestData) ([][]byte, error) {
	req := nl.NewNetlinkRequest(message, unix.NLM_F_DUMP)
	req.AddData(&nl.Nfgenmsg{NfgenFamily: uint8(family), Version: nl.NFNETLINK_V0})
	for _, a := range attributes {
		req.AddData(a)
	}
	return req.Execute(unix.NETLINK_NETFILTER, 0)
}
