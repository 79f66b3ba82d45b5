package expr

// Register is a number of a register as netlink has it (enum nft_registers): the verdict is 0, 1 to 4 have 16 bytes each, and 8 to 23 are
// the same 64 bytes in fours.
type Register uint8

// The registers that have names.
const (
	RegVerdict Register = 0
	Reg1       Register = 1 // 16 bytes
	Reg32      Register = 8 // the first of 4 bytes
)

// RegisterBytes is the size of all registers but the verdict.
const RegisterBytes = 64

// Offset is where the register begins within the 64 bytes; not for the verdict.
func (r Register) Offset() int {
	if r < Reg32 {
		return int(r-Reg1) * 16
	}
	return int(r-Reg32) * 4
}

// RegisterAt is the register that begins at an offset, in the number that the kernel prefers: one of 16 bytes if there is one
// (nft_dump_register in net/netfilter/nf_tables_api.c).
func RegisterAt(offset int) Register {
	if offset%16 == 0 {
		return Reg1 + Register(offset/16)
	}
	return Reg32 + Register(offset/4)
}
