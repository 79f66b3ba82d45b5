package differ

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/chainwalk/chainwalk/packetsim"
)

// seen is a packet that comes out on a side. Its source port is the kernel's choice if chosen is set.
type seen struct {
	place  string
	packet packetsim.Packet
	chosen bool
}

func seenOf(o *packetsim.Outcome) []seen {
	var list []seen
	if o.To == packetsim.ToForward {
		list = append(list, seen{placeOf(o.Out), o.Packet, o.Packet.Proto.HasPorts() && o.Final.SrcPort == 0 && o.Packet.SrcPort != 0})
	}
	for i := range o.Replies {
		list = append(list, seenOf(&o.Replies[i].Outcome)...)
	}
	return list
}

// sameSeen compares what came out, whatever source ports the kernel chose for the first time.
func (j *judging) sameSeen(ours []seen, kernel []string) bool {
	return len(ours) == len(kernel) && len(j.matchSeen(ours, kernel)) == len(ours)
}

// matchSeen pairs each of our packets with one of the kernel's and gives the source ports of those.
func (j *judging) matchSeen(ours []seen, kernel []string) []uint16 {
	left := slices.Clone(kernel)
	ports := make([]uint16, len(ours))
	for _, chosen := range []bool{false, true} { // a chosen port may be any, also that of another packet
		for i := range ours {
			if ours[i].chosen != chosen {
				continue
			}
			want := j.seenPattern(&ours[i])
			k := slices.IndexFunc(left, want.MatchString)
			if k < 0 {
				return nil
			}
			port, _ := strconv.ParseUint(want.FindStringSubmatch(left[k])[1], 10, 16)
			ports[i] = uint16(port)
			left = slices.Delete(left, k, k+1)
		}
	}
	return ports
}

// seenPattern is the text of a packet with its source port in a group, which is open if the kernel chooses.
func (j *judging) seenPattern(s *seen) *regexp.Regexp {
	p := j.realPacket(s.packet)
	text := regexp.QuoteMeta(seenText(s.place, &p))
	port := fmt.Sprintf(":%d > ", p.SrcPort)
	_, known := j.ports[conversationOf(&s.packet)]
	switch {
	case !p.Proto.HasPorts():
		text = "()" + text
	case s.chosen && !known:
		text = strings.Replace(text, port, `:(\d+) > `, 1)
	default:
		text = strings.Replace(text, port, fmt.Sprintf(":(%d) > ", p.SrcPort), 1)
	}
	return regexp.MustCompile("^" + text + "$")
}
