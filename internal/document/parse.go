package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

const (
	// maxInput is more than twice a dump of 10,000 services with their slices and pods.
	maxInput = 128 << 20
	// maxYAMLLine leaves room for every annotation that the API server accepts
	// (256 KiB each object). JSON may be one long line and is not held to it.
	maxYAMLLine = 1 << 20
)

// Document is one YAML document of an input.
type Document struct {
	file string
	Node *yaml.Node // the top value, never a document node
}

// At returns the position of a node of a file.
func At(file string, n *yaml.Node) Position {
	return Position{File: file, Line: n.Line, Column: n.Column}
}

// Open opens the file of that name and makes it Plain; "-" is stdin, whose name in errors is
// "<stdin>". The caller closes what it gets.
func Open(path string, stdin io.Reader) (io.ReadCloser, string, error) {
	name, in := "<stdin>", io.NopCloser(stdin)
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, path, fmt.Errorf("read %s: %w", path, cause(err))
		}
		name, in = path, f
	}
	text, err := Plain(in)
	if err != nil {
		_ = in.Close() // only read
		return nil, name, fmt.Errorf("read %s: %w", name, err)
	}
	return &opened{text, in}, name, nil
}

// opened is a text and the file that it is in.
type opened struct {
	io.Reader
	io.Closer
}

// cause drops the path that os already wrote into the error.
func cause(err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// Parse reads a stream of YAML or JSON documents by the zero Rules. Empty documents are left
// out; an input without any document gives none and no error. The name is for
// errors only.
func Parse(name string, r io.Reader) ([]*Document, error) {
	in, err := (&Rules{}).open(name, r)
	if err != nil {
		return nil, err
	}
	var docs []*Document
	for {
		n, err := in.next()
		if errors.Is(err, io.EOF) {
			return docs, nil
		}
		if err != nil {
			return nil, err
		}
		if top := topValue(n); top.Kind != 0 && !IsNull(top) {
			docs = append(docs, &Document{file: name, Node: top})
		}
	}
}

// ParseOne reads the one document that the input must hold.
func (r *Rules) ParseOne(name string, reader io.Reader) (*Document, error) {
	in, err := r.open(name, reader)
	if err != nil {
		return nil, err
	}
	first, err := in.next()
	if errors.Is(err, io.EOF) {
		return nil, r.error(Position{name, 1, 1}, &Problem{Kind: NoDocument})
	}
	if err != nil {
		return nil, err
	}
	second, err := in.next()
	switch {
	case err == nil:
		return nil, r.error(At(name, second), &Problem{Kind: SecondDocument})
	case !errors.Is(err, io.EOF):
		return nil, err
	}
	return &Document{file: name, Node: topValue(first)}, nil
}

// open reads all of the input and refuses what is not text.
func (r *Rules) open(name string, reader io.Reader) (*input, error) {
	if !r.AnyLength {
		reader = io.LimitReader(reader, maxInput+1)
	}
	data, err := io.ReadAll(reader)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, cause(err))
	}
	if !r.AnyLength && len(data) > maxInput {
		return nil, &Error{Position: Position{File: name},
			Msg: fmt.Sprintf("more than %d MiB of input (split it into several files)", maxInput>>20)}
	}
	if err := r.checkText(name, data); err != nil {
		return nil, err
	}
	in := &input{name: name, data: data, values: jsonValues(data)}
	in.decoder = yaml.NewDecoder(bytes.NewReader(in.values[0].data))
	return in, nil
}

// jsonValue is one of several values of JSON that stand one after the other.
type jsonValue struct {
	data []byte
	line int // the number of lines before it
}

// jsonValues takes apart what people make of several outputs in JSON, each of which begins a line: YAML knows no such stream. Everything
// else is one.
func jsonValues(data []byte) []jsonValue {
	whole := []jsonValue{{data: data}}
	if !startsLikeJSON(data) {
		return whole
	}
	var values []jsonValue
	decoder := json.NewDecoder(bytes.NewReader(data))
	for begin, line := 0, 0; ; {
		var value json.RawMessage
		err := decoder.Decode(&value)
		switch end := int(decoder.InputOffset()); {
		case errors.Is(err, io.EOF) && len(values) > 1:
			return values
		case err != nil || len(values) > 0 && !bytes.ContainsRune(data[begin:end-len(value)], '\n'):
			return whole
		default:
			values = append(values, jsonValue{data[begin:end], line})
			line += bytes.Count(data[begin:end], []byte("\n"))
			begin = end
		}
	}
}

// checkText refuses what no YAML parser should be given, since the library's
// own messages for it carry no position or come late.
func (r *Rules) checkText(name string, data []byte) error {
	if r.UTF16 && (bytes.HasPrefix(data, []byte("\xfe\xff")) || bytes.HasPrefix(data, []byte("\xff\xfe"))) {
		return nil
	}
	bounded := !r.AnyLength && !startsLikeJSON(data)
	for line := 1; len(data) > 0; line++ {
		text, rest, _ := bytes.Cut(data, []byte("\n"))
		if len(text) > maxYAMLLine && bounded {
			return &Error{Position: Position{File: name, Line: line, Column: maxYAMLLine + 1},
				Msg: fmt.Sprintf("the line is longer than %d MiB (is this a manifest?)", maxYAMLLine>>20)}
		}
		if at, p := notText(text); p != nil {
			return r.error(Position{File: name, Line: line, Column: utf8.RuneCount(text[:at]) + 1}, p)
		}
		data = rest
	}
	return nil
}

func startsLikeJSON(data []byte) bool {
	data = bytes.TrimLeft(data, " \t\r\n")
	return len(data) > 0 && (data[0] == '{' || data[0] == '[')
}

// notText finds the first byte of a line that cannot be in a YAML file, and
// says what it is; nil if the line is all text.
func notText(line []byte) (at int, p *Problem) {
	for i := 0; i < len(line); {
		c := line[i]
		if c >= ' ' && c < 0x7f || c == '\t' || c == '\r' {
			i++
			continue
		}
		r, size := utf8.DecodeRune(line[i:])
		if r == utf8.RuneError && size == 1 {
			return i, &Problem{Kind: NotUTF8, Name: fmt.Sprintf("%#02x", c)}
		}
		if r < ' ' || notInYAML(r) && r != nextLine && r != byteOrderMark {
			return i, &Problem{Kind: ControlCharacter, Name: fmt.Sprintf("%U", r)}
		}
		i += size
	}
	return 0, nil
}

// Characters that YAML takes, but not as part of what stands around them.
const (
	nextLine      = 0x85
	byteOrderMark = 0xfeff
)

// notInYAML says whether a character has to be written as an escape.
func notInYAML(r rune) bool {
	return r >= 0x7f && r < 0xa0 || r == byteOrderMark || r == 0xfffe || r == 0xffff
}

// input is a text on the way through the library.
type input struct {
	name    string
	data    []byte
	values  []jsonValue // what is read yet, and the one that is being read
	decoder *yaml.Decoder
}

// next is the next document node, or io.EOF.
func (in *input) next() (n *yaml.Node, err error) {
	// The library panics on its own errors and recovers those only.
	defer func() {
		if r := recover(); r != nil {
			n, err = nil, &Error{Position: Position{File: in.name}, Msg: fmt.Sprintf("not YAML: %v", r)}
		}
	}()
	n = &yaml.Node{}
	err = in.decoder.Decode(n)
	for errors.Is(err, io.EOF) && len(in.values) > 1 {
		in.values = in.values[1:]
		in.decoder = yaml.NewDecoder(bytes.NewReader(in.values[0].data))
		err = in.decoder.Decode(n)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, in.syntaxError(err)
	}
	if lines := in.values[0].line; lines > 0 {
		moveDown(n, lines)
	}
	return n, err
}

// moveDown puts a value where it is in the whole text.
func moveDown(n *yaml.Node, lines int) {
	n.Line += lines
	for _, child := range n.Content {
		moveDown(child, lines)
	}
}

// topValue unwraps a document node; an empty document holds null.
func topValue(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.DocumentNode && len(n.Content) == 1 {
		return n.Content[0]
	}
	return n
}

var yamlError = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)

// syntaxError gives the library's error a position. It knows the line only;
// the column is that of the line's first character. It does not name the first line.
func (in *input) syntaxError(err error) error {
	m := yamlError.FindStringSubmatch(strings.ReplaceAll(err.Error(), "\n", " "))
	if m == nil {
		return &Error{Position: Position{File: in.name}, Msg: "not YAML: " + err.Error(), err: err}
	}
	pos := Position{File: in.name, Column: firstColumn(in.data, 1)}
	if line, convErr := strconv.Atoi(m[1]); convErr == nil {
		line += in.values[0].line
		pos.Line, pos.Column = line, firstColumn(in.data, line)
	}
	if tab := strings.IndexByte(indentOf(in.data, pos.Line), '\t'); tab >= 0 {
		pos.Column = tab + 1
		return &Error{Position: pos, Msg: "not YAML: a tab (lines are indented with blanks: put blanks in its place)", err: err}
	}
	return &Error{Position: pos, Msg: "not YAML: " + m[2], err: err}
}

func firstColumn(data []byte, line int) int { return len(indentOf(data, line)) + 1 }

// indentOf is what a line begins with, up to its first character; empty if there is no such line.
func indentOf(data []byte, line int) string {
	for ; line > 1; line-- {
		_, rest, found := bytes.Cut(data, []byte("\n"))
		if !found {
			return ""
		}
		data = rest
	}
	text, _, _ := bytes.Cut(data, []byte("\n"))
	return string(text[:len(text)-len(bytes.TrimLeft(text, " \t"))])
}
