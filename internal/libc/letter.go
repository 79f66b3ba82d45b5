package libc

import "bytes"

// Lower is the word in small letters, as tolower makes them of each byte in the C locale.
func Lower(word []byte) []byte {
	lower := bytes.Clone(word)
	for i, c := range lower {
		if 'A' <= c && c <= 'Z' {
			lower[i] = c + 'a' - 'A'
		}
	}
	return lower
}
