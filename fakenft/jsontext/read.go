package jsontext

import "github.com/chainwalk/chainwalk/fakenft/syntax"

// internal is the input that nft says errors are in which have no place in the text.
var internal = &syntax.Input{Name: "internal", NoText: true}

// nowhere is where all that is read from JSON stands.
var nowhere = syntax.Loc{In: internal}

// reader makes commands of JSON.
type reader struct {
	*report
	exprs *exprReader
	stmts *stmtReader
}

func newReader(shown *syntax.Input) *reader {
	notes := &report{shown: shown}
	exprs := &exprReader{report: notes}
	return &reader{report: notes, exprs: exprs, stmts: &stmtReader{report: notes, exprs: exprs}}
}

// Commands reads commands. If the text is no JSON it says so and gives back nothing: nft reads it as its own language then. Commands are
// nil if they cannot be read; beside commands, mistakes are flags that are not known: nft says them in the end and otherwise does what it
// is told.
func Commands(in *syntax.Input) (commands []*syntax.Command, mistakes []*syntax.Mistake, isJSON bool) {
	root, ok := parse(in.Text)
	if !ok {
		return nil, nil, false
	}
	shown := in
	if in.Name == "/dev/stdin" {
		shown = &syntax.Input{Name: in.Name, NoText: true}
	}
	r := newReader(shown)
	commands, ok = r.commands(root)
	if !ok {
		return nil, r.mistakes, true
	}
	return commands, r.mistakes, true
}

// supportedVersion is the version of the schema (JSON_SCHEMA_VERSION).
const supportedVersion = 1

func (r *reader) commands(root *value) (commands []*syntax.Command, ok bool) {
	var list *value
	if !r.unpack(root, "{s:o}", "nftables", &list) {
		return nil, false
	}
	if list.kind != array {
		return nil, r.wrong(`Value of property "nftables" must be an array.`)
	}
	commands = make([]*syntax.Command, 0, len(list.items))
	for i := range list.items {
		item := &list.items[i]
		if item.kind != object {
			return nil, r.wrong("Unexpected command array element of type %s, expected object.", item.kind)
		}
		if info := item.get("metainfo"); info != nil {
			if !r.metaInfo(info) {
				return nil, r.wrong("Metainfo verification failed.")
			}
			continue
		}
		c := &syntax.Command{Loc: nowhere}
		if !r.command(item, c) {
			return nil, r.wrong("Parsing command array at index %d failed.", i)
		}
		commands = append(commands, c)
	}
	return commands, true
}

func (r *reader) metaInfo(info *value) bool {
	var version int64
	if is(info, "{s:i}", "json_schema_version", &version) && version > supportedVersion {
		return r.wrong("Schema version %d not supported, maximum supported version is %d\n", version, supportedVersion)
	}
	return true
}

// verbs are the commands in the order in which they are looked for.
var verbs = [...]struct {
	name string
	op   syntax.Op
	read func(*reader, *value, *syntax.Command) bool
}{
	{"add", syntax.OpAdd, (*reader).add}, {"replace", syntax.OpReplace, (*reader).replace}, {"create", syntax.OpCreate, (*reader).add},
	{"insert", syntax.OpInsert, (*reader).replace}, {"delete", syntax.OpDelete, (*reader).add}, {"list", syntax.OpList, (*reader).list},
	{"reset", syntax.OpReset, (*reader).reset}, {"flush", syntax.OpFlush, (*reader).flush}, {"rename", syntax.OpRename, (*reader).rename},
}

// command reads a command. What has none of the verbs is added, so that a listing is read.
func (r *reader) command(v *value, c *syntax.Command) bool {
	for _, verb := range &verbs {
		if of := v.get(verb.name); of != nil {
			c.Op = verb.op
			return verb.read(r, of, c)
		}
	}
	c.Op = syntax.OpAdd
	return r.add(v, c)
}

// places gives all parts of a handle the place that things of JSON have.
func places(h *syntax.Handle) {
	h.TableLoc, h.ChainLoc, h.NameLoc, h.NumberLoc = nowhere, nowhere, nowhere, nowhere
}
