package xtables

import (
	"errors"
	"fmt"
	"strings"
)

// The exit statuses of the tools.
const (
	StatusOther     = 1 // also of an operation that the ruleset refused
	StatusParameter = 2
	StatusVersion   = 3
	StatusResource  = 4 // of a batch that the kernel refused (nft), of a lock that another program holds (legacy)
)

// Problem is an error of usage: the tool prints its name and version, the message and how to get help.
type Problem struct {
	Status int
	Msg    string
	// Before is a line that the tool prints first.
	Before string
	// Bare leaves the tool's name and version out.
	Bare bool
}

func (p *Problem) Error() string { return strings.TrimSpace(p.Msg) }

// BadParameter is a problem with exit status 2.
func BadParameter(format string, args ...any) error {
	return &Problem{Status: StatusParameter, Msg: fmt.Sprintf(format, args...)}
}

// BadArgument is a word that is no option and belongs to none.
func BadArgument(word []byte) error {
	return &Problem{Status: StatusParameter, Msg: fmt.Sprintf("Bad argument `%s'", word), Bare: true}
}

// AsProblem is the usage error in err, if it is one.
func AsProblem(err error) (*Problem, bool) {
	var p *Problem
	ok := errors.As(err, &p)
	return p, ok
}
