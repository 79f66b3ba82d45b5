package xtables

import (
	"bytes"
	"slices"
)

// WordList is one line of restore input cut into words, or the words of a command line.
type WordList struct {
	Words   [][]byte
	Columns []int  // where each word begins in its line, from 1
	buf     []byte // holds words that are not a piece of the line as it stands
	line    []byte // that words were added from last
	column  int    // its first one
}

// MaxWord is the length at which the real tool gives a word up.
const MaxWord = 1024

// maxWords is the number of words of a line for which the real tool has room.
const maxWords = 251

// Reset empties the list. Words that were taken from it are lost.
func (w *WordList) Reset() {
	w.Words, w.Columns, w.buf = w.Words[:0], w.Columns[:0], w.buf[:0]
}

// SetArgs makes the list from a command line.
func (w *WordList) SetArgs(args []string) {
	w.Reset()
	size := 0
	for _, a := range args {
		size += len(a)
	}
	w.buf = slices.Grow(w.buf, size)
	w.Words, w.Columns = slices.Grow(w.Words, len(args)), slices.Grow(w.Columns, len(args))
	for _, a := range args {
		begin := len(w.buf)
		w.buf = append(w.buf, a...)
		w.Words = append(w.Words, w.buf[begin:len(w.buf):len(w.buf)])
		w.Columns = append(w.Columns, 0)
	}
}

// Add cuts a line into words and appends them. Blanks part words. Double quotes
// keep blanks together, and inside of them a backslash keeps the next character
// as it is. A closing quote ends the word.
func (w *WordList) Add(line []byte, column int) error {
	w.line, w.column = line, column
	for i := 0; i < len(line); {
		if isBlank(line[i]) {
			i++
			continue
		}
		start := i
		word, next := plainWord(line, i)
		if word == nil {
			word, next = w.quotedWord(line, i)
		}
		i = next
		switch {
		case len(word) >= MaxWord:
			return BadParameter("Parameter too long!")
		case word != nil && len(w.Words) == maxWords:
			return BadParameter("Parser cannot handle more arguments")
		}
		if word != nil {
			w.Words = append(w.Words, word)
			w.Columns = append(w.Columns, column+start)
		}
	}
	return nil
}

// TextFrom is the line from a word of it on, without its end.
func (w *WordList) TextFrom(word int) string {
	if word >= len(w.Words) {
		return ""
	}
	return string(bytes.TrimRight(w.line[w.Columns[word]-w.column:], "\r\n"))
}

// Quoted says whether a word of the line begins with a quote.
func (w *WordList) Quoted(word int) bool { return w.line[w.Columns[word]-w.column] == '"' }

// Has says whether these words stand from a place on.
func (w *WordList) Has(from int, words []string) bool {
	for i, word := range words {
		if string(w.Words[from+i]) != word {
			return false
		}
	}
	return true
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' }

// plainWord returns the word at i where it is a piece of the line, and where to go on; nil if it is not.
func plainWord(line []byte, i int) ([]byte, int) {
	if line[i] == '"' {
		end := bytes.IndexByte(line[i+1:], '"')
		if end < 0 || bytes.IndexByte(line[i+1:i+1+end], '\\') >= 0 {
			return nil, i
		}
		return line[i+1 : i+1+end], i + end + 2
	}
	start := i
	for i < len(line) && !isBlank(line[i]) {
		if line[i] == '"' {
			return nil, start
		}
		i++
	}
	return line[start:i], i
}

// quotedWord returns the word at i, which has quotes or escapes inside, and where to go on.
func (w *WordList) quotedWord(line []byte, i int) ([]byte, int) {
	start := len(w.buf)
	quoted := false
	for ; i < len(line); i++ {
		c := line[i]
		switch {
		case quoted && c == '\\':
			if i++; i < len(line) {
				w.buf = append(w.buf, line[i])
			}
			continue
		case c == '"' && quoted:
			return w.buf[start:len(w.buf):len(w.buf)], i + 1
		case c == '"':
			quoted = true
			continue
		case !quoted && isBlank(c):
			return w.buf[start:len(w.buf):len(w.buf)], i + 1
		}
		w.buf = append(w.buf, c)
	}
	if start == len(w.buf) {
		return nil, i
	}
	return w.buf[start:len(w.buf):len(w.buf)], i
}

// FirstWord is the first word of a line that has no quotes, nil if there is none.
func FirstWord(line []byte) []byte {
	word, _ := CutWord(line)
	return word
}

// CutWord is the first word and what is behind it.
func CutWord(line []byte) (word, rest []byte) {
	line = bytes.TrimLeft(line, " \t\n")
	if len(line) == 0 {
		return nil, nil
	}
	i := bytes.IndexAny(line, " \t\n")
	if i < 0 {
		return line, nil
	}
	return line[:i], line[i:]
}
