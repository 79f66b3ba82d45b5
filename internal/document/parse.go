package document

import (
	"bytes"
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
	File string
	Node *yaml.Node // the top value, never a document node
}

// Position returns where the document begins.
func (d *Document) Position() Position { return At(d.File, d.Node) }

// At returns the position of a node of a file.
func At(file string, n *yaml.Node) Position {
	return Position{File: file, Line: n.Line, Column: n.Column}
}

// Open opens the file of that name; "-" is stdin, whose name in errors is
// "<stdin>". The caller closes what it gets.
func Open(path string, stdin io.Reader) (io.ReadCloser, string, error) {
	if path == "-" {
		return io.NopCloser(stdin), "<stdin>", nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, path, fmt.Errorf("read %s: %w", path, cause(err))
	}
	return f, path, nil
}

// cause drops the path that os already wrote into the error.
func cause(err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// Parse reads a stream of YAML or JSON documents. Empty documents are left
// out; an input without any document gives none and no error. The name is for
// errors only.
func Parse(name string, r io.Reader) ([]*Document, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxInput+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, cause(err))
	}
	if err := checkText(name, data); err != nil {
		return nil, err
	}
	return parseText(name, data)
}

// checkText refuses what no YAML parser should be given, since the library's
// own messages for it carry no position or come late.
func checkText(name string, data []byte) error {
	if len(data) > maxInput {
		return &Error{Position: Position{File: name}, Msg: fmt.Sprintf("more than %d MiB of input (split it into several files)", maxInput>>20)}
	}
	json := startsLikeJSON(data)
	for line := 1; len(data) > 0; line++ {
		text, rest, _ := bytes.Cut(data, []byte("\n"))
		if len(text) > maxYAMLLine && !json {
			return &Error{Position: Position{File: name, Line: line, Column: maxYAMLLine + 1},
				Msg: fmt.Sprintf("the line is longer than %d MiB (is this a manifest?)", maxYAMLLine>>20)}
		}
		if column, what := notText(text); column > 0 {
			return &Error{Position: Position{File: name, Line: line, Column: column},
				Msg: what + " (the input must be UTF-8 text in YAML or JSON)"}
		}
		data = rest
	}
	return nil
}

func startsLikeJSON(data []byte) bool {
	data = bytes.TrimLeft(data, " \t\r\n")
	return len(data) > 0 && (data[0] == '{' || data[0] == '[')
}

// notText returns the column of the first byte of a line that cannot be in a
// YAML file, and what it is; column 0 if the line is all text.
func notText(line []byte) (column int, what string) {
	for i := 0; i < len(line); {
		c := line[i]
		if c >= ' ' && c < 0x7f || c == '\t' || c == '\r' {
			i++
			continue
		}
		r, size := utf8.DecodeRune(line[i:])
		if r == utf8.RuneError && size == 1 {
			return i + 1, fmt.Sprintf("byte %#02x is not UTF-8", c)
		}
		if r < ' ' || r >= 0x7f && r < 0xa0 && r != 0x85 || r == 0xfffe || r == 0xffff {
			return i + 1, fmt.Sprintf("control character %U", r)
		}
		i += size
	}
	return 0, ""
}

func parseText(name string, data []byte) (docs []*Document, err error) {
	// The library panics on its own errors and recovers those only.
	defer func() {
		if r := recover(); r != nil {
			docs, err = nil, &Error{Position: Position{File: name}, Msg: fmt.Sprintf("not YAML: %v", r)}
		}
	}()
	for dec := yaml.NewDecoder(bytes.NewReader(data)); ; {
		var n yaml.Node
		switch err := dec.Decode(&n); {
		case errors.Is(err, io.EOF):
			return docs, nil
		case err != nil:
			return nil, syntaxError(name, data, err)
		}
		if top := topValue(&n); top != nil {
			docs = append(docs, &Document{File: name, Node: top})
		}
	}
}

// topValue unwraps a document node; nil for an empty document.
func topValue(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.DocumentNode && len(n.Content) == 1 {
		n = n.Content[0]
	}
	if n.Kind == 0 || n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" {
		return nil
	}
	return n
}

var yamlError = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)

// syntaxError gives the library's error a position. It knows the line only;
// the column is that of the line's first character.
func syntaxError(name string, data []byte, err error) error {
	m := yamlError.FindStringSubmatch(strings.ReplaceAll(err.Error(), "\n", " "))
	if m == nil {
		return &Error{Position: Position{File: name}, Msg: "not YAML: " + err.Error(), Err: err}
	}
	pos := Position{File: name}
	if line, convErr := strconv.Atoi(m[1]); convErr == nil {
		pos.Line, pos.Column = line, firstColumn(data, line)
	}
	return &Error{Position: pos, Msg: "not YAML: " + m[2], Err: err}
}

func firstColumn(data []byte, line int) int {
	for ; line > 1; line-- {
		_, rest, found := bytes.Cut(data, []byte("\n"))
		if !found {
			return 1
		}
		data = rest
	}
	text, _, _ := bytes.Cut(data, []byte("\n"))
	return len(text) - len(bytes.TrimLeft(text, " \t")) + 1
}
