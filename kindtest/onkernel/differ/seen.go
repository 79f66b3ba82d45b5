package differ

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// seen is a packet that comes out on a side. Its source port is the kernel's choice if chosen is set.
type seen struct {
	place  string
	packet inet.Packet
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

// seenPattern is the text of a packet with its source port in a group, which is open if the kernel chooses now, and which may be each of
// those that it has chosen for what is one source in the walk.
func (j *judging) seenPattern(s *seen) *regexp.Regexp {
	p := j.realPacket(s.packet)
	text := regexp.QuoteMeta(seenText(s.place, &p))
	if !p.Proto.HasPorts() {
		return regexp.MustCompile("^()" + text + "$")
	}
	port := strconv.Itoa(int(p.SrcPort))
	if _, known := j.ports[conversationOf(&s.packet)]; !known {
		switch ports := j.sourcePorts(sourceOf(&s.packet)); {
		case s.chosen:
			port = `\d+`
		case len(ports) > 1:
			port = strings.ReplaceAll(strings.Trim(fmt.Sprint(ports), "[]"), " ", "|")
		}
	}
	text = strings.Replace(text, fmt.Sprintf(":%d > ", p.SrcPort), ":("+port+") > ", 1)
	return regexp.MustCompile("^" + text + "$")
}
