package ipset

import (
	"math"
	"slices"
)

// maxTimeout is the greatest timeout in seconds.
const maxTimeout = 2147483

// typeAliases are older names of types.
var typeAliases = map[string]string{"iphash": "hash:ip", "nethash": "hash:net", "ipporthash": "hash:ip,port",
	"ipportiphash": "hash:ip,port,ip", "ipmap": "bitmap:ip", "macipmap": "bitmap:ip,mac", "ipportnethash": "hash:ip,port,net", "netporthash": "hash:net,port",
	"portmap": "bitmap:port", "setlist": "list:set"}

// parseCreate reads what follows "create NAME".
func parseCreate(typeName string, w *wordReader) (*setType, options, error) {
	var o options
	if full, ok := typeAliases[typeName]; ok {
		typeName = full
	}
	if len(typeName) > MaxName {
		return nil, o, errorf("Syntax error: typename '%s' is longer than %d characters", typeName, MaxName)
	}
	kind := findType(typeName)
	switch {
	case slices.Contains(typesWithoutModule[:], typeName):
		return nil, o, errNoModule
	case slices.Contains(typesNotHere[:], typeName):
		return nil, o, errorf("not supported: sets of type %s", typeName)
	case kind == nil:
		return nil, o, errorf("Syntax error: typename '%s' is unknown", typeName)
	}
	if kind.hash() {
		o = options{family: inet, hashSize: defaultHashSize, maxElem: defaultMaxElem, bucketSize: defaultBucketSize}
		if err := o.findFamily(kind, &wordReader{words: w.words}); err != nil {
			return nil, o, err
		}
	}
	if kind == listSet {
		o.size = defaultListSize
	}
	return kind, o, o.parseAll(kind, w)
}

// findFamily reads the family before the other options, since these depend on it. What is wrong with the others is seen later.
func (o *options) findFamily(kind *setType, w *wordReader) error {
	seen := false
	for {
		option, ok := w.next()
		if !ok || !slices.Contains(kind.createOptions(), option) {
			return nil
		}
		if option != "family" && option != "-4" && option != "-6" {
			if hasValue(option) {
				w.next()
			}
			continue
		}
		word := option
		if option == "family" {
			if word, ok = w.next(); !ok {
				return nil
			}
		}
		if seen {
			return errTwice(option)
		}
		seen = true
		if err := o.parseFamily(word); err != nil {
			return err
		}
	}
}

// hasValue says that a word follows the option of create.
func hasValue(option string) bool {
	return !slices.Contains([]string{"counters", "comment", "forceadd", "skbinfo", "-4", "-6"}, option)
}

// parseAll reads the options. A word that is no option, or has no value, counts for more than a wrong value before it.
func (o *options) parseAll(kind *setType, w *wordReader) error {
	var wrong, open error
	seen := map[string]bool{}
	for {
		option, ok := w.next()
		if !ok {
			break
		}
		if !slices.Contains(kind.createOptions(), option) {
			return unknownOption(option)
		}
		value := ""
		if hasValue(option) {
			var err error
			if value, err = w.value(option); err != nil {
				return err
			}
		}
		var err error
		switch {
		case seen[option] && hasValue(option):
			err = errTwice(option)
		case option == "range" && !hasRange(value):
			open = usagef("Mandatory option `to' is missing")
		default:
			err = o.parse(option, value)
		}
		seen[option] = true
		if wrong == nil {
			wrong = err
		}
	}
	if kind == bitmapPort && !seen["range"] {
		open = usagef("Mandatory option `range' is missing")
	}
	if wrong == nil {
		wrong = open
	}
	return wrong
}

// parse takes one option of create; that of the family is taken already.
func (o *options) parse(option, value string) error {
	var n uint64
	var err error
	switch option {
	case "counters":
		o.counters = true
	case "comment":
		o.comment = true
	case "skbinfo":
		o.skbInfo = true
	case "range":
		return o.parseRange(value)
	case "hashsize":
		n, err = parseNumber(value, 0, math.MaxUint32)
		o.hashSize = uint32(n)
	case "maxelem":
		n, err = parseNumber(value, 0, math.MaxUint32)
		o.maxElem = uint32(n)
	case "size":
		n, err = parseNumber(value, 0, math.MaxUint32)
		o.size = max(uint32(n), minListSize)
	case "timeout":
		n, err = parseNumber(value, 0, maxTimeout)
		o.timeout, o.hasTimeout = uint32(n), true
	case "netmask":
		return o.parseNetMask(value)
	case "bucketsize":
		n, err = parseNumber(value, 0, math.MaxUint8)
		o.bucketSize = bucketSize(n)
	case "initval":
		n, err = parseNumber(value, 0, math.MaxUint32)
		o.initVal = uint32(n)
	}
	return err
}

// bucketSize is the kernel's choice of the size of a bucket.
func bucketSize(n uint64) uint8 {
	n = max(n, 2)
	if n > defaultBucketSize {
		return defaultBucketSize
	}
	return uint8(n + n%2)
}

func (o *options) parseFamily(word string) error {
	switch word {
	case "inet", "ipv4", "-4":
		o.family = inet
	case "inet6", "ipv6", "-6":
		o.family = inet6
	default:
		return errorf("Syntax error: unknown inet family %s", word)
	}
	return nil
}

func (o *options) parseNetMask(value string) error {
	bits := uint64(o.family.bits())
	n, err := parseNumber(value, 1, bits)
	if err != nil {
		return errorf("%v\nSyntax error: netmask is out of the inclusive range of 1-%d", err, bits)
	}
	o.netMask = uint8(n)
	return nil
}

// hasRange says that a value of "range" has an end that may be one: a single port has none.
func hasRange(value string) bool {
	_, _, found := cutAt(value, '-')
	if found {
		return true
	}
	_, err := parsePort(value, "tcp")
	return err != nil
}

func (o *options) parseRange(value string) error {
	var e element
	if err := e.parsePort("create", value, 0); err != nil {
		return err
	}
	o.minPort, o.maxPort = e.port, e.last
	return nil
}
