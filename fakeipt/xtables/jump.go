package xtables

import "github.com/chainwalk/chainwalk/netfilter"

// Jump is -j CHAIN, and with Goto -g CHAIN.
type Jump struct {
	Chain string
	Goto  bool
}

// Name is the chain's name.
func (j *Jump) Name() string { return j.Chain }

func (j *Jump) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte { return dst }

func (j *Jump) AppendList(dst []byte, _ ListStyle) []byte { return dst }

func (j *Jump) AddFact(f *netfilter.Fact) { f.Jump, f.Goto = j.Chain, j.Goto }
