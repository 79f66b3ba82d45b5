package fakeipt

import "github.com/chainwalk/chainwalk/netfilter"

// valueParser parses an extension whose options say a value that can be compared. Equal values are one pointer.
type valueParser[T comparable] struct {
	start func(f netfilter.Family) T      // the value without options; nil: the zero value
	read  func(v *T, o *optionCall) error // takes one option
	whole func(v *T, seen uint32) error   // makes the checks of all options; nil: there are none

	value T
	arena arena[T]
}

func (p *valueParser[T]) begin(f netfilter.Family) {
	var zero T
	if p.value = zero; p.start != nil {
		p.value = p.start(f)
	}
}

func (p *valueParser[T]) option(o *optionCall) error { return p.read(&p.value, o) }

func (p *valueParser[T]) done(seen uint32) (*T, error) {
	if p.whole != nil {
		if err := p.whole(&p.value, seen); err != nil {
			return nil, err
		}
	}
	return p.arena.intern(p.value), nil
}

// valueMatch is a matchParser.
type valueMatch[T comparable, P interface {
	*T
	Match
}] struct {
	valueParser[T]
}

func (p *valueMatch[T, P]) finish(seen uint32) (Match, error) {
	v, err := p.done(seen)
	return P(v), err
}

// matchOf makes new parsers like p of a match.
func matchOf[T comparable, P interface {
	*T
	Match
}](p valueParser[T]) func() matchParser {
	return func() matchParser { return &valueMatch[T, P]{p} }
}

// valueTarget is a targetParser.
type valueTarget[T comparable, P interface {
	*T
	Target
}] struct {
	valueParser[T]
}

func (p *valueTarget[T, P]) finish(seen uint32) (Target, error) {
	v, err := p.done(seen)
	return P(v), err
}

// targetOf makes new parsers like p of a target.
func targetOf[T comparable, P interface {
	*T
	Target
}](p valueParser[T]) func() targetParser {
	return func() targetParser { return &valueTarget[T, P]{p} }
}
