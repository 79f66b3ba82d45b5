package fakeipt

import (
	"github.com/chainwalk/chainwalk/fakeipt/target"
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// isTarget says whether the tools have a target of that name, which no new chain can have.
func (p *commandParser) isTarget(name string) bool {
	ext := target.Find([]byte(name), p.family)
	if p.hidden[name] {
		return false
	}
	p.warnOfGone(ext)
	return ext != nil
}

// warnOfGone says, if the kernel lacks an extension, what the tools say when they first meet its name.
func (p *commandParser) warnOfGone(ext *xtables.Extension) {
	if ext == nil || !ext.Gone || p.run == nil || p.run.gone[ext] {
		return
	}
	if p.run.gone == nil {
		p.run.gone = map[*xtables.Extension]bool{}
	}
	p.run.gone[ext] = true
	p.Warn("Warning: Extension %s revision 0 not supported, missing kernel module?\n", ext.Name)
}

// hideTarget makes the name of a target the one of a chain for all input to come.
func (p *commandParser) hideTarget(name []byte) {
	if len(name) > target.MaxName || target.Find(name, p.family) == nil {
		return
	}
	if p.hidden == nil {
		p.hidden = map[string]bool{}
	}
	p.hidden[string(name)] = true
}

// verdictsHidden says that the tools know no verdict any more, since input has declared a chain of the name that stands for them (nft).
func (p *commandParser) verdictsHidden() bool {
	return p.hidden[xtables.StandardTarget] && p.Dialect() == netfilter.NFT
}
