package ipset

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
)

// The tool reads a line of restore into a buffer, and its words into another; the command's own name takes a place there.
const (
	maxLine  = 1023
	maxWords = 30
)

// errNoFile is a file of restore that cannot be read, of which the tool says nothing.
var errNoFile = errors.New("the file cannot be read")

// statusNoFile is the exit status then.
const statusNoFile = 255

// restore reads commands from the standard input or the file of -f.
func (t *run) restore(*wordReader) error {
	in := t.Stdin
	if t.file != "" {
		text, err := t.ReadFile(t.file)
		if err != nil {
			return errNoFile
		}
		in, t.file = bytes.NewReader(text), ""
	}
	lines := bufio.NewReader(in)
	for number := 1; !t.ended; number++ {
		text, err := readLine(lines)
		if err != nil {
			return err
		}
		if text == "" {
			return nil
		}
		t.line = number
		if err := t.restoreLine(text); err != nil {
			return err
		}
	}
	return nil
}

// readLine reads a line with its end, as far as the tool has room; "" is the end of the input.
func readLine(lines *bufio.Reader) (string, error) {
	var text []byte
	for len(text) < maxLine {
		b, err := lines.ReadByte()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "", errorf("reading: %v", err)
		}
		if text = append(text, b); b == '\n' {
			break
		}
	}
	return string(text), nil
}

// restoreLine carries one line of restore out.
func (t *run) restoreLine(text string) error {
	text, _, _ = strings.Cut(text, "\x00") // where the tool's strings end
	text = strings.TrimLeft(text, " \t\n\v\f\r")
	switch {
	case text == "" || text[0] == '#':
		return nil
	case text == "COMMIT\n" || text == "COMMIT\r\n":
		return t.commit()
	}
	words, err := lineWords(text)
	if err != nil {
		return err
	}
	return t.command(words)
}

// blank are the characters between words.
const blank = " \t\r\n"

// lineWords cuts a line of restore into words. Blanks within double quotes are part of the word; words that are empty, and one that the
// line's end finds within quotes, are not there.
func lineWords(text string) ([]string, error) {
	var words []string
	var word []byte
	quoted := false
	for i := range len(text) {
		if len(words) == maxWords {
			return nil, usagef("Line is too long to parse.")
		}
		c, last := text[i], i == len(text)-1
		switch {
		case c == '"':
			quoted = !quoted
		case strings.IndexByte(blank, c) < 0:
			word = append(word, c)
		case quoted:
			word = append(word, c)
			continue
		}
		if !last && strings.IndexByte(blank, c) < 0 || len(word) == 0 {
			continue
		}
		if quoted {
			return nil, usagef("Missing close quote!")
		}
		words, word = append(words, string(word)), nil
	}
	return words, nil
}

// checkNewName refuses names that the real tool takes, and could then not read back of what it saves.
func checkNewName(name string) error {
	if name == "" || strings.ContainsAny(name, blank+"\"") {
		return errorf("not supported: the name %q of a set, which restore does not read back", name)
	}
	return nil
}
