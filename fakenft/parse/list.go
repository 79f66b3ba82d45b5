package parse

import "github.com/chainwalk/chainwalk/fakenft/syntax"

// listed are the kinds of "list" that are named: "list set ip t s".
var listed = map[token]syntax.Kind{
	tokTable: syntax.KindTable, tokChain: syntax.KindChain, tokSet: syntax.KindSet, tokMap: syntax.KindMap, tokMeter: syntax.KindMeter,
	tokFlowtable: syntax.KindFlowtable, tokCounter: syntax.KindCounter, tokQuota: syntax.KindQuota, tokLimit: syntax.KindLimit,
	tokSecmark: syntax.KindSecmark, tokSynproxy: syntax.KindSynproxy,
}

// all are the kinds of which all are listed, and whether those of one table can be.
var all = map[token]struct {
	kind    syntax.Kind
	ofTable bool
}{
	tokTables: {syntax.KindTables, false}, tokChains: {syntax.KindChains, false}, tokSets: {syntax.KindSets, true},
	tokMaps: {syntax.KindMaps, false}, tokMeters: {syntax.KindMeters, false}, tokFlowtables: {syntax.KindFlowtables, false},
	tokCounters: {syntax.KindCounters, true}, tokQuotas: {syntax.KindQuotas, true}, tokLimits: {syntax.KindLimits, true},
	tokSecmarks: {syntax.KindSecmarks, true}, tokSynproxys: {syntax.KindSynproxies, true}, tokRuleset: {syntax.KindRuleset, false},
}

func (p *parser) lists(c *syntax.Command) {
	t := p.peek()
	if kind, ok := all[t]; ok {
		p.take()
		p.allOf(c, kind.kind, kind.ofTable)
		return
	}
	if kind, ok := listed[t]; ok {
		p.take()
		c.Kind = kind
		switch t {
		case tokTable:
			p.handles.tableSpec(&c.Handle)
		case tokChain:
			p.handles.chainSpec(&c.Handle)
		default:
			p.handles.nameSpec(&c.Handle)
		}
		if s := opens[t]; s != scopeBase {
			p.close(s)
		}
		return
	}
	switch t {
	case tokFlow:
		p.take()
		switch p.peek() {
		case tokTables:
			p.take()
			p.allOf(c, syntax.KindMeters, false)
		case tokTable:
			p.take()
			c.Kind = syntax.KindMeter
			p.handles.nameSpec(&c.Handle)
		default:
			p.unexpected(tokTable, tokTables)
		}
	case tokCt:
		p.take()
		p.listCT(c)
	case tokHooks:
		p.take()
		c.Kind = syntax.KindHooks
		p.handles.rulesetSpec(&c.Handle)
		if p.accept(tokDevice) {
			c.Word = p.identifier()
		}
	default:
		p.unexpected(anything...)
	}
}

// allOf takes what comes behind the kind of which all are meant: a family, or a table.
func (p *parser) allOf(c *syntax.Command, kind syntax.Kind, ofTable bool) {
	c.Kind = kind
	if ofTable && p.accept(tokTable) {
		p.handles.tableSpec(&c.Handle)
		return
	}
	p.handles.rulesetSpec(&c.Handle)
}

func (p *parser) listCT(c *syntax.Command) {
	t := p.peek()
	switch t {
	case tokHelpers:
		p.take()
		c.Kind = syntax.KindCTHelpers
		if p.expect(tokTable) {
			p.handles.tableSpec(&c.Handle)
		}
	case tokTimeout, tokExpectation:
		p.take()
		if p.accept(tokTable) {
			c.Kind = syntax.KindCTTimeouts
			if t == tokExpectation {
				c.Kind = syntax.KindCTExpectations
			}
			p.handles.tableSpec(&c.Handle)
			break
		}
		c.Kind = objectKinds[t].kind
		p.handles.nameSpec(&c.Handle)
	case tokHelper:
		p.take()
		c.Kind = syntax.KindCTHelper
		p.handles.nameSpec(&c.Handle)
	default:
		p.unexpected(tokTimeout, tokExpectation, tokHelper, tokHelpers)
	}
	p.close(scopeCT)
}

func (p *parser) resets(c *syntax.Command) {
	switch t := p.peek(); t {
	case tokCounters, tokQuotas:
		p.take()
		p.allOf(c, all[t].kind, true)
	case tokCounter, tokQuota:
		p.take()
		c.Kind = listed[t]
		p.handles.nameSpec(&c.Handle)
		p.close(opens[t])
	default:
		p.unexpected(tokCounter, tokCounters, tokQuota, tokQuotas)
	}
}

// ports takes what comes behind "import", "export" and "monitor".
func (p *parser) ports(c *syntax.Command) {
	if c.Op == syntax.OpMonitor {
		p.monitor(c)
		return
	}
	c.Kind = syntax.KindRuleset
	ruleset := p.accept(tokRuleset)
	if word, ok := p.markup(); ok {
		c.Word = word
	} else if ruleset {
		p.unexpected(tokXml, tokJson, tokVm)
	} else {
		p.unexpected(tokRuleset, tokXml, tokJson, tokVm)
	}
	if c.Op == syntax.OpImport {
		p.close(scopeImport)
	} else {
		p.close(scopeExport)
	}
}

// markup takes the name of a format, if one comes.
func (p *parser) markup() (string, bool) {
	switch p.peek() {
	case tokXml:
		p.take()
		return "xml", true
	case tokJson:
		p.take()
		return "json", true
	case tokVm:
		p.take()
		p.expect(tokJson)
		return "json", true
	}
	return "", false
}

// monitor takes an event, an object and a format, none of which has to be there. NewName is the event and Word the object.
func (p *parser) monitor(c *syntax.Command) {
	c.Kind = syntax.KindRuleset
	if p.accept(tokString) {
		c.NewName = p.cur.text
	}
	switch p.peek() {
	case tokTables, tokChains, tokSets, tokRules, tokElements, tokRuleset, tokTrace:
		p.take()
		c.Word = p.cur.text
	}
	p.markup()
	p.close(scopeMonitor)
}
