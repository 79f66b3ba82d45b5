package xtables

import "github.com/chainwalk/chainwalk/netfilter"

// ValueParser parses an extension whose options say a value that can be compared. Equal values are one pointer.
type ValueParser[T comparable] struct {
	Start func(f netfilter.Family) T      // the value without options; nil: the zero value
	Read  func(v *T, o *OptionCall) error // takes one option
	Whole func(v *T, seen uint32) error   // makes the checks of all options; nil: there are none

	value T
	arena Arena[T]
}

func (p *ValueParser[T]) Begin(f netfilter.Family) {
	var zero T
	if p.value = zero; p.Start != nil {
		p.value = p.Start(f)
	}
}

func (p *ValueParser[T]) Option(o *OptionCall) error { return p.Read(&p.value, o) }

func (p *ValueParser[T]) done(seen uint32) (*T, error) {
	if p.Whole != nil {
		if err := p.Whole(&p.value, seen); err != nil {
			return nil, err
		}
	}
	return p.arena.Intern(p.value), nil
}

// valueMatch is a matchParser.
type valueMatch[T comparable, P interface {
	*T
	Match
}] struct {
	ValueParser[T]
}

func (p *valueMatch[T, P]) Finish(seen uint32) (Match, error) {
	v, err := p.done(seen)
	return P(v), err
}

// MatchOf makes new parsers like p of a match.
func MatchOf[T comparable, P interface {
	*T
	Match
}](p ValueParser[T]) func() MatchParser {
	return func() MatchParser { return &valueMatch[T, P]{p} }
}

// valueTarget is a targetParser.
type valueTarget[T comparable, P interface {
	*T
	Target
}] struct {
	ValueParser[T]
}

func (p *valueTarget[T, P]) Finish(seen uint32) (Target, error) {
	v, err := p.done(seen)
	return P(v), err
}

// TargetOf makes new parsers like p of a target.
func TargetOf[T comparable, P interface {
	*T
	Target
}](p ValueParser[T]) func() TargetParser {
	return func() TargetParser { return &valueTarget[T, P]{p} }
}
