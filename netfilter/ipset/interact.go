package ipset

import (
	"fmt"
	"strings"
)

// prompt is what the shell asks with.
const prompt = "ipset> "

// interact is "ipset -": it reads commands from the standard input, and an error does not end it. What is noted of restore is lost at the
// end.
func (r *run) interact() error {
	r.shell = true
	fmt.Fprint(r.Stdout, prompt)
	for {
		text, err := readLine(r.in)
		switch {
		case err != nil:
			return err
		case text == "":
			return &exit{}
		}
		if err := r.interactLine(text); isExit(err) {
			return err
		}
		fmt.Fprint(r.Stdout, prompt)
	}
}

func (r *run) interactLine(text string) error {
	text, blank := lineOf(text)
	if blank {
		fmt.Fprint(r.Stdout, prompt)
		return nil
	}
	words, err := r.lineWords(text)
	if err != nil {
		return err
	}
	return r.execute(words)
}

// lineOf is a line without the blanks before it, and whether it is empty or a comment. It ends where the tool's strings end.
func lineOf(text string) (line string, blank bool) {
	text, _, _ = strings.Cut(text, "\x00")
	text = strings.TrimLeft(text, " \t\n\v\f\r")
	return text, text == "" || text[0] == '#'
}
