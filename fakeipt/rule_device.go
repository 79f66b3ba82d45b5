package fakeipt

import "bytes"

// maxIfaceName is the length of a device's name.
const maxIfaceName = 15

// errEmptyDevice is a device without a name.
var errEmptyDevice = badParameter("Empty interface is likely to be undesired")

// deviceReader reads what -i and -o say; equal words give the same pointer.
type deviceReader struct {
	known map[string]*IfaceMatch // an inverted one has "!" before its name
}

func newDeviceReader() deviceReader { return deviceReader{known: map[string]*IfaceMatch{}} }

func (d *deviceReader) read(word []byte, invert bool) (*IfaceMatch, error) {
	if len(word) > maxIfaceName {
		return nil, badParameter("interface name `%s' must be shorter than IFNAMSIZ (%d)", word, maxIfaceName)
	}
	key := word
	if invert {
		key = append([]byte{'!'}, word...)
	}
	m := d.known[string(key)]
	if m == nil {
		name, prefix := bytes.CutSuffix(word, []byte("+"))
		m = &IfaceMatch{Name: string(name), Prefix: prefix, Invert: invert}
		d.known[string(key)] = m
	}
	return m, nil
}
