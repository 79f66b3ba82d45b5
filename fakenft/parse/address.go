package parse

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// hexLen is the number of hexadecimal digits that a text begins with, at most limit.
func hexLen(s string, limit int) int {
	n := 0
	for n < len(s) && n < limit && isHex(s[n]) {
		n++
	}
	return n
}

// addressLen is the length of the longest IPv6 or MAC address or class ID that a text begins with; 0 if it begins with none.
func addressLen(s string) int { return max(ip6Len(s), macLen(s), classidLen(s)) }

// macLen is the length of six groups of one or two digits.
func macLen(s string) int {
	at := 0
	for group := range 6 {
		if group > 0 {
			if at >= len(s) || s[at] != ':' {
				return 0
			}
			at++
		}
		n := hexLen(s[at:], 2)
		if n == 0 {
			return 0
		}
		at += n
	}
	return at
}

// classidLen is the length of MAJOR:MINOR, which counts only before a blank, the end of the line, or one of ":-},". For the scanner that
// byte belongs to the match, so that an address must be longer than both to win; none that begins alike is one byte longer alone.
func classidLen(s string) int {
	n := hexLen(s, 4)
	if n == 0 || n >= len(s) || s[n] != ':' {
		return 0
	}
	m := hexLen(s[n+1:], 4)
	end := n + 1 + m
	if m == 0 || end >= len(s) {
		return 0
	}
	switch s[end] {
	case ' ', '\t', '\n', ':', '-', '}', ',':
		return end
	}
	return 0
}

// ip4Len is the length of four groups of one to three decimal digits.
func ip4Len(s string) int {
	at := 0
	for group := range 4 {
		if group > 0 {
			if at >= len(s) || s[at] != '.' {
				return 0
			}
			at++
		}
		n := 0
		for n < 3 && at < len(s) && s[at] >= '0' && s[at] <= '9' {
			n++
			at++
		}
		if n == 0 {
			return 0
		}
	}
	return at
}

// ip6Len is the length of the longest IPv6 address that a text begins with: eight groups, or at most seven with one "::" (so
// "1:2:3:4:5:6:7::" is one), or "::" and "::ffff:" with an IPv4 address.
func ip6Len(s string) int {
	at, groups, best := 0, 0, 0
	double := false
	for {
		if len(s) >= at+2 && s[at] == ':' && s[at+1] == ':' && !double && (groups > 0 || at == 0) {
			if groups > 7 {
				return best
			}
			double = true
			best = at + 2
			at += 2
			if groups == 0 {
				best = max(best, mappedLen(s))
			}
		} else if at > 0 {
			if at >= len(s) || s[at] != ':' {
				return best
			}
			at++
		}
		n := hexLen(s[at:], 4)
		limit := 8
		if double {
			limit = 7
		}
		if n == 0 || groups == limit {
			return best
		}
		groups++
		at += n
		if double || groups == 8 {
			best = max(best, at)
		}
	}
}

// mappedLen is the length of ::A.B.C.D or ::ffff:A.B.C.D.
func mappedLen(s string) int {
	at := 2
	if n := hexLen(s[at:], 4); n == 4 && (s[at:at+4] == "ffff" || s[at:at+4] == "FFFF") && len(s) > at+4 && s[at+4] == ':' {
		at += 5
	}
	if n := ip4Len(s[at:]); n > 0 {
		return at + n
	}
	return 0
}

// timeLen is the length of days, hours, minutes, seconds and milliseconds, in this order.
func timeLen(s string) int {
	at := 0
	for _, unit := range [...]string{"d", "h", "m", "s", "ms"} {
		n := at
		for n < len(s) && s[n] >= '0' && s[n] <= '9' {
			n++
		}
		if n == at || len(s) < n+len(unit) || s[n:n+len(unit)] != unit {
			continue
		}
		if unit == "m" && len(s) > n+1 && s[n+1] == 's' {
			continue // milliseconds, which make the longer match
		}
		at = n + len(unit)
	}
	return at
}
