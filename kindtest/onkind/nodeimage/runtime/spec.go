package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/moby/sys/capability"
)

// kind says where a file has the capabilities of a process.
type kind uint8

const (
	config  kind = iota // config.json of a bundle, for create and run
	process             // --process of exec
)

// file is what a command of runc reads.
type file struct {
	path string
	kind kind
}

// globals are runc's options before the command that take a value.
var globals = map[string]bool{"--root": true, "--log": true, "--log-format": true, "--criu": true, "--rootless": true}

// fileOf finds the file that a command line of runc is about; it is false where no process is described.
func fileOf(args []string) (file, bool) {
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; {
		case globals[arg]:
			i++
		case strings.HasPrefix(arg, "-"):
		case arg == "create" || arg == "run":
			return file{filepath.Join(option(args[i+1:], ".", "--bundle", "-b"), "config.json"), config}, true
		case arg == "exec":
			path := option(args[i+1:], "", "--process", "-p")
			return file{path, process}, path != ""
		default:
			return file{}, false
		}
	}
	return file{}, false
}

// option is the value of an option in any of its spellings. The last one counts, as in runc.
func option(args []string, value string, names ...string) string {
	for i, arg := range args {
		for _, name := range names {
			if after, ok := strings.CutPrefix(arg, name+"="); ok {
				value = after
			} else if arg == name && i+1 < len(args) {
				value = args[i+1]
			}
		}
	}
	return value
}

// without returns text without the capabilities that are denied. What it does not know stays as it is; text that has nothing denied is
// returned unchanged.
func (k kind) without(text []byte, denied func(name string) bool) ([]byte, error) {
	document, err := decode(text)
	if err != nil {
		return nil, err
	}
	owner := document
	if k == config {
		if owner, err = object(document, "process"); err != nil {
			return nil, err
		}
	}
	sets, err := object(owner, "capabilities")
	if err != nil {
		return nil, err
	}
	changed := false
	for set, value := range sets {
		names, isList := value.([]any)
		if !isList {
			if value == nil {
				continue
			}
			return nil, fmt.Errorf("capabilities.%s is not a list", set)
		}
		kept := make([]any, 0, len(names))
		for _, name := range names {
			if text, isText := name.(string); isText && denied(text) {
				changed = true
				continue
			}
			kept = append(kept, name)
		}
		sets[set] = kept
	}
	if !changed {
		return text, nil
	}
	return encode(document)
}

// object is the member of that name; one that is missing is nil, which reads as empty.
func object(of map[string]any, name string) (map[string]any, error) {
	switch member := of[name].(type) {
	case nil:
		return nil, nil
	case map[string]any:
		return member, nil
	}
	return nil, fmt.Errorf("%s is not an object", name)
}

// decode keeps numbers as they are written: a limit may be larger than a float64 holds.
func decode(text []byte) (map[string]any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var document map[string]any
	if err := d.Decode(&document); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one JSON value")
	}
	return document, nil
}

// encode writes what runc reads; arguments and paths keep their characters.
func encode(document map[string]any) ([]byte, error) {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(document); err != nil {
		return nil, err
	}
	return text.Bytes(), nil
}

func ociName(c capability.Cap) string {
	return "CAP_" + strings.ToUpper(c.String())
}
