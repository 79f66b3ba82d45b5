package fakeipt

import (
	"fmt"
	"math"
	"slices"
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
	if len(typeName) > maxSetName {
		return nil, o, setErrorf("Syntax error: typename '%s' is longer than %d characters", typeName, maxSetName)
	}
	kind := findSetKind(typeName)
	if kind == nil {
		return nil, o, setErrorf("Syntax error: typename '%s' is unknown", typeName)
	}
	if kind.hash() {
		o = IPSetOptions{Family: IPv4, HashSize: setHashSize, MaxElem: setMaxElem, BucketSize: setBucketSize}
		if err := o.findFamily(kind, &setWords{words: w.words}); err != nil {
			return nil, o, err
		}
	}
	if kind == listSetKind {
		o.Size = setListSize
	}
	return kind, o, o.parseAll(kind, w)
}

// findFamily reads the family before the other options, since these depend on it. What is wrong with the others is seen later.
func (o *IPSetOptions) findFamily(kind *setKind, w *setWords) error {
	seen := false
	for {
		option, ok := w.next()
		if !ok || !slices.Contains(kind.createOptions(), option) {
			return nil
		}
		if option != "family" && option != "-4" && option != "-6" {
			if setOptionHasValue(option) {
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
			return errSetTwice(option)
		}
		seen = true
		if err := o.parseFamily(word); err != nil {
			return err
		}
	}
}

// setOptionHasValue says that a word follows the option of create.
func setOptionHasValue(option string) bool {
	return !slices.Contains([]string{"counters", "comment", "forceadd", "skbinfo", "-4", "-6"}, option)
}

// parseAll reads the options. A word that is no option, or has no value, counts for more than a wrong value before it.
func (o *IPSetOptions) parseAll(kind *setKind, w *setWords) error {
	var wrong, open error
	seen := map[string]bool{}
	for {
		option, ok := w.next()
		if !ok {
			break
		}
		if !slices.Contains(kind.createOptions(), option) {
			return unknownSetOption(option)
		}
		value := ""
		if setOptionHasValue(option) {
			var err error
			if value, err = w.value(option); err != nil {
				return err
			}
		}
		var err error
		switch {
		case seen[option] && setOptionHasValue(option):
			err = errSetTwice(option)
		case option == "range" && !hasSetRange(value):
			open = setUsagef("Mandatory option `to' is missing")
		default:
			err = o.parse(option, value)
		}
		seen[option] = true
		if wrong == nil {
			wrong = err
		}
	}
	if kind == bitmapPortKind && !seen["range"] {
		open = setUsagef("Mandatory option `range' is missing")
	}
	if wrong == nil {
		wrong = open
	}
	return wrong
}

func errSetTwice(option string) error {
	return setErrorf("Syntax error: %s already specified", option)
}

func unknownSetOption(word string) error {
	if word == "bitmask" {
		return setErrorf("not supported: option `%s'", word)
	}
	return setUsagef("Unknown argument: `%s'", word)
}

// parse takes one option of create; that of the family is taken already.
func (o *IPSetOptions) parse(option, value string) error {
	var n uint64
	var err error
	switch option {
	case "counters":
		o.Counters = true
	case "comment":
		o.Comment = true
	case "skbinfo":
		o.SKBInfo = true
	case "range":
		return o.parseRange(value)
	case "hashsize":
		n, err = setNumber(value, 0, math.MaxUint32)
		o.HashSize = uint32(n)
	case "maxelem":
		n, err = setNumber(value, 0, math.MaxUint32)
		o.MaxElem = uint32(n)
	case "size":
		n, err = setNumber(value, 0, math.MaxUint32)
		o.Size = max(uint32(n), setMinListSize)
	case "timeout":
		n, err = setNumber(value, 0, maxSetTimeout)
		o.Timeout, o.HasTimeout = uint32(n), true
	case "netmask":
		return o.parseNetMask(value)
	case "bucketsize":
		n, err = setNumber(value, 0, math.MaxUint8)
		o.BucketSize = setBucketOf(n)
	case "initval":
		n, err = setNumber(value, 0, math.MaxUint32)
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

func (o *IPSetOptions) parseFamily(word string) error {
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

func (o *IPSetOptions) parseNetMask(value string) error {
	bits := uint64(max(o.Family, IPv4).facts().bits)
	n, err := setNumber(value, 1, bits)
	if err != nil {
		return setErrorf("%v\nSyntax error: netmask is out of the inclusive range of 1-%d", err, bits)
	}
	o.NetMask = uint8(n)
	return nil
}

// hasSetRange says that a value of "range" has an end that may be one: a single port has none.
func hasSetRange(value string) bool {
	_, _, found := setCut(value, '-')
	if found {
		return true
	}
	_, err := setPort(value, "tcp")
	return err != nil
}

func (o *IPSetOptions) parseRange(value string) error {
	var e setElement
	if err := e.parsePort("create", value, 0); err != nil {
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

// setField is an option of a set or an entry as list and save print it; text is empty for an option without a value.
type setField struct{ name, text string }

// appendFields appends fields as list and save print them.
func appendFields(dst []byte, fields []setField) []byte {
	for _, f := range fields {
		dst = append(append(dst, ' '), f.name...)
		if f.text != "" {
			dst = append(append(dst, ' '), f.text...)
		}
	}
	return dst
}

// header are the options of create.
func (s *IPSet) header() []setField {
	o := &s.options
	var fields []setField
	add := func(has bool, name, format string, args ...any) {
		if has {
			fields = append(fields, setField{name, fmt.Sprintf(format, args...)})
		}
	}
	hash := s.kind.hash()
	add(s.kind == bitmapPortKind, "range", "%d-%d", o.MinPort, o.MaxPort)
	add(s.kind == listSetKind, "size", "%d", o.Size)
	if hash {
		add(o.Family == IPv6, "family", "inet6")
		add(o.Family != IPv6, "family", "inet")
		add(true, "hashsize", "%d", o.HashSize)
		add(true, "maxelem", "%d", o.MaxElem)
		add(o.NetMask != 0 && len(s.kind.parts) == 1, "netmask", "%d", o.NetMask)
	}
	add(o.HasTimeout, "timeout", "%d", o.Timeout)
	add(o.Counters, "counters", "")
	add(o.Comment, "comment", "")
	add(o.SKBInfo, "skbinfo", "")
	add(hash, "bucketsize", "%d", o.BucketSize)
	add(hash, "initval", "0x%08x", o.InitVal)
	add(hash && o.NetMask != 0 && len(s.kind.parts) > 1, "netmask", "%d", o.NetMask)
	return fields
}
