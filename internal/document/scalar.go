package document

import (
	"encoding"
	"encoding/base64"
	"encoding/json"
	"math"
	"reflect"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Describe names what a node is, for "want X, got Y".
func Describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	switch n.ShortTag() {
	case "!!null":
		return "nothing"
	case "!!bool":
		return "the boolean " + n.Value
	case "!!int", "!!float":
		return "the number " + n.Value
	}
	return "the string " + strconv.Quote(Shorten(n.Value))
}

// Shorten cuts a value to a length that a message can hold.
func Shorten(s string) string {
	if len(s) > 60 {
		return strings.ToValidUTF8(s[:60], "") + "..."
	}
	return s
}

// WrongType notes that a node is not what its field holds.
func (d *Decoder) WrongType(n *yaml.Node, want string) {
	advice := ""
	if want == "a string" && n.Kind == yaml.ScalarNode && !IsNull(n) {
		advice = " (put it in quotes)"
	}
	d.Errorf(n, "%swant %s, got %s%s", d.here(), want, Describe(n), advice)
}

// Scalar returns the text of a plain value, whatever its type; false, with the
// error noted, for a mapping or a list or nothing.
func (d *Decoder) Scalar(n *yaml.Node, want string) (string, bool) {
	n = Resolve(n)
	if n.Kind != yaml.ScalarNode || IsNull(n) {
		d.WrongType(n, want)
		return "", false
	}
	return n.Value, true
}

func (d *Decoder) scalarValue(n *yaml.Node, v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if !isString(n) {
			d.WrongType(n, "a string")
			return
		}
		v.SetString(n.Value)
	case reflect.Bool:
		if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!bool" {
			d.WrongType(n, "true or false")
			return
		}
		v.SetBool(strings.EqualFold(n.Value, "true"))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if i, ok := d.integer(n, v.Type().Bits()); ok {
			v.SetInt(i)
		}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		d.unsigned(n, v)
	case reflect.Float32, reflect.Float64:
		d.float(n, v)
	default:
		d.Errorf(n, "%svalues of type %s are not supported", d.here(), v.Type())
	}
}

// isString is true for what YAML 1.1 and 1.2 agree to be text, and for dates,
// which the API keeps as strings.
func isString(n *yaml.Node) bool {
	if n.Kind != yaml.ScalarNode {
		return false
	}
	tag := n.ShortTag()
	return tag == "!!str" || tag == "!!timestamp"
}

func isDecimal(n *yaml.Node) bool {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" {
		return false
	}
	digits := strings.TrimPrefix(n.Value, "-")
	return strings.Trim(digits, "0123456789") == "" && (digits == "0" || !strings.HasPrefix(digits, "0"))
}

func (d *Decoder) integer(n *yaml.Node, bits int) (int64, bool) {
	if !isDecimal(n) {
		d.WrongType(n, "a whole number in plain decimal digits")
		return 0, false
	}
	i, err := strconv.ParseInt(n.Value, 10, bits)
	if err != nil {
		d.Errorf(n, "%s%s does not fit into %d bits", d.here(), Shorten(n.Value), bits)
		return 0, false
	}
	return i, true
}

func (d *Decoder) unsigned(n *yaml.Node, v reflect.Value) {
	if !isDecimal(n) {
		d.WrongType(n, "a whole number in plain decimal digits")
		return
	}
	u, err := strconv.ParseUint(n.Value, 10, v.Type().Bits())
	if err != nil {
		d.Errorf(n, "%s%s must be between 0 and %d", d.here(), Shorten(n.Value), uint64(math.MaxUint64)>>(64-v.Type().Bits()))
		return
	}
	v.SetUint(u)
}

func (d *Decoder) float(n *yaml.Node, v reflect.Value) {
	f, err := strconv.ParseFloat(n.Value, v.Type().Bits())
	tag := n.ShortTag()
	if n.Kind != yaml.ScalarNode || tag != "!!int" && tag != "!!float" || err != nil {
		d.WrongType(n, "a number")
		return
	}
	v.SetFloat(f)
}

func (d *Decoder) bytesValue(n *yaml.Node, v reflect.Value) {
	b, err := base64.StdEncoding.DecodeString(n.Value)
	if n.Kind != yaml.ScalarNode || err != nil {
		d.WrongType(n, "base64 text")
		return
	}
	v.SetBytes(b)
}

// jsonValue hands a node to a type that reads itself from JSON, as
// metav1.Time, intstr.IntOrString and resource.Quantity do.
func (d *Decoder) jsonValue(n *yaml.Node, t reflect.Type, into json.Unmarshaler) {
	before := len(d.errs)
	value := d.anyValue(n)
	if len(d.errs) > before {
		return
	}
	text, err := json.Marshal(value)
	if err == nil {
		err = into.UnmarshalJSON(text)
	}
	if err != nil {
		d.Errorf(n, "%sgot %s, which is no valid %s: %v", d.here(), Describe(n), t.Name(), err)
	}
}

func (d *Decoder) textValue(n *yaml.Node, t reflect.Type, into encoding.TextUnmarshaler) {
	if !isString(n) {
		d.WrongType(n, "a string")
		return
	}
	if err := into.UnmarshalText([]byte(n.Value)); err != nil {
		d.Errorf(n, "%sgot %s, which is no valid %s: %v", d.here(), Describe(n), t.Name(), err)
	}
}

// anyValue decodes a node without a Go type to hold it: mappings, lists,
// strings, numbers, booleans.
func (d *Decoder) anyValue(n *yaml.Node) any {
	if !d.enter(n) {
		return nil
	}
	defer d.leave(n)
	n = Resolve(n)
	switch n.Kind {
	case yaml.MappingNode:
		out := make(map[string]any, len(n.Content)/2)
		d.pairs(n, "a mapping", func(key, value *yaml.Node) { out[key.Value] = d.anyValue(value) })
		return out
	case yaml.SequenceNode:
		out := make([]any, len(n.Content))
		for i, item := range n.Content {
			out[i] = d.anyValue(item)
		}
		return out
	}
	return d.anyScalar(n)
}

func (d *Decoder) anyScalar(n *yaml.Node) any {
	switch n.ShortTag() {
	case "!!null":
		return nil
	case "!!bool":
		return strings.EqualFold(n.Value, "true")
	case "!!int", "!!float":
		if !json.Valid([]byte(n.Value)) {
			d.WrongType(n, "a number in plain decimal digits")
			return nil
		}
		return json.Number(n.Value)
	}
	return n.Value
}
