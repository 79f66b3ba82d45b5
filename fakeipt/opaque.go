package fakeipt

import (
	"strings"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
)

// dumpText is the text that a parser reads rules of, if it is not the input of a tool.
type dumpText struct {
	source  string
	foreign bool // other tools wrote it, which may have other extensions
	line    int
	words   *argumentReader // of the line
	first   int             // the first word that is no counter
	body    int             // the word that is first behind the chain; 0: the line does not begin with a command on a chain
}

// command notes where the rule begins whose command is that word.
func (d *dumpText) command(word, body int) {
	if d != nil && word == d.first {
		d.body = body
	}
}

// nextLine forgets the rule before.
func (d *dumpText) nextLine(line, first int) {
	if d != nil {
		d.line, d.first, d.body = line, first, 0
	}
}

// opaqueRule keeps the text of the rule, once. It is nil if the rule has to be understood: for a tool, in what a tool has kept, and where
// words stand before the chain.
func (spec *ruleSpec) opaqueRule() *xtables.OpaqueRule {
	d := spec.dump
	if spec.opaque == nil && d != nil && d.foreign && d.body > 0 {
		spec.opaque = &xtables.OpaqueRule{Text: d.words.TextFrom(d.body), Source: d.source, Line: d.line}
	}
	return spec.opaque
}

// loadOpaque adds an extension that is not known to the rule.
func (x *ruleExtensions) loadOpaque(l loadedExtension) {
	x.pool(xtables.OpaqueExtension)
	l.ext = xtables.OpaqueExtension
	x.loaded = append(x.loaded, l)
}

// opaqueMatch adds a match that is not known, if the rule need not be understood. Everything up to the next option that rules have
// themselves is its own.
func (p *commandParser) opaqueMatch(name []byte) bool {
	rule := p.cmd.spec.opaqueRule()
	if rule == nil {
		return false
	}
	p.extensions.loadOpaque(loadedExtension{match: xtables.NewOpaqueMatch(string(name), rule)})
	p.skipForeign()
	return true
}

// opaqueTarget is the target of a name that is neither a chain's nor that of a target that is known, nil if the rule has to be understood.
func (spec *ruleSpec) opaqueTarget() xtables.Target {
	if rule := spec.opaqueRule(); rule != nil && !spec.isGoto {
		return &xtables.OpaqueTarget{Extension: string(spec.jump), Rule: rule}
	}
	return nil
}

// foreignOption says that an option that nothing has belongs to the name behind -j, which is that of a target that is not known, if there
// is no chain of it.
func (p *commandParser) foreignOption(name, word []byte) bool {
	spec := &p.cmd.spec
	if spec.dump == nil || !spec.dump.foreign || spec.jump == nil || spec.isGoto || spec.target != nil || p.extensions.hasTarget() {
		return false
	}
	if own := p.extensions.ofProtocol(spec.proto.Number, p.protocol); own != nil && own.Find(name) >= 0 {
		return false
	}
	spec.foreign = word
	p.skipForeign()
	return true
}

// skipForeign passes by the words of an extension that is not known.
func (p *commandParser) skipForeign() {
	a := &p.args
	for a.at < len(a.Words) && !p.beginsOwn(a.at) {
		a.at++
	}
}

// beginsOwn says whether a word begins an option that rules have themselves, whatever their extensions; a "!" may stand before it.
func (p *commandParser) beginsOwn(at int) bool {
	a := &p.args
	if at >= len(a.Words) || a.Quoted(at) {
		return false
	}
	word := string(a.Words[at])
	if word == "!" {
		return at+1 < len(a.Words) && string(a.Words[at+1]) != "!" && p.beginsOwn(at+1)
	}
	if len(word) == 2 && word[0] == '-' {
		return strings.IndexByte(ownLetters, word[1]) >= 0
	}
	long, ok := strings.CutPrefix(word, "--")
	letter, known := longOptions[long]
	return ok && known && strings.IndexByte(ownLetters, letter) >= 0
}

// ownLetters are the options of rules that are not an extension's.
const ownLetters = "sdiopfcmjg"

// unsupportedRevision acts on what iptables-save prints in the place of options that it cannot read: the extension that was named last
// is as good as one that is not known.
func (p *commandParser) unsupportedRevision(word []byte) bool {
	x, a := &p.extensions, &p.args
	last := len(x.loaded) - 1
	behind, _ := a.peek()
	rule := p.cmd.spec.opaqueRule()
	if rule == nil || last < 0 || string(word) != "[unsupported" || string(behind) != "revision]" {
		return false
	}
	a.at++
	l := x.loaded[last]
	x.loaded = x.loaded[:last]
	if l.match == nil {
		x.loadOpaque(loadedExtension{target: xtables.NewOpaqueTarget(l.ext.Name, rule)})
		return true
	}
	if l.ext != xtables.OpaqueExtension {
		x.pools[l.ext].used--
	}
	x.loadOpaque(loadedExtension{match: xtables.NewOpaqueMatch(l.ext.Name, rule)})
	return true
}
