package xtables

import (
	"github.com/chainwalk/chainwalk/netfilter"
)

// OpaqueRule is a rule that Kernel.Load has read and that has an extension which this package does not know, word by word. The
// tools themselves refuse such a rule, as on a machine whose tools have not the extension.
type OpaqueRule struct {
	// Text is what stands behind "-A CHAIN ".
	Text string
	// Source is what Load was told that its text is called.
	Source string
	// Line is the rule's line there, from 1.
	Line int
}

// OpaqueMatch is a match that is not known. Whether it matches a packet is not known either.
type OpaqueMatch struct {
	Extension string // as -m spells it
	Rule      *OpaqueRule
}

// Name is the extension's.
func (m *OpaqueMatch) Name() string { return m.Extension }

// AppendSave appends nothing: the text of the whole rule is kept.
func (*OpaqueMatch) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return dst
}

func (m *OpaqueMatch) AppendList(dst []byte, _ ListStyle) []byte {
	return append(append(append(dst, "UNKNOWN match `"...), m.Extension...), "' "...)
}

// OpaqueTarget is a target that is not known.
type OpaqueTarget struct {
	Extension string // as -j spells it
	Rule      *OpaqueRule
}

// Name is the extension's.
func (t *OpaqueTarget) Name() string { return t.Extension }

// AppendSave appends nothing: the text of the whole rule is kept.
func (*OpaqueTarget) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return dst
}

func (t *OpaqueTarget) AppendList(dst []byte, _ ListStyle) []byte {
	return append(append(append(dst, "UNKNOWN target `"...), t.Extension...), "' "...)
}

// Opaque is the rule's text if it has an extension that is not known, else nil.
func (r *Rule) Opaque() *OpaqueRule {
	if !r.HasOpaque {
		return nil
	}
	if t, ok := r.Target.(*OpaqueTarget); ok {
		return t.Rule
	}
	for _, m := range r.Matches {
		if m, ok := m.(*OpaqueMatch); ok {
			return m.Rule
		}
	}
	return nil
}

// OpaqueExtension stands for every extension that is not known.
var OpaqueExtension = &Extension{Name: "opaque"}

// NewOpaqueMatch is the parser of a match that is not known, in a rule of which this is the text.
func NewOpaqueMatch(name string, rule *OpaqueRule) MatchParser {
	return &opaqueMatchParser{OpaqueMatch{name, rule}}
}

// NewOpaqueTarget is the same of a target.
func NewOpaqueTarget(name string, rule *OpaqueRule) TargetParser {
	return &opaqueTargetParser{OpaqueTarget{name, rule}}
}

// opaqueMatchParser is the parser of a match that is not known: its words are not given to it.
type opaqueMatchParser struct{ m OpaqueMatch }

func (*opaqueMatchParser) Begin(netfilter.Family) {}

func (*opaqueMatchParser) Option(*OptionCall) error { return nil }

func (p *opaqueMatchParser) Finish(uint32) (Match, error) { return &p.m, nil }

// opaqueTargetParser is the same of a target.
type opaqueTargetParser struct{ t OpaqueTarget }

func (*opaqueTargetParser) Begin(netfilter.Family) {}

func (*opaqueTargetParser) Option(*OptionCall) error { return nil }

func (p *opaqueTargetParser) Finish(uint32) (Target, error) { return &p.t, nil }
