package ipset

import "fmt"

// appendXML appends the sets as "-o xml" prints them.
func (t *run) appendXML(dst []byte, sets []*set) []byte {
	references := t.references()
	table := t.Sets
	table.lock.Lock()
	defer table.lock.Unlock()
	dst = append(dst, "<ipsets>\n"...)
	for _, s := range sets {
		if t.namesOnly {
			dst = fmt.Appendf(dst, "<ipset name=\"%s\"/>\n", s.name)
			continue
		}
		dst = t.appendOneXML(dst, s, references[s.name])
	}
	return append(dst, "</ipsets>\n"...)
}

func (t *run) appendOneXML(dst []byte, s *set, references int) []byte {
	keys := s.liveKeys(t.sorted)
	dst = fmt.Appendf(dst, "<ipset name=\"%s\">\n<type>%s</type>\n<revision>%d</revision>\n<header>", s.name, s.kind.name, s.kind.revision)
	dst = appendFieldsXML(dst, s.header())
	dst = fmt.Appendf(dst, "\n<memsize>%d</memsize>\n<references>%d</references>\n<numentries>%d</numentries>\n</header>\n",
		s.memory(), references, len(keys))
	if !t.headersOnly {
		dst = append(dst, "<members>\n"...)
	}
	if !t.headersOnly || t.saving {
		for _, k := range keys {
			dst = append(s.appendKey(append(dst, "<member><elem>"...), k), "</elem>"...)
			dst = append(appendFieldsXML(dst, s.entryFields(s.entries[k])), "</member>\n"...)
		}
	}
	if !t.headersOnly {
		dst = append(dst, "</members>\n"...)
	}
	return append(dst, "</ipset>\n"...)
}
