package fakeipt

import (
	"bytes"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
)

// errEmptyDevice is a device without a name.
var errEmptyDevice = xtables.BadParameter("Empty interface is likely to be undesired")

// deviceReader reads what -i and -o say; equal words give the same pointer.
type deviceReader struct {
	known map[string]*xtables.IfaceMatch // an inverted one has "!" before its name
}

func newDeviceReader() deviceReader { return deviceReader{known: map[string]*xtables.IfaceMatch{}} }

func (d *deviceReader) read(word []byte, invert bool) (*xtables.IfaceMatch, error) {
	if len(word) > xtables.MaxIfaceName {
		return nil, xtables.BadParameter("interface name `%s' must be shorter than IFNAMSIZ (%d)", word, xtables.MaxIfaceName)
	}
	key := word
	if invert {
		key = append([]byte{'!'}, word...)
	}
	m := d.known[string(key)]
	if m == nil {
		name, prefix := bytes.CutSuffix(word, []byte("+"))
		m = &xtables.IfaceMatch{Name: string(name), Prefix: prefix, Invert: invert}
		d.known[string(key)] = m
	}
	return m, nil
}
