package xtables

import (
	"strconv"
	"strings"
)

// AppendHex appends n as "0x" and hexadecimal digits without leading zeros.
func AppendHex(dst []byte, n uint32) []byte {
	return strconv.AppendUint(append(dst, "0x"...), uint64(n), 16)
}

// AppendMark appends a mark and, unless it is all ones, its mask.
func AppendMark(dst []byte, value, mask uint32) []byte {
	dst = AppendHex(append(dst, ' '), value)
	if mask != 0xffffffff {
		dst = AppendHex(append(dst, '/'), mask)
	}
	return dst
}

// AppendOption appends " [!] OPTION".
func AppendOption(dst []byte, option string, invert bool) []byte {
	if invert {
		dst = append(dst, " !"...)
	}
	return append(append(dst, ' '), option...)
}

// AppendAfter appends " WORD [!]".
func AppendAfter(dst []byte, word string, invert bool) []byte {
	dst = append(append(dst, ' '), word...)
	if invert {
		dst = append(dst, " !"...)
	}
	return dst
}

// Bang is "!" or nothing.
func Bang(invert bool) string {
	if invert {
		return "!"
	}
	return ""
}

// flagWord is a word that is printed if its flag is set.
type flagWord struct {
	word string
	set  bool
}

// WordIf is a word that is printed if set.
func WordIf(word string, set bool) flagWord { return flagWord{word, set} }

// AppendFlags appends the words whose flags are set, each with the prefix before it.
func AppendFlags(dst []byte, prefix string, words ...flagWord) []byte {
	for _, w := range words {
		if w.set {
			dst = append(append(dst, prefix...), w.word...)
		}
	}
	return dst
}

// plainByte says that a byte needs no quotes in iptables-save.
func plainByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-'
}

// AppendQuoted appends a space and the string, in quotes unless it is plain.
func AppendQuoted(dst []byte, s string) []byte {
	dst = append(dst, ' ')
	plain := s != ""
	for i := 0; i < len(s) && plain; i++ {
		plain = plainByte(s[i])
	}
	if plain {
		return append(dst, s...)
	}
	return AppendInQuotes(dst, s)
}

// AppendInQuotes appends the string in quotes.
func AppendInQuotes(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"', '\\', '\'':
			dst = append(dst, '\\')
		}
		dst = append(dst, s[i])
	}
	return append(dst, '"')
}

// QuoteArgs are arguments as they stand in restore input, each with a space before it, and in quotes where it would not be read as one
// otherwise.
func QuoteArgs(args []string) string {
	var out []byte
	for _, arg := range args {
		if out = append(out, ' '); arg == "" || strings.ContainsAny(arg, " \t\"'\\") {
			out = AppendInQuotes(out, arg)
		} else {
			out = append(out, arg...)
		}
	}
	return string(out)
}

// Bit is '0' or '1'.
func Bit(set bool) byte {
	if set {
		return '1'
	}
	return '0'
}
