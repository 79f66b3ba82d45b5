package fakeipt

import "github.com/chainwalk/chainwalk/fakeipt/xtables"

// argumentReader reads the words of a command one after the other.
type argumentReader struct {
	xtables.WordList
	at int // the next word
	// head is what messages name as the word before the first one: the tool, in a restore the table or what is behind it.
	head string
}

// peek is the next word, which is not read by that.
func (a *argumentReader) peek() ([]byte, bool) {
	if a.at >= len(a.Words) {
		return nil, false
	}
	return a.Words[a.at], true
}

// next reads a word.
func (a *argumentReader) next() ([]byte, bool) {
	w, ok := a.peek()
	if ok {
		a.at++
	}
	return w, ok
}

// argument is the rest of the option's own word, or else reads the next word.
func (a *argumentReader) argument(attached []byte) ([]byte, bool) {
	if attached != nil {
		return attached, true
	}
	return a.next()
}

// optional is argument unless the next word is an option or a "!".
func (a *argumentReader) optional(attached []byte) ([]byte, bool) {
	if w, _ := a.peek(); attached == nil && beginsOption(w) {
		return nil, false
	}
	return a.argument(attached)
}

// further reads a further argument of an option, for the few that have one.
func (a *argumentReader) further() ([]byte, bool) { return a.optional(nil) }

// beginsOption says that a word is an option, or a "!" before one.
func beginsOption(word []byte) bool { return len(word) > 0 && (word[0] == '-' || word[0] == '!') }

// last is the word that was read last.
func (a *argumentReader) last() []byte { return a.Words[a.at-1] }

// back is a word that was read before the last one: 1 is the one right before it.
func (a *argumentReader) back(n int) []byte {
	if i := a.at - 1 - n; i >= 0 {
		return a.Words[i]
	}
	return []byte(a.head)
}

// place is the column of the word that was read last, and the word.
func (a *argumentReader) place() (column int, word string) {
	i := min(a.at, len(a.Words)) - 1
	if i < 0 {
		return 0, ""
	}
	return a.Columns[i], string(a.Words[i])
}

// noArgument is the error of the option that was read last, as it was typed, and that lacks its argument.
func (a *argumentReader) noArgument() error {
	return xtables.BadParameter("option \"%s\" requires an argument", a.last())
}
