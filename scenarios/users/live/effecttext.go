package live

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// What a table of changes shows: so many of them, so many clients of each, and so many characters of a fate.
const (
	shownChanges = 60
	shownClients = 3
	shownFate    = 200
)

// WriteJSON writes the effect for programs.
func (e *Effect) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(e)
}

// WriteMarkdown writes the effect as a section with a table, for a comment on a change.
func (e *Effect) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", e.summary())
	if len(e.Changes) > 0 {
		b.WriteString("\n| service | packets | from | before | after |\n|---|---|---|---|---|\n")
	}
	for i := range e.Changes {
		if i == shownChanges {
			fmt.Fprintf(&b, "\nand %s: `chainwalk run --diff BEFORE AFTER -o json` has them.\n", plural(len(e.Changes)-i, "more row"))
			break
		}
		c := &e.Changes[i]
		service := c.Service
		if service == "" {
			service = "none"
		}
		fmt.Fprintf(&b, "| %s | `%s` | %s | %s | %s |\n", cell(service), c.To, cell(c.clients()), cell(cut(c.Before)), cell(cut(c.After)))
	}
	list := slices.Concat(marked("Mistake: ", e.Mistakes), marked("Note: ", e.Notes))
	for i, line := range list {
		if i == 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "- %s\n", cell(line))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteText writes the effect for people: every change.
func (e *Effect) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", e.summary())
	for i := range e.Changes {
		c := &e.Changes[i]
		fmt.Fprintf(&b, "\n%s", c.To)
		if c.Service != "" {
			fmt.Fprintf(&b, " (%s)", c.Service)
		}
		fmt.Fprintf(&b, " from %s\n  before: %s\n  after:  %s\n", c.clients(), c.Before, c.After)
	}
	list := slices.Concat(marked("mistake: ", e.Mistakes), marked("note: ", e.Notes))
	for i, line := range list {
		if i == 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "%s\n", line)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// marked are lines with a mark before each.
func marked(mark string, lines []string) []string {
	var out []string
	for _, line := range lines {
		out = append(out, mark+line)
	}
	return out
}

// summary is the effect in a line.
func (e *Effect) summary() string {
	tried := fmt.Sprintf("%s of packets of %s, sent before and after the change on the fake kernel", plural(e.Packets, "kind"),
		plural(e.Services, "service"))
	if len(e.Changes) == 0 {
		return "No packet changes: " + tried + "."
	}
	changed := 0
	for i := range e.Changes {
		c := &e.Changes[i]
		changed += len(c.Pods) + len(c.Nodes) + len(c.Machines)
	}
	return fmt.Sprintf("%d of %s, are treated differently.", changed, tried)
}

// clients are the senders in a few words.
func (c *Altered) clients() string {
	var out []string
	for _, kind := range []struct {
		word  string
		names []string
	}{{"pod", c.Pods}, {"node", c.Nodes}, {"machine", c.Machines}} {
		switch n := len(kind.names); {
		case n > shownClients:
			out = append(out, fmt.Sprintf("%s: %s, ...", plural(n, kind.word), strings.Join(kind.names[:shownClients], ", ")))
		case n > 1:
			out = append(out, kind.word+"s "+strings.Join(kind.names, ", "))
		case n == 1:
			out = append(out, kind.word+" "+kind.names[0])
		}
	}
	return strings.Join(out, "; ")
}

func cut(text string) string {
	if runes := []rune(text); len(runes) > shownFate {
		return string(runes[:shownFate]) + "..."
	}
	return text
}

// cell is text that a cell of a table shows as it is.
func cell(text string) string {
	return strings.NewReplacer("|", "\\|", "\n", " ", "<", "&lt;", "`", "'").Replace(text)
}
