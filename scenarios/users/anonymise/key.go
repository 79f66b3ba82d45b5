package anonymise

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"fmt"
	"time"
)

// Key decides what addresses, devices and times become. Who has it can undo the renaming of them.
type Key [16]byte

// NewKey is one that nobody can guess.
func NewKey() Key {
	var k Key
	_, _ = rand.Read(k[:]) // it never fails
	return k
}

// ParseKey reads a key of 32 hexadecimal digits.
func ParseKey(text string) (Key, error) {
	var k Key
	bytes, err := hex.DecodeString(text)
	if err != nil || len(bytes) != len(k) {
		return k, fmt.Errorf("a key has %d hexadecimal digits, such as those of: openssl rand -hex %d", 2*len(k), len(k))
	}
	copy(k[:], bytes)
	return k, nil
}

// chance is what looks like chance to everybody without the key, and is the same each time. Kind tells apart what it is for.
func (k Key) chance(kind string, of []byte) [sha256.Size]byte {
	mac := hmac.New(sha256.New, k[:])
	mac.Write([]byte{byte(len(kind))})
	mac.Write([]byte(kind))
	mac.Write(of)
	return [sha256.Size]byte(mac.Sum(nil))
}

// hash is as long as those that end the names of kube-proxy's chains.
func (k Key) hash(kind, of string) string {
	sum := k.chance(kind, []byte(of))
	return base32.StdEncoding.EncodeToString(sum[:10])
}

// years is how far times are moved at most.
const years = 20

// shift is how far times are moved: whole seconds into the past.
func (k Key) shift() time.Duration {
	sum := k.chance("time", nil)
	seconds := (uint64(sum[0])<<24 | uint64(sum[1])<<16 | uint64(sum[2])<<8 | uint64(sum[3])) % (years * 365 * 24 * 3600)
	return -time.Duration(seconds) * time.Second
}
