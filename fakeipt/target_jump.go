package fakeipt

import "github.com/chainwalk/chainwalk/netfilter"

// Jump is -j CHAIN, and with Goto -g CHAIN.
type Jump struct {
	Chain string
	Goto  bool
}

// Name is the chain's name.
func (j *Jump) Name() string { return j.Chain }

func (j *Jump) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte { return dst }

func (j *Jump) appendList(dst []byte, _ listStyle) []byte { return dst }

func (j *Jump) addFact(f *netfilter.Fact) { f.Jump, f.Goto = j.Chain, j.Goto }
