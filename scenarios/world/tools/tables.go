package tools

import (
	"bytes"
	"slices"
)

// table is the part of a restore's input that is about one table. What it has of other tables is empty lines, so that its lines have the
// numbers that they have in the whole.
type table struct {
	name  string
	input []byte
}

// split takes the tables of an input apart. What is behind the last COMMIT, and should not be there, is a table of its own.
func split(input []byte) []table {
	var out []table
	var begun table
	blank := 0
	for line := range bytes.Lines(input) {
		if begun.input == nil {
			begun.input = bytes.Repeat([]byte("\n"), blank)
		}
		if name, ok := bytes.CutPrefix(line, []byte("*")); ok {
			begun.name = string(bytes.TrimSpace(name))
		}
		begun.input = append(begun.input, line...)
		blank++
		if bytes.Equal(bytes.TrimSpace(line), []byte("COMMIT")) {
			out = append(out, begun)
			begun = table{}
		}
	}
	if begun.input != nil {
		out = append(out, begun)
	}
	return out
}

// broken is an input of which the tool commits these tables, and then refuses the rest with an error of its own.
func broken(input []byte, commits []string) []byte {
	var out []byte
	for _, t := range split(input) {
		if slices.Contains(commits, t.name) {
			out = append(out, bytes.TrimLeft(t.input, "\n")...)
		}
	}
	return append(out, "*filter\n-A FAULT -j FAULT\nCOMMIT\n"...)
}
