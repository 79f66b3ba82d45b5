package page

import "strings"

// word is a part of a rule, and how it is shown.
type word struct{ Class, Text string }

// wordsOf takes a rule apart as iptables-save prints it: its comment, its target, and the condition that failed.
func wordsOf(text, failed string) []word {
	var out []word
	for text != "" {
		class, n := leading(text, failed)
		if class == "" && len(out) > 0 && out[len(out)-1].Class == "" {
			out[len(out)-1].Text += text[:n]
		} else {
			out = append(out, word{class, text[:n]})
		}
		text = text[n:]
	}
	return out
}

// leading is what a rule's text begins with, and how long that is.
func leading(text, failed string) (class string, length int) {
	if failed != "" && strings.HasPrefix(text, failed) {
		return "failed", len(failed)
	}
	option, rest, _ := strings.Cut(text, " ")
	switch option {
	case "-A":
		return "chain", len(option) + 1 + argument(rest)
	case "-j", "-g":
		return "target", len(option) + 1 + argument(rest)
	case "--comment":
		return "comment", len(option) + 1 + argument(rest)
	case "--to-destination", "--to-source", "--to-ports", "--reject-with", "--set-xmark", "--probability":
		return "value", len(option) + 1 + argument(rest)
	case "-m":
		if strings.HasPrefix(rest, "comment ") {
			return "comment", len("-m comment ")
		}
	}
	return "", min(len(text), argument(text)+1)
}

// argument is how long the argument is that a text begins with, which may be in quotes.
func argument(text string) int {
	quoted := false
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\' && quoted:
			i++
		case text[i] == '"':
			quoted = !quoted
		case text[i] == ' ' && !quoted:
			return i
		}
	}
	return len(text)
}
