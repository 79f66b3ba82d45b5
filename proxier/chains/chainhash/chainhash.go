// Package chainhash has the hashes at the ends of chains' names. It is a package of its own, since it links SHA-256, which readers of names
// do not need.
package chainhash

import (
	"crypto/sha256"
	"encoding/base32"
)

// Hash ends the name of a chain. A chain name holds at most 28 bytes.
type Hash [16]byte

// Of returns the first 16 characters of the base32 text of the SHA-256 sum. The key of a service port is "NAMESPACE/NAME:PORT", or
// "NAMESPACE/NAME" where the port has no name, and its protocol in small letters; that of an endpoint is the service port's with
// "ADDRESS:PORT" behind it, an IPv6 address in brackets.
func Of(key []byte) Hash {
	sum := sha256.Sum256(key)
	var text Hash
	base32.StdEncoding.Encode(text[:], sum[:10])
	return text
}
