package fakeipt

// Jump is -j CHAIN, and with Goto -g CHAIN.
type Jump struct {
	Chain string
	Goto  bool
}

// Name is the chain's name.
func (j *Jump) Name() string { return j.Chain }

func (j *Jump) appendSave(dst []byte, _ Family, _ Dialect) []byte { return dst }

func (j *Jump) appendList(dst []byte, _ listStyle) []byte { return dst }
