package packetsim

import (
	"errors"

	"github.com/chainwalk/chainwalk/fakeipt/match"
)

var errBPFAncillary = errors.New("not supported: -m bpf that asks for more than the packet's bytes, its mark and protocol")

// The places that stand for what is beside a packet's bytes (SKF_AD_OFF, SKF_NET_OFF).
const (
	bpfProtocol = match.BPFAncillary
	bpfMark     = match.BPFAncillary + 20
	bpfNetwork  = 0xfff00000 // what is behind it counts from the IP header
	bpfLink     = 0xffe00000 // what is behind it counts from the link-layer header
)

// matchBPF is -m bpf (net/netfilter/xt_bpf.c).
func (mt *matcher) matchBPF(s *skb, m *match.BPF) bool {
	v := bpfMachine{course: mt.course, s: s, packet: s.wireBytes()}
	return v.run(m.Program) != 0
}

// bpfMachine runs a program of the classic packet filter (___bpf_prog_run in kernel/bpf/core.c, by way of bpf_convert_filter).
type bpfMachine struct {
	*course
	s      *skb
	packet *maskedBytes
	a, x   bpfNumber
	memory [match.BPFMemory]bpfNumber
	pc     int
	ended  bool
	result uint32
}

// bpfNumber is a number of which the bits in unknown are not known.
type bpfNumber struct{ value, unknown uint32 }

func (v *bpfMachine) run(program []match.BPFInstruction) uint32 {
	for !v.ended && v.err == nil {
		in := program[v.pc]
		v.pc++
		v.step(in)
	}
	return v.result
}

func (v *bpfMachine) end(result uint32) { v.ended, v.result = true, result }

// sure is the number's value, which has to be known.
func (v *bpfMachine) sure(n bpfNumber) uint32 {
	if n.unknown != 0 {
		v.fail(errUnknownBytes)
	}
	return n.value
}

func (v *bpfMachine) step(in match.BPFInstruction) {
	k := bpfNumber{value: in.K}
	switch in.Code {
	case match.BPFLoadWord:
		v.load(uint64(in.K), 4)
	case match.BPFLoadHalf:
		v.load(uint64(in.K), 2)
	case match.BPFLoadByte:
		v.load(uint64(in.K), 1)
	case match.BPFLoadWordX:
		v.load(uint64(in.K+v.sure(v.x)), 4)
	case match.BPFLoadHalfX:
		v.load(uint64(in.K+v.sure(v.x)), 2)
	case match.BPFLoadByteX:
		v.load(uint64(in.K+v.sure(v.x)), 1)
	case match.BPFLoadLength:
		v.a = bpfNumber{value: uint32(v.packet.size)}
	case match.BPFLoadConstant:
		v.a = k
	case match.BPFLoadMemory:
		v.a = v.memory[in.K]
	case match.BPFLoadXLength:
		v.x = bpfNumber{value: uint32(v.packet.size)}
	case match.BPFLoadXConstant:
		v.x = k
	case match.BPFLoadXMemory:
		v.x = v.memory[in.K]
	case match.BPFLoadXHeaderLength:
		a := v.a
		if v.load(uint64(in.K), 1); !v.ended {
			v.x = bpfNumber{v.a.value & 0xf << 2, v.a.unknown & 0xf << 2}
		}
		v.a = a
	case match.BPFStore:
		v.memory[in.K] = v.a
	case match.BPFStoreX:
		v.memory[in.K] = v.x
	case match.BPFMoveToX:
		v.x = v.a
	case match.BPFMoveFromX:
		v.a = v.x
	case match.BPFReturn:
		v.end(in.K)
	case match.BPFReturnAccumulator:
		v.end(v.sure(v.a))
	case match.BPFJump:
		v.pc += int(in.K)
	case match.BPFNegate:
		v.a = bpfNumber{value: -v.sure(v.a)}
	default:
		operand := k
		if in.Code&match.BPFIndex != 0 {
			operand = v.x
		}
		v.operate(in, in.Code&^match.BPFIndex, operand)
	}
}

// load reads a number into the accumulator; beyond the packet's end the program ends with 0.
func (v *bpfMachine) load(at uint64, size int) {
	switch {
	case at == bpfProtocol:
		v.a = bpfNumber{value: 0x0800}
		if v.s.Is6() {
			v.a.value = 0x86dd
		}
		return
	case at == bpfMark:
		v.a = bpfNumber{value: v.s.Mark}
		return
	case at >= match.BPFAncillary || bpfLink <= at && at < bpfNetwork:
		v.fail(errBPFAncillary)
		return
	case at >= bpfNetwork:
		at -= bpfNetwork
	}
	var ok bool
	if v.a.value, v.a.unknown, ok = v.packet.load(at, size); !ok {
		v.end(0)
	}
}

// operate is arithmetic, or a comparison, with an operand.
func (v *bpfMachine) operate(in match.BPFInstruction, code uint16, operand bpfNumber) {
	if code == match.BPFAnd {
		// Bits that one of the two has as 0 are known.
		zeros := ^v.a.value&^v.a.unknown | ^operand.value&^operand.unknown
		v.a = bpfNumber{v.a.value & operand.value, (v.a.unknown | operand.unknown) &^ zeros}
		return
	}
	n := v.sure(operand)
	switch code {
	case match.BPFLeftShift:
		v.a = bpfNumber{v.a.value << (n & 31), v.a.unknown << (n & 31)}
		return
	case match.BPFRightShift:
		v.a = bpfNumber{v.a.value >> (n & 31), v.a.unknown >> (n & 31)}
		return
	case match.BPFJumpSet:
		v.jump(in, v.sure(bpfNumber{v.a.value & n, v.a.unknown & n}) != 0)
		return
	}
	a := v.sure(v.a)
	switch code {
	case match.BPFJumpEqual:
		v.jump(in, a == n)
	case match.BPFJumpGreater:
		v.jump(in, a > n)
	case match.BPFJumpGreaterOrEqual:
		v.jump(in, a >= n)
	case match.BPFAdd:
		v.a.value += n
	case match.BPFSubtract:
		v.a.value -= n
	case match.BPFMultiply:
		v.a.value *= n
	case match.BPFOr:
		v.a.value |= n
	case match.BPFXor:
		v.a.value ^= n
	case match.BPFDivide, match.BPFModulo:
		v.divide(code, n)
	}
}

// divide ends the program with 0 where it would divide by that.
func (v *bpfMachine) divide(code uint16, n uint32) {
	switch {
	case n == 0:
		v.end(0)
	case code == match.BPFDivide:
		v.a.value /= n
	default:
		v.a.value %= n
	}
}

func (v *bpfMachine) jump(in match.BPFInstruction, holds bool) {
	if holds {
		v.pc += int(in.JT)
	} else {
		v.pc += int(in.JF)
	}
}
