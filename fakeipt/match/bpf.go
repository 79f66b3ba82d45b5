package match

import (
	"bytes"
	"math"
	"strconv"
	"syscall"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// BPF is -m bpf --bytecode: a program of the classic Berkeley packet filter, which sees the packet from its IP header on.
type BPF struct {
	Program []BPFInstruction
}

// BPFInstruction is one instruction, as the kernel's struct sock_filter has it.
type BPFInstruction struct {
	Code   uint16
	JT, JF uint8 // instructions to skip where a comparison holds, and where it does not
	K      uint32
}

// maxBPF is the length of a program.
const maxBPF = 64

// Name is "bpf".
func (*BPF) Name() string { return "bpf" }

func (m *BPF) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	dst = strconv.AppendInt(append(dst, " --bytecode \""...), int64(len(m.Program)), 10)
	return append(m.appendProgram(append(dst, ',')), '"')
}

// AppendList ends in the byte 0, as the tools print it.
func (m *BPF) AppendList(dst []byte, _ xtables.ListStyle) []byte {
	return append(m.appendProgram(append(dst, "match bpf "...)), 0)
}

func (m *BPF) appendProgram(dst []byte) []byte {
	for i, in := range m.Program {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendUint(dst, uint64(in.Code), 10)
		dst = strconv.AppendUint(append(dst, ' '), uint64(in.JT), 10)
		dst = strconv.AppendUint(append(dst, ' '), uint64(in.JF), 10)
		dst = strconv.AppendUint(append(dst, ' '), uint64(in.K), 10)
	}
	return dst
}

func (m *BPF) Check(*xtables.CheckContext) syscall.Errno {
	if !checkBPF(m.Program) {
		return syscall.EINVAL
	}
	return 0
}

var bpfExtension = &xtables.Extension{
	Name:     "bpf",
	Options:  []xtables.Option{{Name: "bytecode"}, {Name: "object-pinned"}},
	NewMatch: func() xtables.MatchParser { return &bpfParser{} },
}

type bpfParser struct {
	program []BPFInstruction
}

func (p *bpfParser) Begin(netfilter.Family) { p.program = nil }

func (p *bpfParser) Option(o *xtables.OptionCall) error {
	if o.Name == "object-pinned" {
		return xtables.BadParameter("bpf: failed to get bpf object")
	}
	count, rest, ok := libc.CutDecimal(o.Arg)
	count = uint64(uint16(count))
	switch {
	case !ok || len(rest) == 0 || rest[0] != ',':
		return xtables.BadParameter("bpf: error parsing program length")
	case count == 0:
		return xtables.BadParameter("bpf: illegal zero length program")
	case count > maxBPF:
		return xtables.BadParameter("bpf: number of instructions exceeds maximum")
	}
	for rest = rest[1:]; len(rest) > 0; {
		if len(p.program) == int(count) {
			return xtables.BadParameter("bpf: real program length exceeds the encoded length parameter")
		}
		var word []byte
		word, rest, _ = bytes.Cut(rest, []byte(","))
		in, ok := parseBPFInstruction(word)
		if !ok {
			return xtables.BadParameter("bpf: error at instr %d", len(p.program))
		}
		p.program = append(p.program, in)
	}
	if len(p.program) < int(count) {
		return xtables.BadParameter("bpf: parsed program length is less than the encoded length parameter")
	}
	return nil
}

// parseBPFInstruction reads "CODE JT JF K" and nothing behind it; of each number the lowest bits are kept.
func parseBPFInstruction(word []byte) (in BPFInstruction, ok bool) {
	var numbers [4]uint64
	for i := range numbers {
		if numbers[i], word, ok = libc.CutDecimal(word); !ok {
			return in, false
		}
	}
	return BPFInstruction{uint16(numbers[0]), uint8(numbers[1]), uint8(numbers[2]), uint32(numbers[3])}, true
}

func (p *bpfParser) Finish(seen uint32) (xtables.Match, error) {
	if seen == 0 {
		return nil, xtables.BadParameter("bpf: one of --bytecode or --pinned is required")
	}
	return &BPF{Program: p.program}, nil
}

// BPFIndex is the bit of a code of arithmetic or of a comparison whose operand is the index register, and not K.
const BPFIndex uint16 = 0x08

// The codes of instructions that load the accumulator: bytes of the packet at K or (X) at K and the index register, its length, K, or
// what is stored.
const (
	BPFLoadWord     uint16 = 0x20
	BPFLoadHalf     uint16 = 0x28
	BPFLoadByte     uint16 = 0x30
	BPFLoadWordX    uint16 = 0x40
	BPFLoadHalfX    uint16 = 0x48
	BPFLoadByteX    uint16 = 0x50
	BPFLoadLength   uint16 = 0x80
	BPFLoadConstant uint16 = 0x00
	BPFLoadMemory   uint16 = 0x60
)

// Those that load the index register, which BPFLoadXHeaderLength makes four times the lower half of the byte at K, and those that store.
const (
	BPFLoadXLength       uint16 = 0x81
	BPFLoadXConstant     uint16 = 0x01
	BPFLoadXMemory       uint16 = 0x61
	BPFLoadXHeaderLength uint16 = 0xb1
	BPFStore             uint16 = 0x02
	BPFStoreX            uint16 = 0x03
	BPFMoveToX           uint16 = 0x07
	BPFMoveFromX         uint16 = 0x87
)

// Those of arithmetic with the accumulator.
const (
	BPFAdd        uint16 = 0x04
	BPFSubtract   uint16 = 0x14
	BPFMultiply   uint16 = 0x24
	BPFDivide     uint16 = 0x34
	BPFOr         uint16 = 0x44
	BPFAnd        uint16 = 0x54
	BPFLeftShift  uint16 = 0x64
	BPFRightShift uint16 = 0x74
	BPFNegate     uint16 = 0x84
	BPFModulo     uint16 = 0x94
	BPFXor        uint16 = 0xa4
)

// Jumps, and the ends of a program.
const (
	BPFJump               uint16 = 0x05
	BPFJumpEqual          uint16 = 0x15
	BPFJumpGreater        uint16 = 0x25
	BPFJumpGreaterOrEqual uint16 = 0x35
	BPFJumpSet            uint16 = 0x45
	BPFReturn             uint16 = 0x06
	BPFReturnAccumulator  uint16 = 0x16
)

const (
	// BPFMemory is how many numbers a program can store.
	BPFMemory = 16
	// BPFAncillary is where the places begin that stand for what is known of a packet beside its bytes.
	BPFAncillary = math.MaxUint32 - 0xfff
	// lastBPFAncillary is the last of those places, which are 4 apart.
	lastBPFAncillary = BPFAncillary + 60
)

// checkBPF is what the kernel asks of a program (bpf_check_classic in net/core/filter.c).
func checkBPF(program []BPFInstruction) bool {
	for pc, in := range program {
		if !in.allowed(uint64(len(program) - pc - 1)) {
			return false
		}
	}
	last := program[len(program)-1].Code
	return (last == BPFReturn || last == BPFReturnAccumulator) && checkBPFMemory(program)
}

// allowed looks at one instruction, behind which there are so many.
func (in BPFInstruction) allowed(behind uint64) bool {
	switch in.Code {
	case BPFLoadWord, BPFLoadHalf, BPFLoadByte:
		return in.K < BPFAncillary || in.K <= lastBPFAncillary && in.K%4 == 0
	case BPFLoadWordX, BPFLoadHalfX, BPFLoadByteX, BPFLoadLength, BPFLoadConstant, BPFLoadXLength, BPFLoadXConstant, BPFLoadXHeaderLength,
		BPFMoveToX, BPFMoveFromX, BPFNegate, BPFReturn, BPFReturnAccumulator:
		return true
	case BPFLoadMemory, BPFLoadXMemory, BPFStore, BPFStoreX:
		return in.K < BPFMemory
	case BPFDivide, BPFModulo:
		return in.K != 0
	case BPFLeftShift, BPFRightShift:
		return in.K < 32
	case BPFJump:
		return uint64(in.K) < behind
	}
	switch in.Code &^ BPFIndex {
	case BPFAdd, BPFSubtract, BPFMultiply, BPFDivide, BPFOr, BPFAnd, BPFLeftShift, BPFRightShift, BPFModulo, BPFXor:
		return true
	case BPFJumpEqual, BPFJumpGreater, BPFJumpGreaterOrEqual, BPFJumpSet:
		return uint64(in.JT) < behind && uint64(in.JF) < behind
	}
	return false
}

// checkBPFMemory says whether nothing is read from memory that was not stored on every way there.
func checkBPFMemory(program []BPFInstruction) bool {
	const all = 1<<BPFMemory - 1
	var missing [maxBPF]uint16 // at each instruction what some way to it has not stored
	stored := uint16(0)
	for pc, in := range program {
		stored &^= missing[pc]
		switch in.Code {
		case BPFStore, BPFStoreX:
			stored |= 1 << in.K
		case BPFLoadMemory, BPFLoadXMemory:
			if stored&(1<<in.K) == 0 {
				return false
			}
		case BPFJump:
			missing[pc+1+int(in.K)] |= ^stored
			stored = all
		default:
			if in.Code&7 == BPFJump {
				missing[pc+1+int(in.JT)] |= ^stored
				missing[pc+1+int(in.JF)] |= ^stored
				stored = all
			}
		}
	}
	return true
}
