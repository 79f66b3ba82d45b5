package syntax

import (
	"strconv"
	"strings"
)

// Mistake is an error or a warning of nft, with the places that it is about: it draws carets below the first one
// and waves below the others.
type Mistake struct {
	Warning bool
	// Last is set where nft read nothing more behind it. nft does not count such a mistake.
	Last bool
	// Text is the message, without "Error: ".
	Text string
	At   []Loc
}

// Error is the text.
func (m *Mistake) Error() string { return m.Text }

// Counted is how many mistakes nft has counted; it stops when it has counted ten.
func Counted(mistakes []*Mistake) int {
	n := 0
	for _, m := range mistakes {
		if !m.Warning && !m.Last {
			n++
		}
	}
	return n
}

// Wrong is a mistake at places.
func Wrong(text string, at ...Loc) *Mistake { return &Mistake{Text: text, At: at} }

// Render is what nft prints on stderr for a mistake: who included the file, the place and the text, the line as it was written, and below
// it carets at the first place and waves at the others. Without a place it is the text alone.
func Render(m *Mistake) string {
	level := "Error: "
	if m.Warning {
		level = "Warning: "
	}
	if len(m.At) == 0 || !m.At[0].Written() {
		return level + m.Text + "\n"
	}
	if m.At[0].In == Netlink {
		return Netlink.Name + ": " + level + m.Text + "\n"
	}
	var b strings.Builder
	at := m.At[0]
	prefix := "In file included from"
	for by := at.In.IncludedAt; by.Written(); by = by.In.IncludedAt {
		b.WriteString(prefix + " " + by.In.Name + ":" + by.columns() + ":\n")
		prefix = "                 from"
	}
	if at.In.Name != "" {
		b.WriteString(at.In.Name + ":" + at.columns() + ": ")
	}
	b.WriteString(level + m.Text + "\n")
	if at.In.NoText {
		b.WriteByte('\n')
		return b.String()
	}
	line := at.line()
	b.WriteString(line)
	b.WriteByte('\n')
	b.Write(underline(line, m.At))
	b.WriteByte('\n')
	return b.String()
}

// columns is LINE:FIRST-LAST.
func (l Loc) columns() string {
	return strconv.Itoa(int(l.Line)) + ":" + strconv.Itoa(int(l.First)) + "-" + strconv.Itoa(int(l.Last))
}

// line is the line that the place begins in.
func (l Loc) line() string {
	text := l.In.Text[min(int(l.LineStart), len(l.In.Text)):]
	if end := strings.IndexByte(text, '\n'); end >= 0 {
		text = text[:end]
	}
	return text
}

// underline marks places below a line. It keeps tabs, so that the columns agree on every terminal.
func underline(line string, at []Loc) []byte {
	end := 0
	for _, l := range at {
		if l.First != 0 {
			end = max(end, int(l.Last))
		}
	}
	marks := make([]byte, end)
	for i := range marks {
		marks[i] = ' '
		if i < len(line) && line[i] == '\t' {
			marks[i] = '\t'
		}
	}
	for n := len(at) - 1; n >= 0; n-- {
		l, mark := at[n], byte('~')
		if n == 0 {
			mark = '^'
		}
		for i := max(l.First-1, 0); i < l.Last && int(i) < end; i++ {
			marks[i] = mark
		}
	}
	return marks
}
