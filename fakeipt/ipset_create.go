package fakeipt

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// maxSetTimeout is the greatest timeout in seconds.
const maxSetTimeout = 2147483

// setTypeAliases are older names of types.
var setTypeAliases = map[string]string{"iphash": "hash:ip", "nethash": "hash:net", "ipporthash": "hash:ip,port",
	"ipportiphash": "hash:ip,port,ip", "ipportnethash": "hash:ip,port,net", "netporthash": "hash:net,port",
	"portmap": "bitmap:port", "setlist": "list:set"}

// setWords are the words behind a command, taken one after the other.
type setWords struct {
	words []string
}

func (w *setWords) next() (string, bool) {
	if len(w.words) == 0 {
		return "", false
	}
	word := w.words[0]
	w.words = w.words[1:]
	return word, true
}

// value is the argument of an option.
func (w *setWords) value(option string) (string, error) {
	word, ok := w.next()
	if !ok {
		return "", setUsagef("Missing mandatory argument of option `%s'", option)
	}
	return word, nil
}

// number is the argument of an option that is a number.
func (w *setWords) number(option string, low, high uint64) (uint64, error) {
	word, err := w.value(option)
	if err != nil {
		return 0, err
	}
	return setNumber(word, low, high)
}

// parseCreate reads what follows "create NAME".
func parseCreate(typeName string, w *setWords) (*setKind, IPSetOptions, error) {
	var o IPSetOptions
	if full, ok := setTypeAliases[typeName]; ok {
		typeName = full
	}
	kind := findSetKind(typeName)
	if kind == nil {
		return nil, o, setErrorf("Syntax error: typename '%s' is unknown", typeName)
	}
	if kind.hash() {
		o = IPSetOptions{Family: IPv4, HashSize: setHashSize, MaxElem: setMaxElem, BucketSize: setBucketSize}
	}
	if kind == listSetKind {
		o.Size = setListSize
	}
	ranged := false
	for {
		option, ok := w.next()
		if !ok {
			break
		}
		if !slices.Contains(kind.createOptions(), option) {
			return nil, o, unknownSetOption(option)
		}
		ranged = ranged || option == "range"
		if err := o.parse(option, w); err != nil {
			return nil, o, err
		}
	}
	if kind == bitmapPortKind && !ranged {
		return nil, o, setUsagef("Mandatory option `range' is missing")
	}
	return kind, o, nil
}

func unknownSetOption(word string) error {
	if slices.Contains([]string{"forceadd", "skbinfo", "bitmask", "skbmark", "skbprio", "skbqueue"}, word) {
		return setErrorf("not supported: option `%s'", word)
	}
	return setUsagef("Unknown argument: `%s'", word)
}

// parse reads one option of create.
func (o *IPSetOptions) parse(option string, w *setWords) error {
	var n uint64
	var err error
	switch option {
	case "counters":
		o.Counters = true
	case "comment":
		o.Comment = true
	case "family":
		return o.parseFamily(w)
	case "range":
		return o.parseRange(w)
	case "hashsize":
		n, err = w.number(option, 0, math.MaxUint32)
		o.HashSize = uint32(n)
	case "maxelem":
		n, err = w.number(option, 0, math.MaxUint32)
		o.MaxElem = uint32(n)
	case "size":
		n, err = w.number(option, 0, math.MaxUint32)
		o.Size = max(uint32(n), setMinListSize)
	case "timeout":
		n, err = w.number(option, 0, maxSetTimeout)
		o.Timeout, o.HasTimeout = uint32(n), true
	case "netmask":
		return o.parseNetMask(w)
	case "bucketsize":
		n, err = w.number(option, 0, math.MaxUint8)
		o.BucketSize = setBucketOf(n)
	case "initval":
		n, err = w.number(option, 0, math.MaxUint32)
		o.InitVal = uint32(n)
	}
	return err
}

// setBucketOf is the kernel's choice of the size of a bucket.
func setBucketOf(n uint64) uint8 {
	n = max(n, 2)
	if n > setBucketSize {
		return setBucketSize
	}
	return uint8(n + n%2)
}

func (o *IPSetOptions) parseFamily(w *setWords) error {
	word, err := w.value("family")
	if err != nil {
		return err
	}
	switch word {
	case "inet", "ipv4", "-4":
		o.Family = IPv4
	case "inet6", "ipv6", "-6":
		o.Family = IPv6
	default:
		return setErrorf("Syntax error: unknown inet family %s", word)
	}
	return nil
}

func (o *IPSetOptions) parseNetMask(w *setWords) error {
	bits := uint64(max(o.Family, IPv4).facts().bits)
	n, err := w.number("netmask", 1, bits)
	if err != nil {
		return setErrorf("%v\nSyntax error: netmask is out of the inclusive range of 1-%d", err, bits)
	}
	o.NetMask = uint8(n)
	return nil
}

func (o *IPSetOptions) parseRange(w *setWords) error {
	word, err := w.value("range")
	if err != nil {
		return err
	}
	if !strings.Contains(word, "-") {
		return setUsagef("Mandatory option `to' is missing")
	}
	var e setElement
	if err := e.parsePorts(word, "tcp"); err != nil {
		return err
	}
	o.MinPort, o.MaxPort = e.port, e.last
	return nil
}

// same reports whether the kernel takes options for those of a set that is there.
func (o IPSetOptions) same(p IPSetOptions) bool {
	for _, x := range []*IPSetOptions{&o, &p} {
		x.Family, x.HashSize, x.InitVal, x.BucketSize = 0, 0, 0, 0
	}
	return o == p
}

// appendHeader appends the options of create as list and save print them.
func (s *IPSet) appendHeader(dst []byte) []byte {
	o := &s.options
	netmask := func() {
		if o.NetMask != 0 {
			dst = fmt.Appendf(dst, " netmask %d", o.NetMask)
		}
	}
	switch s.kind {
	case bitmapPortKind:
		dst = fmt.Appendf(dst, " range %d-%d", o.MinPort, o.MaxPort)
	case listSetKind:
		dst = fmt.Appendf(dst, " size %d", o.Size)
	default:
		family := "inet"
		if o.Family == IPv6 {
			family = "inet6"
		}
		dst = fmt.Appendf(dst, " family %s hashsize %d maxelem %d", family, o.HashSize, o.MaxElem)
		if len(s.kind.parts) == 1 {
			netmask()
		}
	}
	if o.HasTimeout {
		dst = fmt.Appendf(dst, " timeout %d", o.Timeout)
	}
	dst = appendFlags(dst, " ", flagWord{"counters", o.Counters}, flagWord{"comment", o.Comment})
	if s.kind.hash() {
		dst = fmt.Appendf(dst, " bucketsize %d initval 0x%08x", o.BucketSize, o.InitVal)
		if len(s.kind.parts) > 1 {
			netmask()
		}
	}
	return dst
}
