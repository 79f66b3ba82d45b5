package snapshot

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// readDocument reads the one document of r.
func readDocument(name string, r io.Reader) (root *yaml.Node, err error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("%s: read snapshot: %w", name, err)
	}
	if err := checkCharacters(name, data); err != nil {
		return nil, err
	}
	// The library panics on its own errors and recovers those only.
	defer func() {
		if r := recover(); r != nil {
			root, err = nil, &Error{File: name, Line: 1, Column: 1, Msg: fmt.Sprintf("not YAML: %v", r)}
		}
	}()
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, &Error{File: name, Line: 1, Column: 1, Msg: "the document is empty: give what \"chainwalk snapshot\" prints"}
	case err != nil:
		return nil, notYAML(name, data, err)
	}
	switch err := dec.Decode(&more); {
	case err == nil:
		return nil, &Error{File: name, Line: more.Line, Column: more.Column, Msg: "a second document: give one snapshot"}
	case !errors.Is(err, io.EOF):
		return nil, notYAML(name, data, err)
	}
	return doc.Content[0], nil
}

// checkCharacters refuses what no YAML document holds. The library refuses it as well but does not say where.
func checkCharacters(name string, data []byte) error {
	if len(data) > 1 && (data[0] == 0xfe && data[1] == 0xff || data[0] == 0xff && data[1] == 0xfe) {
		return nil // UTF-16, which the library reads
	}
	line, column := 1, 1
	for len(data) > 0 {
		r, size := utf8.DecodeRune(data)
		switch {
		case r == utf8.RuneError && size == 1:
			return &Error{File: name, Line: line, Column: column, Msg: fmt.Sprintf("not YAML: byte %#02x is not UTF-8", data[0])}
		case r < ' ' && r != '\t' && r != '\n' && r != '\r', notInYAML(r) && r != 0x85 && r != 0xfeff:
			return &Error{File: name, Line: line, Column: column, Msg: fmt.Sprintf("not YAML: control character %U: write it as an escape in double quotes", r)}
		}
		column++
		if r == '\n' {
			line, column = line+1, 1
		}
		data = data[size:]
	}
	return nil
}

// yamlMessage is the library's error: it names a line unless that is the first one.
var yamlMessage = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)`)

// notYAML gives the library's error a place: its line, and the column in which that begins, as the library does not say which it was.
func notYAML(name string, data []byte, err error) error {
	e := &Error{File: name, Line: 1, Column: 1, Msg: "not YAML: " + err.Error()}
	if m := yamlMessage.FindStringSubmatch(err.Error()); m != nil {
		e.Msg = "not YAML: " + m[2]
		if line, convErr := strconv.Atoi(m[1]); convErr == nil {
			e.Line = line
		}
	}
	if lines := bytes.Split(data, []byte("\n")); e.Line <= len(lines) {
		text := lines[e.Line-1]
		e.Column += len(text) - len(bytes.TrimLeft(text, " \t"))
	}
	return e
}
