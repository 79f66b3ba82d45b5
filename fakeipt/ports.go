package fakeipt

import "strconv"

// PortRange is a range of ports, both ends included. 0 to 65535 is any port.
type PortRange struct {
	Min, Max uint16
}

// anyPort is the range of a match without that option.
var anyPort = PortRange{Min: 0, Max: 65535}

// Any reports whether every port is in the range.
func (r PortRange) Any() bool { return r == anyPort }

// Contains reports whether port is in the range.
func (r PortRange) Contains(port uint16) bool { return r.Min <= port && port <= r.Max }

// appendSave appends the range as iptables-save prints it.
func (r PortRange) appendSave(dst []byte) []byte {
	dst = strconv.AppendUint(dst, uint64(r.Min), 10)
	if r.Min != r.Max {
		dst = append(dst, ':')
		dst = strconv.AppendUint(dst, uint64(r.Max), 10)
	}
	return dst
}

// appendList appends the range for a listing.
func (r PortRange) appendList(dst []byte, style listStyle) []byte {
	dst = appendPort(dst, r.Min, style)
	if r.Min != r.Max {
		dst = appendPort(append(dst, ':'), r.Max, style)
	}
	return dst
}

// appendPortOption appends " [!] --OPTION RANGE" where the range says anything.
func appendPortOption(dst []byte, option string, r PortRange, invert bool) []byte {
	if r.Any() {
		return dst
	}
	return r.appendSave(append(appendOption(dst, option, invert), ' '))
}

// appendPortList appends " WORD[s]:[!]RANGE" where the range says anything.
func appendPortList(dst []byte, word string, r PortRange, invert bool, style listStyle) []byte {
	if r.Any() && (!invert || style.dialect == NFT) {
		return dst
	}
	dst = append(dst, word...)
	if r.Min != r.Max {
		dst = append(dst, 's')
	}
	return r.appendList(append(append(dst, ':'), bang(invert)...), style)
}

// appendOption appends " [!] OPTION".
func appendOption(dst []byte, option string, invert bool) []byte {
	if invert {
		dst = append(dst, " !"...)
	}
	return append(append(dst, ' '), option...)
}

// bang is "!" or nothing.
func bang(invert bool) string {
	if invert {
		return "!"
	}
	return ""
}

// portsGiven knows which port options of tcp, udp and sctp a rule has.
type portsGiven struct {
	source, destination bool
	proto               uint8 // of the match
}

func (g *portsGiven) src(o *optionCall, r *PortRange, invert *bool) error {
	if g.source {
		return badParameter("Only one `--source-port' allowed")
	}
	return g.parse(o, r, invert, &g.source)
}

func (g *portsGiven) dst(o *optionCall, r *PortRange, invert *bool) error {
	if g.destination {
		return badParameter("Only one `--destination-port' allowed")
	}
	return g.parse(o, r, invert, &g.destination)
}

func (g *portsGiven) parse(o *optionCall, r *PortRange, invert, given *bool) error {
	var err error
	*r, err = parsePortRange(o.arg, g.proto)
	*invert, *given = o.invert, true
	return err
}

// portOptions are the options of the matches that have ports only.
var portOptions = []optionSpec{
	{name: "dport", invert: true, multi: true},
	{name: "sport", invert: true, multi: true},
	{name: "destination-port", invert: true, multi: true},
	{name: "source-port", invert: true, multi: true},
}
