package ipset

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/chainwalk/chainwalk/internal/libc"
)

// The tool reads a line of restore into a buffer, and its words into another; the command's own name takes a place there.
const (
	maxLine  = 1023
	maxWords = 30
)

// restore reads commands from the standard input or the file of -f.
func (r *run) restore() error {
	lines := r.in
	if r.output.hasFile {
		text, err := r.ReadFile(r.output.file)
		if err != nil {
			return &exit{status: statusNoFile, text: "Cannot open " + r.output.file + " for reading: " + libc.FileErrorText(err)}
		}
		lines = bufio.NewReader(bytes.NewReader(text))
	}
	for {
		text, err := readLine(lines)
		if err != nil {
			return err
		}
		if text == "" {
			break
		}
		r.reached++
		r.line = r.reached
		if err := r.restoreLine(text); isExit(err) {
			return err
		}
	}
	return r.commitNow()
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
			return "", &exit{status: statusFailed, text: "reading: " + err.Error()}
		}
		if text = append(text, b); b == '\n' {
			break
		}
	}
	return string(text), nil
}

// restoreLine carries one line of restore out.
func (r *run) restoreLine(text string) error {
	text, blank := lineOf(text)
	switch {
	case blank:
		return nil
	case text == "COMMIT\n" || text == "COMMIT\r\n":
		return r.commitNow()
	}
	words, err := r.lineWords(text)
	if err != nil {
		return err
	}
	return r.execute(words)
}

// commitNow sends what is noted.
func (r *run) commitNow() error {
	if r.batch.commit() != nil {
		return r.settle()
	}
	return nil
}

// blank are the characters between words.
const blank = " \t\r\n"

// lineWords cuts a line of restore into words. Blanks within double quotes are part of the word; words that are empty, and one that the
// line's end finds within quotes, are not there.
func (s *session) lineWords(text string) ([]string, error) {
	var words []string
	var word []byte
	quoted := false
	for i := range len(text) {
		if len(words) == maxWords {
			return nil, s.usage("Line is too long to parse.")
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
		if !last && strings.IndexByte(blank, c) < 0 {
			continue
		}
		if last && quoted {
			return nil, s.usage("Missing close quote!")
		}
		if len(word) == 0 {
			continue
		}
		words, word = append(words, string(word)), nil
	}
	return words, nil
}
