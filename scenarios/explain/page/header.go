package page

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/chainwalk/chainwalk/scenarios/explain/story"
)

// change is what two headers differ in.
type change struct{ What, From, To, FromName, ToName string }

// changesOf are the fields of a header that became others.
func changesOf(before, after *story.Header) []change {
	var out []change
	add := func(what, from, to, fromName, toName string) {
		if from != to {
			out = append(out, change{what, from, to, fromName, toName})
		}
	}
	add("source", address(before.Src), address(after.Src), before.SrcName, after.SrcName)
	add("destination", address(before.Dst), address(after.Dst), before.DstName, after.DstName)
	add("mark", fmt.Sprintf("%#x", before.Mark), fmt.Sprintf("%#x", after.Mark), "", "")
	return out
}

// noteOf is what the words of a rewrite say beyond the changes of addresses and marks: all of them if it changed another field, and why.
func noteOf(l *line) string {
	if len(l.Changes) == 0 {
		return ""
	}
	if strings.Count(l.Text, " becomes ") > len(l.Changes) || strings.Contains(l.Text, "a port that the kernel chooses") {
		return "(" + l.Text + ")"
	}
	if i := strings.LastIndex(l.Text, " ("); i >= 0 {
		return l.Text[i+1:]
	}
	return ""
}

// address is ADDRESS:PORT, or the address where there is no port.
func address(a netip.AddrPort) string {
	switch {
	case !a.Addr().IsValid():
		return "not chosen yet"
	case a.Port() == 0:
		return a.Addr().String()
	}
	return a.String()
}

// header is one as the page shows it.
type header struct{ Proto, Src, Dst, SrcName, DstName, Mark, Rest string }

// headerOf prepares a header.
func headerOf(h story.Header) header {
	out := header{
		Proto: h.Proto.String(), Src: address(h.Src), Dst: address(h.Dst), SrcName: h.SrcName, DstName: h.DstName, Rest: h.Rest,
	}
	if h.Mark != 0 {
		out.Mark = fmt.Sprintf("%#x", h.Mark)
	}
	return out
}
