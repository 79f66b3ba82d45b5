package toolstate

import (
	"slices"

	"github.com/chainwalk/chainwalk/fakeipt/ruleset"
)

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

// of are the tables to read, and what is not read. All have to be read where rules of one were checked together with those of another.
func (v *view) of(tables []ruleset.StateTable) (read []ruleset.StateTable, others otherTables) {
	if v.table == "" || slices.ContainsFunc(tables, func(t ruleset.StateTable) bool { return t.Tied }) {
		v.chains = nil
		return tables, others
	}
	to := &others.before
	for _, t := range tables {
		if t.Name == v.table {
			read, to = append(read, t), &others.behind
			continue
		}
		*to = append(*to, t.Text...)
	}
	if len(read) == 0 {
		// The table is not there yet. The legacy tools have the one first that was made last.
		others = otherTables{behind: others.before}
	}
	others.narrow = v.chains != nil
	return read, others
}

// none says that everything was read.
func (o otherTables) none() bool { return o.before == nil && o.behind == nil }

// with is the text of the part with that of the table that was read.
func (o otherTables) with(table []byte) []byte {
	if o.none() {
		return table
	}
	return slices.Concat(o.before, table, o.behind)
}
