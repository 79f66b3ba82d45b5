package document

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Lines writes nodes without comments, anchors and aliases line by line, with the bytes that the library writes for them (two blanks for a
// level, none for lists). It asks the library for scalars, and remembers them: to write a whole document the library keeps hundreds of
// bytes for each of its nodes, and large documents say the same again and again. The zero value is ready to use.
type Lines struct {
	out    bytes.Buffer
	scalar map[scalarPlace]string
	wide   bool // lists stand a level deeper than their keys, as YAML has them
}

// scalarPlace is all that a scalar's spelling depends on.
type scalarPlace struct {
	tag, value string
	style      yaml.Style
	place      place
}

// place is where a value stands.
type place byte

const (
	behindKey place = iota
	behindDash
	inFlow
	asKey
)

// keptScalars is how many spellings are remembered: more than a service of a large cluster has in all of its cases.
const keptScalars = 4096

// Bytes is what was written.
func (l *Lines) Bytes() []byte { return l.out.Bytes() }

// Line writes a line of text.
func (l *Lines) Line(indent int, text string) {
	l.indent(indent)
	l.out.WriteString(text)
	l.out.WriteByte('\n')
}

// Fields writes a block mapping.
func (l *Lines) Fields(mapping *yaml.Node, indent int) error {
	if isASCII(mapping) && isSimple(mapping, false) {
		return l.fields(mapping, indent, false)
	}
	return l.whole(mapping, indent/level)
}

// Item writes an item of a list.
func (l *Lines) Item(item *yaml.Node, indent int) error {
	if !isASCII(item) {
		below := indent / level
		if !l.wide {
			below++
		}
		return l.whole(&yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{item}}, below)
	}
	l.indent(indent)
	l.out.WriteByte('-')
	return l.value(item, indent, behindDash)
}

// level is how much deeper a mapping stands than the one that it is in.
const level = 2

// whole has the library write a value below so many keys, which it leaves out.
func (l *Lines) whole(n *yaml.Node, below int) error {
	for range below {
		n = &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{{Kind: yaml.ScalarNode, Value: "x"}, n}}
	}
	text, err := l.encoded(n)
	for range below {
		_, text, _ = strings.Cut(text, "\n")
	}
	l.out.WriteString(text)
	return err
}

func (l *Lines) indent(blanks int) {
	for range blanks {
		l.out.WriteByte(' ')
	}
}

// fields writes a mapping whose keys are all short. The first one may stand on a line that has begun.
func (l *Lines) fields(mapping *yaml.Node, indent int, begun bool) error {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if i > 0 || !begun {
			l.indent(indent)
		}
		key, err := l.spelling(mapping.Content[i], asKey)
		if err != nil {
			return err
		}
		l.out.WriteString(key)
		l.out.WriteByte(':')
		if err := l.value(mapping.Content[i+1], indent, behindKey); err != nil {
			return err
		}
	}
	return nil
}

// value writes what stands behind a key or a dash, to the end of its last line.
func (l *Lines) value(n *yaml.Node, indent int, at place) error {
	switch {
	case n.Kind == yaml.ScalarNode:
		text, err := l.spelling(n, at)
		l.lines(text, indent)
		return err
	case !isSimple(n, false) || at == behindDash && n.Kind == yaml.SequenceNode && isBlock(n):
		text, err := l.spell(n, at)
		l.lines(text, indent)
		return err
	case !isBlock(n):
		l.out.WriteByte(' ')
		err := l.flow(n)
		l.out.WriteByte('\n')
		return err
	case n.Kind == yaml.SequenceNode:
		l.out.WriteByte('\n')
		if l.wide {
			indent += level
		}
		for _, item := range n.Content {
			if err := l.Item(item, indent); err != nil {
				return err
			}
		}
		return nil
	case at == behindDash:
		l.out.WriteByte(' ')
		return l.fields(n, indent+level, true)
	}
	l.out.WriteByte('\n')
	return l.fields(n, indent+level, false)
}

// lines writes a text, each line but the first one and those without anything deeper by so many blanks.
func (l *Lines) lines(text string, indent int) {
	first := true
	for line := range strings.Lines(text) {
		if !first && line != "\n" {
			l.indent(indent)
		}
		first = false
		l.out.WriteString(line)
	}
}

// flow writes a value on one line.
func (l *Lines) flow(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		text, err := l.spelling(n, inFlow)
		l.out.WriteString(text)
		return err
	}
	brackets := "[]"
	if n.Kind == yaml.MappingNode {
		brackets = "{}"
	}
	l.out.WriteByte(brackets[0])
	for i, child := range n.Content {
		isValue := n.Kind == yaml.MappingNode && i%2 == 1
		switch {
		case isValue:
			l.out.WriteString(": ")
		case i > 0:
			l.out.WriteString(", ")
		}
		if err := l.flow(child); err != nil {
			return err
		}
	}
	l.out.WriteByte(brackets[1])
	return nil
}

// isBlock says whether a list or mapping has lines of its own.
func isBlock(n *yaml.Node) bool { return n.Style&yaml.FlowStyle == 0 && len(n.Content) > 0 }

// isASCII says whether all texts are of ASCII alone: some other characters are line breaks to the library.
func isASCII(n *yaml.Node) bool {
	for i := range len(n.Value) {
		if n.Value[i] >= utf8.RuneSelf {
			return false
		}
	}
	return !slices.ContainsFunc(n.Content, func(child *yaml.Node) bool { return !isASCII(child) })
}

// isSimple says whether all keys are texts that stand on the line of their value, those of the values on the same line too. If not, the
// library writes the value.
func isSimple(n *yaml.Node, flow bool) bool {
	const longestKey = 60 // the library's limit is 128 bytes, with the tag
	if n.Kind != yaml.MappingNode && n.Kind != yaml.SequenceNode {
		return n.Kind == yaml.ScalarNode
	}
	flow = flow || !isBlock(n)
	for i, child := range n.Content {
		isKey := n.Kind == yaml.MappingNode && i%2 == 0
		if isKey && (child.Kind != yaml.ScalarNode || len(child.Value) > longestKey || strings.ContainsAny(child.Value, "\r\n")) {
			return false
		}
		if flow && !isSimple(child, true) {
			return false
		}
	}
	return true
}

// spelling is spell for a scalar, remembered.
func (l *Lines) spelling(n *yaml.Node, at place) (string, error) {
	if text, ok := plainly(n, at); ok {
		return text, nil
	}
	if text, ok := literally(n, at); ok {
		return text, nil
	}
	key := scalarPlace{tag: n.Tag, value: n.Value, style: n.Style, place: at}
	if text, ok := l.scalar[key]; ok {
		return text, nil
	}
	text, err := l.spell(n, at)
	if err != nil {
		return "", err
	}
	if l.scalar == nil || len(l.scalar) >= keptScalars {
		l.scalar = map[scalarPlace]string{}
	}
	l.scalar[key] = text
	return text, nil
}

// plainly is spell for the texts that scenarios and large clusters are full of, names, addresses and ports, and for numbers: false for all
// others.
func plainly(n *yaml.Node, at place) (string, bool) {
	text := n.Value
	switch {
	case n.Style != 0:
		return "", false
	case n.Tag == "!!int" && isNumber(text):
		return standing(text, at), true
	case n.Tag != "!!str" || text == "" || isNoText(text):
		return "", false
	}
	letters, dots, colons, blanks := 0, 0, 0, 0
	for i := range len(text) {
		switch c := text[i]; {
		case isLetter(c), c == '-', c == '/':
			letters++
		case c == '.':
			dots++
		case c == ':' && colons == 0 && i+1 < len(text) && '0' <= text[i+1] && text[i+1] <= '9':
			colons++
		case c == ' ' && blanks == 0 && i+1 < len(text) && '0' <= text[i+1] && text[i+1] <= '9':
			blanks++
		case c < '0' || c > '9':
			return "", false
		}
	}
	begins := isLetter(text[0])
	last := text[len(text)-1]
	switch {
	case !begins && (letters > 0 || dots != 3 || text[0] == '.' || text[0] == ':' || text[0] == ' ' || blanks > 0), last == '-' || last == '.':
		return "", false
	case at == asKey && colons+blanks > 0:
		return "", false
	case at == inFlow && colons > 0:
		return "'" + text + "'", true
	}
	return standing(text, at), true
}

// standing is a text that needs no quotes, with what stands around it.
func standing(text string, at place) string {
	if at == inFlow || at == asKey {
		return text
	}
	return " " + text + "\n"
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

// isNumber says whether a text is a number that does not begin with a zero.
func isNumber(text string) bool {
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
	}
	return text != "" && text[0] != '0'
}

// isNoText says whether some version of YAML reads a word of letters as something else. What to do with those is left to the library.
func isNoText(word string) bool {
	const longest = len("false")
	if len(word) > longest {
		return false
	}
	switch strings.ToLower(word) {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null":
		return true
	}
	return false
}

// literally is spell for texts of several lines, such as what iptables-save prints: false for all others.
func literally(n *yaml.Node, at place) (string, bool) {
	text := n.Value
	if n.Tag != "!!str" || n.Style != yaml.LiteralStyle || at != behindKey && at != behindDash || !isBlockText(text) {
		return "", false
	}
	var b strings.Builder
	b.Grow(len(text) + level*strings.Count(text, "\n"))
	b.WriteString(" |\n")
	for line := range strings.Lines(text) {
		if line != "\n" {
			b.WriteString("  ")
		}
		b.WriteString(line)
	}
	return b.String(), true
}

// isBlockText says whether a text is lines of printable ASCII, none of which ends with a blank, and the first and the last of which are not
// empty. The library has other signs or other styles for most others.
func isBlockText(text string) bool {
	if len(text) < 2 || text[0] <= ' ' || text[len(text)-1] != '\n' || text[len(text)-2] == '\n' {
		return false
	}
	for i := range len(text) {
		c := text[i]
		if c == '\n' && text[i-1] == ' ' || c != '\n' && (c < ' ' || c > '~') {
			return false
		}
	}
	return true
}

// spell has the library write a value, and takes what stands around it away.
func (l *Lines) spell(n *yaml.Node, at place) (string, error) {
	x := &yaml.Node{Kind: yaml.ScalarNode, Value: "x"}
	around := &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{n}}
	before, behind := "-", ""
	switch at {
	case behindKey:
		around = &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{x, n}}
		before = "x:"
	case inFlow:
		around.Style = yaml.FlowStyle
		before, behind = "[", "]\n"
	case asKey:
		around = &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{n, x}}
		before, behind = "", ": x\n"
	}
	text, err := l.encoded(around)
	return strings.TrimSuffix(strings.TrimPrefix(text, before), behind), err
}

// encoded is a value as the library writes it.
func (l *Lines) encoded(n *yaml.Node) (string, error) {
	var b strings.Builder
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if !l.wide {
		enc.CompactSeqIndent()
	}
	err := enc.Encode(n)
	return b.String(), err
}
