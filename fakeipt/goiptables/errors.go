package goiptables

import (
	"errors"
	"fmt"
	"strings"
)

// Error is that a tool ended with another exit status than 0.
type Error struct {
	args   []string
	status int
	text   string // what it said
}

// Error has the command, its exit status and what it said, in the library's words.
func (e *Error) Error() string {
	return fmt.Sprintf("running %v: exit status %v: %v", e.args, e.status, e.text)
}

// ExitStatus is the tool's exit status.
func (e *Error) ExitStatus() int { return e.status }

// IsNotExist says whether the chain or the rule is not there, by what the tools say then.
func (e *Error) IsNotExist() bool {
	for _, says := range []string{
		"Bad rule (does a matching rule exist in that chain?).\n", "No chain/target/match by that name.\n",
		"No such file or directory", "does not exist",
	} {
		if strings.Contains(e.text, says) {
			return true
		}
	}
	return false
}

// notThere says whether a tool ended with 1: what it was asked for is not there, or is there already. Another error comes back.
func notThere(err error) (bool, error) {
	var of *Error
	if errors.As(err, &of) && of.status == 1 {
		return true, nil
	}
	return false, err
}
