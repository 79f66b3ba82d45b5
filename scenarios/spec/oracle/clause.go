package oracle

// Force says how binding a clause is (RFC 2119).
type Force string

// The forces.
const (
	Must        Force = "MUST"
	May         Force = "MAY"
	Unspecified Force = "UNSPECIFIED"
)

// Clause is one sentence of the specification. There is one value of each, so that they can be compared.
type Clause struct {
	// Name is how reports and files call it, such as "no-endpoint-rejects".
	Name string
	// Law is the invariant that it belongs to: I1 to I12.
	Law string
	// Force says how binding it is.
	Force Force
	// Text is the sentence, in our words.
	Text string
	// Source cites where it is said: a KEP, an API field, an issue.
	Source []string
	// Mode is the only mode of proxies that it is about; empty: every mode.
	Mode Mode
	// Sentence tells users of it, of a clause by which the mode does otherwise than mode iptables. The zero value: no document does.
	Sentence Sentence
}

// Violation is something that the specification does not allow.
type Violation struct {
	Clause  *Clause
	Attempt Attempt
	// Want and Got say in words what is allowed and what was seen.
	Want, Got string
}

// Clauses are all clauses, in the order of docs/specification.md.
func Clauses() []*Clause {
	var out []*Clause
	for _, chapter := range Chapters() {
		out = append(out, chapter.Clauses...)
	}
	return out
}

// ByName returns the clause of that name, nil if there is none.
func ByName(name string) *Clause {
	for _, c := range Clauses() {
		if c.Name == name {
			return c
		}
	}
	return nil
}
