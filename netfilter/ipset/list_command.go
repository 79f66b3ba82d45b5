package ipset

import (
	"bytes"
	"fmt"
	"io"
	"slices"
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

// list is list and save.
func (r *run) list(c command, m *message) error {
	o, k := &r.output, r.kernel
	l := o.listing(c)
	l.references = k.references()
	if l.mode == "xml" {
		// What stands here is printed with the next list, if there is no such set.
		o.begun = append(o.begun, "<ipsets>\n"...)
	}
	table := k.Sets
	table.lock.Lock()
	defer table.lock.Unlock()
	sets := table.dumped()
	if m.has(optName) {
		s := table.sets[m.name]
		if s == nil || k.behind {
			err := k.answer(errMissing)
			k.behind = true
			return err
		}
		sets = []*set{s}
	}
	if k.behind {
		return k.answer(nil)
	}
	for i, s := range sets {
		l.appendSet(s, i == 0)
	}
	if l.mode == "xml" {
		l.out = append(l.out, "</ipsets>\n"...)
	}
	text := slices.Concat(o.begun, l.out)
	o.begun = nil
	return o.print(text)
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

// header are the options of a set. Behind an element with the length of a second net the tool prints a length with a bitmask: the byte that
// it keeps this in is then the lowest one of the set's initval.
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
