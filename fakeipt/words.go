package fakeipt

import (
	"bytes"
	"slices"
)

// wordList is one line of restore input cut into words, or the words of a command line.
type wordList struct {
	words   [][]byte
	columns []int  // where each word begins in its line, from 1
	buf     []byte // holds words that are not a piece of the line as it stands
	line    []byte // that words were added from last
	column  int    // its first one
}

// maxWord is the length at which the real tool gives a word up.
const maxWord = 1024

// maxWords is the number of words of a line for which the real tool has room.
const maxWords = 251

// reset empties the list. Words that were taken from it are lost.
func (w *wordList) reset() {
	w.words, w.columns, w.buf = w.words[:0], w.columns[:0], w.buf[:0]
}

// setArgs makes the list from a command line.
func (w *wordList) setArgs(args []string) {
	w.reset()
	size := 0
	for _, a := range args {
		size += len(a)
	}
	w.buf = slices.Grow(w.buf, size)
	w.words, w.columns = slices.Grow(w.words, len(args)), slices.Grow(w.columns, len(args))
	for _, a := range args {
		begin := len(w.buf)
		w.buf = append(w.buf, a...)
		w.words = append(w.words, w.buf[begin:len(w.buf):len(w.buf)])
		w.columns = append(w.columns, 0)
	}
}

// add cuts a line into words and appends them. Blanks part words. Double quotes
// keep blanks together, and inside of them a backslash keeps the next character
// as it is. A closing quote ends the word.
func (w *wordList) add(line []byte, column int) error {
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
		case len(word) >= maxWord:
			return badParameter("Parameter too long!")
		case word != nil && len(w.words) == maxWords:
			return badParameter("Parser cannot handle more arguments")
		}
		if word != nil {
			w.words = append(w.words, word)
			w.columns = append(w.columns, column+start)
		}
	}
	return nil
}

// textFrom is the line from a word of it on, without its end.
func (w *wordList) textFrom(word int) string {
	if word >= len(w.words) {
		return ""
	}
	return string(bytes.TrimRight(w.line[w.columns[word]-w.column:], "\r\n"))
}

// quoted says whether a word of the line begins with a quote.
func (w *wordList) quoted(word int) bool { return w.line[w.columns[word]-w.column] == '"' }

// has says whether these words stand from a place on.
func (w *wordList) has(from int, words []string) bool {
	for i, word := range words {
		if string(w.words[from+i]) != word {
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
func (w *wordList) quotedWord(line []byte, i int) ([]byte, int) {
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

// firstWord is the first word of a line that has no quotes, nil if there is none.
func firstWord(line []byte) []byte {
	word, _ := cutWord(line)
	return word
}

// cutWord is the first word and what is behind it.
func cutWord(line []byte) (word, rest []byte) {
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
