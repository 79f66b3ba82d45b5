package jsontext

import (
	"fmt"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
)

// internal is the input that nft says errors are in which have no place in the text.
var internal = &syntax.Input{Name: "internal", NoText: true}

// nowhere is where all that is read from JSON stands.
var nowhere = syntax.Loc{In: internal}

// reader makes commands of JSON.
type reader struct {
	in       *syntax.Input
	mistakes []*syntax.Mistake
	// context is what kinds of expressions may stand where one is being read.
	context context
	// shown is where the messages about forms point: the text itself, or nothing of it if it came by standard input.
	shown *syntax.Input
}

// Commands reads commands. If the text is no JSON it says so and gives back nothing: nft reads it as its own language then. Commands are
// nil if they cannot be read; beside commands, mistakes are flags that are not known: nft says them in the end and otherwise does what it
// is told.
func Commands(in *syntax.Input) (commands []*syntax.Command, mistakes []*syntax.Mistake, isJSON bool) {
	root, ok := parse(in.Text)
	if !ok {
		return nil, nil, false
	}
	r := &reader{in: in, shown: in}
	if in.Name == "/dev/stdin" {
		r.shown = &syntax.Input{Name: in.Name, NoText: true}
	}
	commands, ok = r.commands(root)
	if !ok {
		return nil, r.mistakes, true
	}
	return commands, r.mistakes, true
}

// wrong notes an error without a place. It is false, for what its caller gives back.
func (r *reader) wrong(format string, args ...any) bool {
	r.mistakes = append(r.mistakes, syntax.Wrong(fmt.Sprintf(format, args...), nowhere))
	return false
}

// unpack takes a value apart, and notes an error if it does not have the form: with the column of the form as its place, as nft has it.
func (r *reader) unpack(v *value, form string, args ...any) bool {
	failed := unpack(v, form, args...)
	if failed == nil {
		return true
	}
	at := syntax.Loc{In: r.shown, Line: 1, First: int32(failed.column), Last: int32(failed.column)}
	r.mistakes = append(r.mistakes, syntax.Wrong(failed.text, at))
	return false
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

// family reads the name of a family.
func (r *reader) family(name string, h *syntax.Handle) bool {
	f, ok := familyNamed(name)
	if !ok {
		return r.wrong("Unknown family '%s'.", name)
	}
	h.Family, h.FamilyGiven = f, f != 0
	return true
}

func familyNamed(name string) (nftables.Family, bool) {
	if name == "unspec" {
		return 0, true
	}
	return syntax.FamilyNamed(name)
}

// places gives all parts of a handle the place that things of JSON have.
func places(h *syntax.Handle) {
	h.TableLoc, h.ChainLoc, h.NameLoc, h.NumberLoc, h.PositionLoc, h.IndexLoc = nowhere, nowhere, nowhere, nowhere, nowhere, nowhere
}
