package ipset

import (
	"strings"

	"github.com/chainwalk/chainwalk/fakeipt/internal/libc"
)

// wordReader are the words behind a command, taken one after the other.
type wordReader struct {
	words []string
}

func (w *wordReader) next() (string, bool) {
	if len(w.words) == 0 {
		return "", false
	}
	word := w.words[0]
	w.words = w.words[1:]
	return word, true
}

// value is the argument of an option.
func (w *wordReader) value(option string) (string, error) {
	word, ok := w.next()
	if !ok {
		return "", usagef("Missing mandatory argument of option `%s'", option)
	}
	return word, nil
}

// number is the argument of an option that is a number.
func (w *wordReader) number(option string, low, high uint64) (uint64, error) {
	word, err := w.value(option)
	if err != nil {
		return 0, err
	}
	return parseNumber(word, low, high)
}

// parseNumber reads a number as the tool does.
func parseNumber(text string, low, high uint64) (uint64, error) {
	digits, negative := strings.CutPrefix(text, "-")
	n, rest, ok := libc.CutNumber([]byte(digits))
	if negative {
		n = -n // strtoull counts down from the greatest number
	}
	switch {
	case len(rest) > 0 || text == "" || !ok && n == 0:
		return 0, errorf("Syntax error: '%s' is invalid as number", text)
	case !ok || n < low || n > high:
		return 0, errorf("Syntax error: '%s' is out of range %d-%d", text, low, high)
	}
	return n, nil
}

func errTwice(option string) error {
	return errorf("Syntax error: %s already specified", option)
}

func unknownOption(word string) error {
	if word == "bitmask" {
		return errorf("not supported: option `%s'", word)
	}
	return usagef("Unknown argument: `%s'", word)
}

// cutAt cuts a text at the first separator. One that begins or ends the text makes the tool see none.
func cutAt(text string, separator byte) (before, after string, found bool) {
	if text == "" || text[0] == separator || text[len(text)-1] == separator {
		return text, "", false
	}
	return strings.Cut(text, string(separator))
}
