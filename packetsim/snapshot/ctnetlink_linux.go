package snapshot

import (
	"fmt"

	"github.com/chainwalk/chainwalk/internal/ctnetlink"
	"github.com/chainwalk/chainwalk/internal/nlattr"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// connectionFromNetlink reads one conntrack entry as the kernel sends it, after the netlink header.
func connectionFromNetlink(message []byte) (Connection, error) {
	e, err := ctnetlink.Parse(message)
	if err != nil {
		return Connection{}, err
	}
	c := Connection{
		Original: tupleFromNetlink(&e.Original), Reply: tupleFromNetlink(&e.Reply), Timeout: e.Timeout, Mark: e.Mark,
		Replied: e.Status&ctnetlink.StatusSeenReply != 0, Assured: e.Status&ctnetlink.StatusAssured != 0,
		Zone: e.Zone, OrigZone: e.Original.Zone, ReplyZone: e.Reply.Zone,
	}
	states := connectionStates(c.Original.Proto)
	switch {
	case len(states) == 1:
		c.State = states[0]
	case e.HasState && int(e.State) < len(states):
		c.State = states[e.State]
	default:
		return c, fmt.Errorf("%w: protocol %d has no known state", nlattr.ErrMessage, c.Original.Proto)
	}
	return c, nil
}

func tupleFromNetlink(t *ctnetlink.Tuple) Tuple {
	return Tuple{
		Proto: inet.Proto(t.Protocol), Src: t.Src, Dst: t.Dst, SrcPort: t.SrcPort, DstPort: t.DstPort,
		ICMPType: t.ICMPType, ICMPCode: t.ICMPCode, ICMPID: t.ICMPID,
	}
}

// attributesByType are the attributes of a message, after its headers.
func attributesByType(data []byte) (map[uint16]nlattr.Attribute, error) {
	attrs := map[uint16]nlattr.Attribute{}
	for a, err := range nlattr.All(data) {
		if err != nil {
			return nil, err
		}
		attrs[a.Type] = a
	}
	return attrs, nil
}
