package fakeipt

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/chainwalk/chainwalk/fakeipt/ruleset"
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
)

// restoreError is an error with its place in the input.
type restoreError struct {
	line, column int
	token        string
	err          error
	origin       *restoreError // the place that the tool does not tell of
}

func (r *restoreError) Error() string { return fmt.Sprintf("line %d: %v", r.line, r.err) }

func (r *restoreError) Unwrap() error { return r.err }

// place adds the place of the word that was read last.
func (r *restorer) place(err error) error {
	var placed *restoreError
	if errors.As(err, &placed) {
		return err
	}
	column, token := 0, ""
	if _, ok := xtables.AsProblem(err); ok {
		column, token = r.parser.args.place()
	}
	return &restoreError{line: r.line, column: column, token: token, err: err}
}

// delay keeps an error until the commit, as the nft tools do.
func (r *restorer) delay(err error) error {
	r.late = &restoreError{line: r.line, err: err}
	var placed *restoreError
	if errors.As(err, &placed) {
		r.late = placed
	}
	return nil
}

// tellLate is the delayed error at its own line, or for a missing chain at that of the commit.
func (r *restorer) tellLate() error {
	var missing *missingChain
	if errors.As(r.late, &missing) {
		return &restoreError{line: r.line, err: xtables.BadParameter("%s", missing.Error()), origin: r.late}
	}
	return r.late
}

// placeAtWord is an error of a command that was carried out, with the place of the word that it is about.
func (r *restorer) placeAtWord(err error, cmd *command) error {
	word := []byte(cmd.chain)
	var missing *missingChain
	_, usage := xtables.AsProblem(err)
	if usage || errors.Is(err, ruleset.ErrJumpToBuiltin) || errors.As(err, &missing) {
		word = cmd.spec.jump
	}
	e := &restoreError{line: r.line, column: 1, err: err}
	for i, w := range r.parser.args.Words {
		if bytes.Equal(w, word) {
			e.column, e.token = r.parser.args.Columns[i], string(w)
		}
	}
	return e
}
