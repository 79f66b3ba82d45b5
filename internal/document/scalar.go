package document

import (
	"encoding"
	"encoding/base64"
	"encoding/json"
	"reflect"
	"slices"
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
func (d *Decoder) WrongType(n *yaml.Node, want string) { d.wrongType(n, nil, want) }

func (d *Decoder) wrongType(n *yaml.Node, t reflect.Type, want string) {
	d.problem(n, &Problem{Kind: WrongType, Type: t, want: want})
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
		d.stringValue(n, v)
	case reflect.Bool:
		if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!bool" || n.Decode(v.Addr().Interface()) != nil {
			d.wrongType(n, v.Type(), "true or false")
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		d.wholeNumber(n, v)
	case reflect.Float32, reflect.Float64:
		d.float(n, v)
	default:
		d.Errorf(n, "%svalues of type %s are not supported", d.here(), v.Type())
	}
}

func (d *Decoder) stringValue(n *yaml.Node, v reflect.Value) {
	switch {
	case d.rules.YAMLStrings && n.Kind == yaml.ScalarNode && n.ShortTag() == "!!binary":
		if n.Decode(v.Addr().Interface()) != nil {
			d.wrongType(n, v.Type(), "base64 text")
		}
	case !d.isText(n):
		d.wrongType(n, v.Type(), "a string")
	default:
		v.SetString(n.Value)
	}
}

// isText says whether a value is taken where a text belongs.
func (d *Decoder) isText(n *yaml.Node) bool {
	if !d.rules.YAMLScalars {
		return isString(n)
	}
	return n.Kind == yaml.ScalarNode && slices.Contains([]string{"!!str", "!!int", "!!float", "!!bool", "!!timestamp"}, n.ShortTag())
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
	digits := strings.TrimPrefix(n.Value, "-")
	return strings.Trim(digits, "0123456789") == "" && (digits == "0" || !strings.HasPrefix(digits, "0"))
}

func (d *Decoder) wholeNumber(n *yaml.Node, v reflect.Value) {
	isNumber := n.Kind == yaml.ScalarNode && n.ShortTag() == "!!int"
	switch {
	case !isNumber && d.rules.YAMLScalars:
		d.wrongType(n, v.Type(), "a whole number")
	case !isNumber, !d.rules.YAMLScalars && !isDecimal(n):
		d.wrongType(n, v.Type(), "a whole number in plain decimal digits")
	default:
		if err := d.setNumber(n, v); err != nil {
			d.problem(n, &Problem{Kind: OutOfRange, Type: v.Type()})
		}
	}
}

func (d *Decoder) setNumber(n *yaml.Node, v reflect.Value) error {
	if d.rules.YAMLScalars {
		return n.Decode(v.Addr().Interface())
	}
	if v.CanUint() {
		u, err := strconv.ParseUint(n.Value, 10, v.Type().Bits())
		if err == nil {
			v.SetUint(u)
		}
		return err
	}
	i, err := strconv.ParseInt(n.Value, 10, v.Type().Bits())
	if err == nil {
		v.SetInt(i)
	}
	return err
}

func (d *Decoder) float(n *yaml.Node, v reflect.Value) {
	f, err := strconv.ParseFloat(n.Value, v.Type().Bits())
	tag := n.ShortTag()
	if n.Kind != yaml.ScalarNode || tag != "!!int" && tag != "!!float" || err != nil {
		d.wrongType(n, v.Type(), "a number")
		return
	}
	v.SetFloat(f)
}

func (d *Decoder) bytesValue(n *yaml.Node, v reflect.Value) {
	b, err := base64.StdEncoding.DecodeString(n.Value)
	if n.Kind != yaml.ScalarNode || err != nil {
		d.wrongType(n, v.Type(), "base64 text")
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
		d.problem(n, &Problem{Kind: Invalid, Type: t, Err: err})
	}
}

func (d *Decoder) textValue(n *yaml.Node, t reflect.Type, into encoding.TextUnmarshaler) {
	// In YAML an address or a number is one word of whatever type, but a word.
	if !d.rules.YAMLScalars && !isString(n) || d.rules.YAMLScalars && (n.Kind != yaml.ScalarNode || n.Value == "") {
		d.wrongType(n, t, "a string")
		return
	}
	if err := into.UnmarshalText([]byte(n.Value)); err != nil {
		d.problem(n, &Problem{Kind: Invalid, Type: t, Err: err})
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
		d.Pairs(n, "a mapping", func(key, value *yaml.Node) { out[key.Value] = d.anyValue(value) })
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
