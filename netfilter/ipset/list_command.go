package ipset

import (
	"bytes"
	"fmt"
	"io"
	"slices"

	"github.com/chainwalk/chainwalk/internal/libc"
)

// listing prints sets as list and save do.
type listing struct {
	mode        string // plain, save or xml
	sorted      bool
	namesOnly   bool
	headersOnly bool // no heading of the elements
	elements    bool
	references  map[string]int
	length2     bool // the tool still has the length of a second net from an element before
	out         []byte
}

// open begins the file of -f anew.
func (r *run) open() error {
	if err := r.WriteFile(r.file, nil, 0o644); err != nil {
		return r.fail("Cannot open %s for writing: %s", r.file, libc.FileErrorText(err))
	}
	return nil
}

// list is list and save. The first of them decides how sets are printed from then on, if no option has.
func (r *run) list(c command, m *message) error {
	if r.output == "" {
		r.output = map[command]string{cmdList: "plain", cmdSave: "save"}[c]
	}
	l := listing{mode: r.output, sorted: r.sorted, namesOnly: r.namesOnly && r.output != "save",
		headersOnly: r.headersOnly, elements: !r.headersOnly || c == cmdSave || r.output == "save", references: r.references()}
	if l.mode == "xml" {
		// What stands here is printed with the next list, if there is no such set.
		r.out = append(r.out, "<ipsets>\n"...)
	}
	table := r.Sets
	table.lock.Lock()
	defer table.lock.Unlock()
	sets := table.dumped()
	if m.has(optName) {
		s := table.sets[m.name]
		if s == nil || r.behind {
			err := r.answer(errMissing)
			r.behind = true
			return err
		}
		sets = []*set{s}
	}
	if r.behind {
		return r.answer(nil)
	}
	for i, s := range sets {
		l.appendSet(s, i == 0)
	}
	if l.mode == "xml" {
		l.out = append(l.out, "</ipsets>\n"...)
	}
	text := slices.Concat(r.out, l.out)
	r.out = nil
	return r.print(text)
}

// print writes to the standard output or the file of -f.
func (r *run) print(text []byte) error {
	if !r.hasFile {
		if _, err := r.Stdout.Write(text); err != nil {
			return &exit{status: statusFailed, text: err.Error()}
		}
		return nil
	}
	if err := r.WriteFile(r.file, text, 0o644); err != nil {
		return r.fail("Cannot open %s for writing: %s", r.file, libc.FileErrorText(err))
	}
	return nil
}

func (l *listing) appendSet(s *set, first bool) {
	switch {
	case l.namesOnly && l.mode == "xml":
		l.out = fmt.Appendf(l.out, "<ipset name=\"%s\"/>\n", s.name)
		return
	case l.namesOnly:
		l.out = append(append(l.out, s.name...), '\n')
		return
	}
	keys := s.liveKeys()
	switch l.mode {
	case "save":
		l.out = append(appendFields(fmt.Appendf(l.out, "create %s %s", s.name, s.kind.name), l.header(s)), '\n')
	case "xml":
		l.appendHeadXML(s, len(keys))
	default:
		if !first {
			l.out = append(l.out, '\n')
		}
		l.appendHead(s, len(keys))
	}
	l.appendElements(s, keys)
	// The tool does not see where a set without a name ends.
	if l.mode == "xml" && s.name != "" {
		if !l.headersOnly {
			l.out = append(l.out, "</members>\n"...)
		}
		l.out = append(l.out, "</ipset>\n"...)
	}
}

// header are the options of a set. Behind an element with the length of a second net the tool prints a length with a bitmask: the byte that it
// keeps this in is then the lowest one of the set's initval.
func (l *listing) header(s *set) []field {
	fields := s.header()
	length := uint8(s.options.initVal)
	if s.options.bitMask.IsValid() && l.length2 && int(length) != s.options.family.bits() {
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == kwBitMask.name })
		fields[i].text += fmt.Sprintf("/%d", length)
	}
	return fields
}

func (l *listing) appendHead(s *set, elements int) {
	l.out = fmt.Appendf(l.out, "Name: %s\nType: %s\nRevision: %d\nHeader:", s.name, s.kind.name, s.kind.revision)
	l.out = fmt.Appendf(appendFields(l.out, l.header(s)), "\nSize in memory: %d\nReferences: %d\nNumber of entries: %d\n",
		s.memory(), l.references[s.name], elements)
	if !l.headersOnly {
		l.out = append(l.out, "Members:\n"...)
	}
}

func (l *listing) appendHeadXML(s *set, elements int) {
	l.out = fmt.Appendf(l.out, "<ipset name=\"%s\">\n<type>%s</type>\n<revision>%d</revision>\n<header>", s.name, s.kind.name, s.kind.revision)
	l.out = fmt.Appendf(appendFieldsXML(l.out, l.header(s)),
		"\n<memsize>%d</memsize>\n<references>%d</references>\n<numentries>%d</numentries>\n</header>\n",
		s.memory(), l.references[s.name], elements)
	if !l.headersOnly {
		l.out = append(l.out, "<members>\n"...)
	}
}

// appendElements appends the elements, sorted if that was asked for and the type has no order of its own.
func (l *listing) appendElements(s *set, keys []key) {
	if !l.elements {
		return
	}
	lines := make([]elementLine, len(keys))
	for i, k := range keys {
		lines[i] = l.line(s, k)
	}
	if l.sorted && s.kind.hash() {
		lines = sortLines(lines)
	}
	if len(lines) > 0 {
		l.length2 = s.kind.net2()
	}
	for _, line := range lines {
		l.out = append(l.out, line.text...)
	}
}

// line is the line of an element.
func (l *listing) line(s *set, k key) elementLine {
	e := s.entries[k]
	switch l.mode {
	case "save":
		prefix := "add " + s.name + " "
		return elementLine{prefix + string(s.appendEntry(nil, k)) + "\n", len(prefix)}
	case "xml":
		const prefix = "<member><elem>"
		text := append(s.appendKey([]byte(prefix), k, e), "</elem>"...)
		return elementLine{string(append(appendFieldsXML(text, s.entryFields(e)), "</member>\n"...)), len(prefix)}
	}
	return elementLine{string(s.appendEntry(nil, k)) + "\n", 0}
}

// Save writes every set as "ipset save" prints it.
func (t *Table) Save(w io.Writer) error {
	t.lock.Lock()
	defer t.lock.Unlock()
	l := listing{mode: "save", elements: true}
	for i, s := range t.dumped() {
		l.appendSet(s, i == 0)
	}
	_, err := io.Copy(w, bytes.NewReader(l.out))
	return err
}
