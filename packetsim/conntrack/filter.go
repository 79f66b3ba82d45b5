package conntrack

import (
	"net/netip"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// Filter chooses connections as the options of "conntrack -D" do. What is not set does not matter.
type Filter struct {
	Family netfilter.Family // -f
	Proto  inet.Proto       // -p
	// OrigSrc and OrigDst are -s and -d, ReplySrc and ReplyDst are -r and -q.
	OrigSrc, OrigDst, ReplySrc, ReplyDst netip.Prefix
	// The ports are --orig-port-src, --orig-port-dst, --reply-port-src and --reply-port-dst.
	OrigSrcPort, OrigDstPort, ReplySrcPort, ReplyDstPort uint16
	// State is --state.
	State string
	// Mark under MarkMask is -m; a mask of 0 does not look at the mark.
	Mark, MarkMask uint32
	// Zone is -w, which asks for a zone of both directions; OrigZone and ReplyZone are --orig-zone and --reply-zone, of one. 0 chooses those
	// that have no such zone.
	Zone, OrigZone, ReplyZone *uint16
	// SrcNAT and DstNAT are -n and -g.
	SrcNAT, DstNAT bool
	// SeenReply and Assured are words of -u. UNREPLIED, which the tool takes as well, chooses nothing there.
	SeenReply, Assured bool
}

// Matches says whether the filter chooses the connection.
func (f Filter) Matches(e Entry) bool {
	if f.Family != 0 && inet.FamilyOf(e.Original.Dst) != f.Family || f.Proto != 0 && e.Original.Proto != f.Proto ||
		f.State != "" && e.State != f.State {
		return false
	}
	return f.matchesTuples(&e) && f.matchesZone(e.Zone) && f.matchesStatus(&e) && e.Mark&f.MarkMask == f.Mark&f.MarkMask
}

func (f *Filter) matchesTuples(e *Entry) bool {
	for _, a := range [...]struct {
		want netip.Prefix
		addr netip.Addr
	}{{f.OrigSrc, e.Original.Src}, {f.OrigDst, e.Original.Dst}, {f.ReplySrc, e.Reply.Src}, {f.ReplyDst, e.Reply.Dst}} {
		if a.want.IsValid() && !a.want.Contains(a.addr) {
			return false
		}
	}
	for _, p := range [...]struct{ want, port uint16 }{
		{f.OrigSrcPort, e.Original.SrcPort}, {f.OrigDstPort, e.Original.DstPort}, {f.ReplySrcPort, e.Reply.SrcPort},
		{f.ReplyDstPort, e.Reply.DstPort},
	} {
		if p.want != 0 && p.want != p.port {
			return false
		}
	}
	return true
}

// matchesZone compares as the tool does: to it a zone of both directions is neither that of the one nor that of the other, and what is not
// there is 0.
func (f *Filter) matchesZone(z Zone) bool {
	both := uint16(0)
	if z.Original == z.Reply {
		both, z = z.Original, Zone{}
	}
	return (f.Zone == nil || both == *f.Zone) && (f.OrigZone == nil || z.Original == *f.OrigZone) &&
		(f.ReplyZone == nil || z.Reply == *f.ReplyZone)
}

func (f *Filter) matchesStatus(e *Entry) bool {
	if f.SeenReply && !e.Replied || f.Assured && !e.Assured {
		return false
	}
	src, dst := e.translated()
	return (!f.SrcNAT || src) && (!f.DstNAT || dst)
}

// translated says which sides of the connection are translated, as the tuples show it.
func (e *Entry) translated() (src, dst bool) {
	back := e.Reply.Inverse()
	src = back.Src != e.Original.Src || back.SrcPort != e.Original.SrcPort || back.ICMPID != e.Original.ICMPID
	dst = back.Dst != e.Original.Dst || back.DstPort != e.Original.DstPort
	return src, dst
}
