package goiptables

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Stat is a rule with its counters, as iptables -L -n -v -x prints it.
type Stat struct {
	Packets     uint64     `json:"pkts"`
	Bytes       uint64     `json:"bytes"`
	Target      string     `json:"target"`
	Protocol    string     `json:"prot"`
	Opt         string     `json:"opt"`
	Input       string     `json:"in"`
	Output      string     `json:"out"`
	Source      *net.IPNet `json:"source"`
	Destination *net.IPNet `json:"destination"`
	Options     string     `json:"options"`
}

// The fields of a row of Stats.
const (
	fieldPackets = iota
	fieldBytes
	fieldTarget
	fieldProtocol
	fieldOpt
	fieldInput
	fieldOutput
	fieldSource
	fieldDestination
	fieldOptions
	fields
)

// Stats are the rules of a chain with their counters, ten fields each: packets, bytes, target, protocol, opt, in, out, source and
// destination, each with a prefix length, and all the rest as one.
func (i *IPTables) Stats(table, chain string) ([][]string, error) {
	lines, err := i.lines(table, "-L", chain, "-n", "-v", "-x")
	if err != nil {
		return nil, err
	}
	if len(lines) > 0 && strings.HasPrefix(lines[0], "#") {
		lines = lines[1:] // a warning that tables of the other dialect are there
	}
	const head = 2 // the chain, and the names of the fields
	rows := [][]string{}
	for _, line := range lines[min(head, len(lines)):] {
		row, err := i.row(line)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// row are the fields of a line. The target of a rule without one, and what ip6tables prints for opt, are blanks.
func (i *IPTables) row(line string) ([]string, error) {
	words := strings.Fields(line)
	source := slices.IndexFunc(words, func(word string) bool { _, ok := withLength(word); return ok })
	opt := slices.ContainsFunc(words[:max(source, 0)], func(word string) bool { return slices.Contains([]string{"--", "-f", "!f"}, word) })
	missing := fieldSource - source
	switch {
	case source < 0 || source+1 >= len(words):
		return nil, fmt.Errorf("no source and destination in %q", line)
	case missing > 0 && !opt:
		words = slices.Insert(words, source-2, "  ")
		missing--
	}
	if missing > 0 {
		words = slices.Insert(words, fieldTarget, "")
		missing--
	}
	if missing != 0 {
		return nil, fmt.Errorf("%q does not have the fields of a rule", line)
	}
	words[fieldSource], _ = withLength(words[fieldSource])
	words[fieldDestination], _ = withLength(words[fieldDestination])
	return append(words[:fieldOptions:fieldOptions], strings.Join(words[fieldOptions:], " ")), nil
}

// withLength is an address or a prefix, perhaps negated, with its length; false for any other word.
func withLength(word string) (string, bool) {
	text := strings.TrimPrefix(word, "!")
	if _, err := netip.ParsePrefix(text); err == nil {
		return word, true
	}
	a, err := netip.ParseAddr(text)
	if err != nil {
		return word, false
	}
	return word + "/" + strconv.Itoa(a.BitLen()), true
}

// ParseStat reads a row of Stats. A negated source or destination is an error, since a Stat cannot say it.
func (i *IPTables) ParseStat(stat []string) (Stat, error) {
	if len(stat) < fields {
		return Stat{}, fmt.Errorf("%d fields in %q: want %d", len(stat), stat, fields)
	}
	parsed := Stat{
		Target: stat[fieldTarget], Protocol: stat[fieldProtocol], Opt: stat[fieldOpt], Input: stat[fieldInput], Output: stat[fieldOutput],
		Options: stat[fieldOptions],
	}
	var err error
	if parsed.Packets, err = strconv.ParseUint(stat[fieldPackets], 10, 64); err != nil {
		return Stat{}, fmt.Errorf("packets: %w", err)
	}
	if parsed.Bytes, err = strconv.ParseUint(stat[fieldBytes], 10, 64); err != nil {
		return Stat{}, fmt.Errorf("bytes: %w", err)
	}
	if _, parsed.Source, err = net.ParseCIDR(stat[fieldSource]); err != nil {
		return Stat{}, fmt.Errorf("source: %w", err)
	}
	if _, parsed.Destination, err = net.ParseCIDR(stat[fieldDestination]); err != nil {
		return Stat{}, fmt.Errorf("destination: %w", err)
	}
	return parsed, nil
}

// StructuredStats are Stats, each read by ParseStat.
func (i *IPTables) StructuredStats(table, chain string) ([]Stat, error) {
	rows, err := i.Stats(table, chain)
	if err != nil {
		return nil, err
	}
	out := []Stat{}
	for _, row := range rows {
		parsed, err := i.ParseStat(row)
		if err != nil {
			return nil, err
		}
		out = append(out, parsed)
	}
	return out, nil
}
