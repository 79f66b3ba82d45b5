package expr

// Code is the code of a verdict. The values are the kernel's (enum nft_verdicts, NF_ACCEPT and its like).
type Code int32

// The codes.
const (
	Drop     Code = 0
	Accept   Code = 1
	Queue    Code = 3
	Continue Code = -1
	Break    Code = -2
	Jump     Code = -3
	Goto     Code = -4
	Return   Code = -5
)

// Verdict is what becomes of a packet.
type Verdict struct {
	Code Code
	// Chain is where Jump and Goto lead to.
	Chain string
	// ChainID is the number of a chain of the same transaction, which chains without a name are found by; 0 for none.
	ChainID uint32
}

// Data is what a register can be given: bytes, or a verdict if Verdict is not nil.
type Data struct {
	Bytes   []byte
	Verdict *Verdict
}
