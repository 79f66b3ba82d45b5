package xtables

import (
	"bytes"

	"github.com/chainwalk/chainwalk/internal/libc"
)

// ParseMAC reads six hexadecimal numbers with colons between them, each of them as strtoul does: with a sign or a blank before it, or
// none at all, but of no more than two letters.
func ParseMAC(s []byte) (mac [6]byte, err error) {
	for i := range mac {
		word, rest, more := bytes.Cut(s, []byte(":"))
		n, left := libc.CutHex(word)
		if len(left) > 0 || len(word) > 2 || more != (i < len(mac)-1) {
			return mac, BadParameter("Invalid MAC address specified.")
		}
		mac[i], s = byte(n), rest
	}
	return mac, nil
}
