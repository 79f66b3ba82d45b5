package nft

import (
	"fmt"
	"net/netip"
	"strconv"

	v1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/proxier/internal/model"
	"github.com/chainwalk/chainwalk/proxier/nftables"
)

// speller has the words that differ by family, tool and configuration.
type speller struct {
	// here is the table behind the verb and the kind of an object: "ip kube-proxy ".
	here string
	// source and destination match the addresses of a packet.
	source, destination string
	// family and addressType are nft's words for the family and for its addresses.
	family, addressType string
	// setMark asks for masquerading. mark is the bit of the packet mark for that.
	setMark, mark string
	// comments says whether tables, chains, sets and maps may have comments.
	comments bool
}

func newSpeller(family v1.IPFamily, masqueradeMark uint32, comments bool) speller {
	word := nftables.Word(family)
	s := speller{
		here:        word + " " + table + " ",
		source:      word + " saddr ",
		destination: word + " daddr ",
		family:      word,
		addressType: "ipv4_addr",
		mark:        fmt.Sprintf("%#08x", masqueradeMark),
		comments:    comments,
	}
	if family == v1.IPv6Protocol {
		s.addressType = "ipv6_addr"
	}
	s.setMark = "mark set mark or " + s.mark
	return s
}

// command appends the beginning of a command about what is named by prefix and base: "add chain ip kube-proxy service-...".
func (s *speller) command(dst []byte, verb, prefix string, base []byte) []byte {
	dst = append(dst, verb...)
	dst = append(dst, s.here...)
	dst = append(dst, prefix...)
	return append(dst, base...)
}

// line appends a command about what has a fixed name.
func (s *speller) line(dst []byte, verb, name, rest string) []byte {
	dst = append(dst, verb...)
	dst = append(dst, s.here...)
	dst = append(dst, name...)
	if rest != "" {
		dst = append(append(dst, ' '), rest...)
	}
	return append(dst, '\n')
}

// comment is the comment of a table, a chain, a set or a map within its braces, if it may have one.
func (s *speller) comment(text string) string {
	if !s.comments {
		return ""
	}
	return `comment "` + text + `" ; `
}

// braces puts what is said of an object into braces, if anything is.
func braces(text string) string {
	if text == "" {
		return ""
	}
	return "{ " + text + "}"
}

// appendLocal matches traffic of this node's pods, or with not, all other traffic.
func (s *speller) appendLocal(dst []byte, local model.LocalTraffic, not bool) []byte {
	operator := ""
	if not {
		operator = "!= "
	}
	if local.Source.IsValid() {
		return local.Source.AppendTo(append(append(dst, s.source...), operator...))
	}
	dst = append(append(append(dst, "iifname "...), operator...), '"')
	if local.Interface != "" {
		dst = append(dst, local.Interface...)
	} else {
		dst = append(append(dst, local.InterfacePrefix...), '*')
	}
	return append(dst, '"')
}

// appendPrefixes appends a set of ranges.
func appendPrefixes(dst []byte, prefixes []netip.Prefix) []byte {
	for i, prefix := range prefixes {
		if i > 0 {
			dst = append(dst, " , "...)
		}
		dst = prefix.AppendTo(dst)
	}
	return dst
}

func appendUint(dst []byte, number uint16) []byte {
	return strconv.AppendUint(dst, uint64(number), 10)
}
