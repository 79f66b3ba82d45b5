package scenarios

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// describe says in one line how a way ends.
func (w *Way) describe() string {
	switch w.End {
	case Delivered:
		switch {
		case !w.Heard:
			return fmt.Sprintf("reaches %s at %s, from %s, but in vain: %s", endpoint(w.Server), w.Host, endpoint(w.Client), w.Why)
		case w.Out != "" && w.Out != "local":
			return fmt.Sprintf("leaves %s for %s, from %s", w.Host, endpoint(w.Server), endpoint(w.Client))
		}
		return fmt.Sprintf("reaches %s at %s, from %s", endpoint(w.Server), w.Host, endpoint(w.Client))
	case Refused:
		return fmt.Sprintf("refused by %s: nothing listens on %s", w.Host, endpoint(w.Server))
	case Rejected:
		return fmt.Sprintf("rejected on %s with %s%s", w.Host, w.With, unheard(w))
	case Dropped:
		return fmt.Sprintf("dropped on %s by %s", w.Host, w.Rule)
	}
	return fmt.Sprintf("lost at %s: %s", w.Host, w.Reason)
}

// endpoint is ADDRESS:PORT, or the address where there is no port, as of ICMP.
func endpoint(a netip.AddrPort) string {
	if a.Port() == 0 {
		return a.Addr().String()
	}
	return a.String()
}

func unheard(w *Way) string {
	if w.Heard || w.Why == "" {
		return ""
	}
	return ", which the client does not get: " + w.Why
}

// describeWays says in a few lines what was seen, ways of the same end together.
func describeWays(ways []Way) string {
	chance := map[string]float64{}
	var ends []string
	for i := range ways {
		text := ways[i].describe()
		if _, known := chance[text]; !known {
			ends = append(ends, text)
		}
		chance[text] += ways[i].Probability
	}
	slices.Sort(ends)
	for i, text := range ends {
		if len(ends) > 1 {
			ends[i] = fmt.Sprintf("%.9g %s", chance[text], text)
		}
	}
	return strings.Join(ends, "; ")
}
