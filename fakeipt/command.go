package fakeipt

import (
	"strings"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
)

// command is what the words of one iptables command, or one line of restore input, say.
type command struct {
	op         byte // 'A', 'C', 'D', ... ; 0: none
	chain      string
	chainGiven bool
	newName    string
	policy     string
	number     int // rule number, 0: none
	spec       ruleSpec
	given      letterSet // the options that may be given once

	table                               string
	verbose                             int
	numeric, exact, lineNumbers, ignore bool
	zero                                bool // -Z beside -L or -S
	zeroRule                            bool // -Z was given the number of a rule
	wait, waitInterval                  bool
	waitSeconds                         int
}

// ruleSpec is a rule as it is spelled.
type ruleSpec struct {
	srcText, dstText []byte // what -s and -d say
	srcInv, dstInv   bool
	srcs, dsts       []*xtables.AddrMatch
	in, out          *xtables.IfaceMatch
	proto            xtables.ProtoMatch
	fragment         xtables.FragmentMatch
	matches          []xtables.Match
	target           xtables.Target // an extension or a verdict
	jump             []byte         // the word of -j or -g
	isGoto           bool
	noStandard       bool // input has declared a chain of the name of the target that stands for jumps
	counters         bool
	packets, bytes   uint64

	dump    *dumpText           // nil: a tool reads the rule
	opaque  *xtables.OpaqueRule // of a rule with an extension that is not known
	foreign []byte              // the first option behind -j that nothing has
}

// asksAbout are the chains that a command looks at that changes nothing, or nothing if they are there: -C and -N. Nil: others too.
func (c *command) asksAbout() []string {
	switch c.op {
	case 'C':
		return []string{c.chain, string(c.spec.jump)}
	case 'N':
		return []string{c.chain}
	}
	return nil
}

// isRuleCommand says that the command is about a rule that is spelled out.
func (c *command) isRuleCommand() bool {
	switch c.op {
	case 'A', 'C', 'I', 'R':
		return true
	case 'D':
		return c.number == 0
	}
	return false
}

// takes says whether an option, of those that only some commands take, goes with the command.
func (c *command) takes(letter byte) bool {
	if strings.IndexByte(ruleLetters, letter) >= 0 {
		return c.op == 'P' && letter == 'c' || c.isRuleCommand() && (letter != 'c' || c.op != 'C' && c.op != 'D')
	}
	return letter == 'v' || c.op == 'L'
}

// ruleLetters are the options about a rule that may be given once.
const ruleLetters = "sdpjiofc"

// clear forgets the command but for its memory.
func (c *command) clear() {
	spec := ruleSpec{matches: c.spec.matches[:0], srcs: c.spec.srcs[:0], dsts: c.spec.dsts[:0]}
	*c = command{spec: spec}
}

// letterSet is a set of options by their letters.
type letterSet [2]uint64

func (s *letterSet) has(letter byte) bool { return s[letter>>6&1]&(1<<(letter&63)) != 0 }

func (s *letterSet) add(letter byte) { s[letter>>6&1] |= 1 << (letter & 63) }
