package toolstate

import "bytes"

// otherTables are the tables of a part of the legacy tools that a tool has not read: each is written again as it stands.
type otherTables struct {
	before, behind []byte
	narrow         bool // not even of the table everything was read: it must not be written
}

// view is what a tool looks at in a part.
type view struct {
	table  string
	chains []string // nil: all
}

// of is the text to read, and what is not in it. It is nil where all has to be read.
func (v view) of(text []byte) (one []byte, others otherTables) {
	one, others = split(text, v.table)
	if one == nil || v.chains == nil {
		return one, others
	}
	if few := narrowed(one, v.chains); few != nil {
		others.narrow = true
		return few, others
	}
	return one, others
}

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
var wholeOnly = [][]byte{[]byte(" RATEEST "), []byte(" rateest "), []byte(" IDLETIMER ")}

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
		return text, others
	}
	others = otherTables{before: tables[:start:start], behind: tables[stop:]}
	return append(bytes.Clone(head), tables[start:stop]...), others
}

// narrowed leaves in the text of one table the rules of the first chain, and the chains that are named and those that its rules lead to.
// It is nil for a text without a table.
func narrowed(text []byte, chains []string) []byte {
	start := bytes.Index(text, []byte("\n*"))
	if start < 0 {
		return nil
	}
	start += 1 + bytes.IndexByte(text[start+1:], '\n') + 1
	rules := start
	for rules < len(text) && text[rules] == ':' {
		rules += bytes.IndexByte(text[rules:], '\n') + 1
	}
	wanted := map[string]bool{}
	for _, name := range chains {
		wanted[name] = true
	}
	kept := rulesOf(text[rules:], chains[0])
	words := bytes.Fields(kept)
	for i, word := range words[:max(len(words)-1, 0)] {
		if w := string(word); w == "-j" || w == "-g" {
			wanted[string(words[i+1])] = true
		}
	}
	out := bytes.Clone(text[:start])
	for line := range bytes.Lines(text[start:rules]) {
		name, policy, _ := bytes.Cut(line[1:], []byte(" "))
		if !bytes.HasPrefix(policy, []byte("-")) || wanted[string(name)] {
			out = append(out, line...)
		}
	}
	return append(append(out, kept...), "COMMIT\n"...)
}

// rulesOf are the lines of a chain's rules.
func rulesOf(text []byte, chain string) []byte {
	var out []byte
	head := []byte("] -A " + chain)
	for {
		at := bytes.Index(text, head)
		if at < 0 {
			return out
		}
		begin := bytes.LastIndexByte(text[:at], '\n') + 1
		end := at + bytes.IndexByte(text[at:], '\n') + 1
		behind := text[at+len(head)]
		if bytes.IndexByte(text[begin:], ']') == at-begin && (behind == ' ' || behind == '\n') {
			out = append(out, text[begin:end]...)
		}
		text = text[end:]
	}
}
