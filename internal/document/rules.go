package document

import (
	"fmt"
	"math"
	"reflect"
	"slices"

	"go.yaml.in/yaml/v3"
)

// Rules are what one kind of document allows, and how its mistakes are worded. The zero Rules are for documents that users write by hand,
// scenarios and Kubernetes objects: see the fields.
type Rules struct {
	// AnyLength takes inputs and lines of any length, which are bounded otherwise.
	AnyLength bool
	// UTF16 takes text in UTF-16 that begins with a byte order mark.
	UTF16 bool
	// NoAliases refuses anchors and aliases, which otherwise may add a bounded number of values.
	NoAliases bool
	// YAMLScalars takes plain values as YAML has them: numbers in any base, and any value but null where a text belongs. Otherwise they are
	// taken as the API server takes them: numbers in plain decimal digits, text only as text, and null leaves a field as it was.
	YAMLScalars bool
	// YAMLStrings takes and writes strings as YAML has them: bytes that are no text as !!binary, and what YAML 1.1 takes for a number or a
	// truth value in quotes. Otherwise a string is text, and is in quotes if YAML 1.2 needs it.
	YAMLStrings bool
	// NilEmpty makes an empty list or mapping nil, as if it had been left out. Otherwise it is empty, as the API server has it.
	NilEmpty bool
	// Word words a problem; the problem's path is put before it. Where it gives nothing, or is nil, the usual words are taken.
	Word func(p *Problem) string
}

// Problem is something that is wrong with a document, before it is put into words.
type Problem struct {
	Kind ProblemKind
	// Node is the value, nil for a NotUTF8, a ControlCharacter, a NoDocument and a SecondDocument.
	Node *yaml.Node
	// path is the value's, such as routes[3].dst; of an UnknownField and a DuplicateKey it is that of the mapping.
	path string
	// Name is the key of an UnknownField or DuplicateKey, the byte that is NotUTF8, the ControlCharacter.
	Name string
	// Type is what the value was to be read into, or the mapping of a DuplicateKey; nil where an Unmarshaler wanted something else.
	Type reflect.Type
	// Known are the fields that the mapping of an UnknownField may have, in their order.
	Known []string
	// want says what belongs there in place of a WrongType.
	want string
	// line is that of the key that a DuplicateKey repeats.
	line int
	// Err says why a text is Invalid.
	Err error
}

// ProblemKind is what is wrong.
type ProblemKind int

// The problems that kinds of documents word in their own ways.
const (
	NotUTF8          ProblemKind = iota // a byte that is not UTF-8
	ControlCharacter                    // a character that no YAML holds
	NoDocument                          // where one is wanted
	SecondDocument                      // where one is wanted
	UnknownField                        // a field that the type does not have
	DuplicateKey                        // a field or key that was given before
	WrongType                           // another kind of value than the type has
	OutOfRange                          // a number that is too small or too large
	Invalid                             // a text that the type does not take
)

// error is the problem in words.
func (r *Rules) error(pos Position, p *Problem) *Error {
	if r.Word != nil {
		if msg := r.Word(p); msg != "" {
			return &Error{Position: pos, Path: p.path, Msg: msg}
		}
	}
	if p.Kind == UnknownField {
		return &Error{Position: pos, Msg: fmt.Sprintf("unknown field %q%s", join(p.path, p.Name),
			Suggest(p.Name, slices.Sorted(slices.Values(p.Known))))}
	}
	return &Error{Position: pos, Path: p.path, Msg: p.usual()}
}

func (p *Problem) usual() string {
	switch p.Kind {
	case NotUTF8:
		return "byte " + p.Name + " is not UTF-8 (the input must be UTF-8 text in YAML or JSON)"
	case ControlCharacter:
		return "control character " + p.Name + " (the input must be UTF-8 text in YAML or JSON)"
	case NoDocument:
		return "the input is empty (want one document)"
	case SecondDocument:
		return "a second document (want one)"
	case DuplicateKey:
		return fmt.Sprintf("duplicate key %q, first given on line %d (remove one)", p.Name, p.line)
	case OutOfRange:
		bits := p.Type.Bits()
		if p.Type.Kind() < reflect.Uint {
			return fmt.Sprintf("%s does not fit into %d bits", Shorten(p.Node.Value), bits)
		}
		return fmt.Sprintf("%s must be between 0 and %d", Shorten(p.Node.Value), uint64(math.MaxUint64)>>(64-bits))
	case Invalid:
		if p.Type.Name() == "Duration" {
			return fmt.Sprintf("want a time with its unit, such as 30s, 5m or 1h, got %s%s", Describe(p.Node), SuggestTime(p.Node.Value))
		}
		return fmt.Sprintf("got %s, which is no valid %s: %v", Describe(p.Node), p.Type.Name(), p.Err)
	default:
		advice := ""
		if p.want == "a string" && p.Node.Kind == yaml.ScalarNode && !IsNull(p.Node) {
			advice = " (put it in quotes)"
		}
		return fmt.Sprintf("want %s, got %s%s", p.want, Describe(p.Node), advice)
	}
}
