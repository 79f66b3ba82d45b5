package toolstate

import "bytes"

// otherTables are the tables of a part of the legacy tools that a tool has not read: each is written again as it stands.
type otherTables struct{ before, behind []byte }

// none says that everything was read.
func (o otherTables) none() bool { return o.before == nil && o.behind == nil }

// with is the text of the part with that of the table that was read. The legacy tools have the table first that was made last.
func (o otherTables) with(table []byte) []byte {
	if o.none() {
		return table
	}
	out := make([]byte, 0, len(o.before)+len(table)+len(o.behind))
	return append(append(append(out, o.before...), table...), o.behind...)
}

// wholeOnly are words in rules that the kernel checks together with those of other tables.
var wholeOnly = [][]byte{[]byte(" RATEEST "), []byte(" IDLETIMER ")}

// split takes one table out of the text of a part: what there is to read, and the others. It is nil where all has to be read.
func split(text []byte, table string) (one []byte, others otherTables) {
	for _, word := range wholeOnly {
		if bytes.Contains(text, word) {
			return nil, others
		}
	}
	first := bytes.Index(text, []byte("\n*"))
	if first < 0 {
		return nil, others
	}
	head, tables := text[:first+1], text[first+1:]
	start := 0
	if named := []byte("*" + table + "\n"); !bytes.HasPrefix(tables, named) {
		if start = bytes.Index(tables, append([]byte("\n"), named...)) + 1; start == 0 {
			// The table is not there yet.
			return head, otherTables{behind: tables}
		}
	}
	const end = "\nCOMMIT\n"
	size := bytes.Index(tables[start:], []byte(end))
	if size < 0 {
		return nil, others
	}
	stop := start + size + len(end)
	if stop-start == len(tables) {
		return nil, others
	}
	others = otherTables{tables[:start:start], tables[stop:]}
	return append(bytes.Clone(head), tables[start:stop]...), others
}
