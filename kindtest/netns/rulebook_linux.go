package netns

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/tools"
)

// chainID names a chain of a node.
type chainID struct {
	v6           bool
	table, chain string
}

// ruleBook knows a node's rules as they are now, as far as a trace needs them.
type ruleBook struct {
	host     *host
	err      error // the first that came while a step was read
	read     bool
	rules    map[chainID][]string
	policies map[chainID]string
	// numbers are the places of the nft tables' rules, by the kernel's handles.
	numbers map[chainID]map[uint64]int
}

// forget makes the book be read anew: the rules have changed.
func (b *ruleBook) forget() { b.read = false }

func (b *ruleBook) load() {
	if b.read {
		return
	}
	b.read = true
	b.rules, b.policies, b.numbers = map[chainID][]string{}, map[chainID]string{}, map[chainID]map[uint64]int{}
	for _, family := range []scenarios.IPFamily{scenarios.FamilyIPv4, scenarios.FamilyIPv6} {
		text, err := tools.Run(b.host.exec, "", tools.Name(family, "-save"))
		if err != nil {
			b.fail(err)
			return
		}
		b.parse(family == scenarios.FamilyIPv6, text)
	}
	if b.host.exec.tool == scenarios.ToolNFT {
		b.fail(b.number())
	}
}

func (b *ruleBook) fail(err error) {
	if b.err == nil && err != nil {
		b.err = fmt.Errorf("read the rules of %s: %w", b.host.Name, err)
	}
}

func (b *ruleBook) parse(v6 bool, save string) {
	id := chainID{v6: v6}
	for line := range strings.Lines(save) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "*"):
			id.table = line[1:]
		case strings.HasPrefix(line, ":"):
			words := strings.Fields(line[1:])
			id.chain = words[0]
			b.policies[id] = words[1]
		case strings.HasPrefix(line, "-A "):
			id.chain, _, _ = strings.Cut(line[3:], " ")
			b.rules[id] = append(b.rules[id], line)
		}
	}
}

// number reads the handles of the nft tables' rules in their order.
func (b *ruleBook) number() error {
	var socket *netfilterSocket
	err := b.host.ns.Do(func() (err error) {
		socket, err = openNetfilter()
		return err
	})
	if err != nil {
		return err
	}
	defer func() { _ = socket.close() }()
	for _, family := range []uint8{unix.AF_INET, unix.AF_INET6} {
		err := socket.request(tablesGetRule, unix.NLM_F_DUMP, family, 0, nil, func(m message) error {
			id := chainID{v6: m.family == unix.AF_INET6}
			var handle uint64
			attributes(m.attrs, func(kind uint16, value []byte) {
				switch kind {
				case 1:
					id.table = strings.TrimRight(string(value), "\x00")
				case 2:
					id.chain = strings.TrimRight(string(value), "\x00")
				case 3:
					handle = binary.BigEndian.Uint64(value)
				}
			})
			if m.kind == tablesNewRule && m.family == family {
				if b.numbers[id] == nil {
					b.numbers[id] = map[uint64]int{}
				}
				b.numbers[id][handle] = len(b.numbers[id]) + 1
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// step is a step as the legacy tables spell it: table:chain:kind:number.
func (b *ruleBook) step(v6 bool, at string) scenarios.TraceStep {
	b.load()
	step := scenarios.TraceStep{At: at}
	parts := strings.Split(at, ":")
	if len(parts) < 4 || parts[len(parts)-2] != "rule" {
		return step
	}
	id := chainID{v6: v6, table: parts[0], chain: strings.Join(parts[1:len(parts)-2], ":")}
	number, err := strconv.Atoi(parts[len(parts)-1])
	if rules := b.rules[id]; err == nil && number >= 1 && number <= len(rules) {
		step.Rule = rules[number-1]
	}
	return step
}

// traced is a step of the nft tables, spelled as the legacy tables would; empty if
// those would say nothing.
func (b *ruleBook) traced(v6 bool, table, chain, kind string, handle uint64) scenarios.TraceStep {
	b.load()
	id := chainID{v6: v6, table: table, chain: chain}
	number, isRule := b.numbers[id][handle]
	if kind != "rule" || !isRule {
		number = len(b.rules[id]) + 1
	}
	if kind == "rule" && !isRule {
		kind = "return" // the kernel says this of the end of a chain
		if b.policies[id] != "-" {
			return scenarios.TraceStep{} // the policy comes next
		}
	}
	return b.step(v6, fmt.Sprintf("%s:%s:%s:%d", table, chain, kind, number))
}

// stepParts takes a step apart.
func stepParts(v6 bool, at string) (id chainID, kind string, number int) {
	parts := strings.Split(at, ":")
	if len(parts) < 4 {
		return chainID{}, "", 0
	}
	number, _ = strconv.Atoi(parts[len(parts)-1])
	return chainID{v6: v6, table: parts[0], chain: strings.Join(parts[1:len(parts)-2], ":")}, parts[len(parts)-2], number
}

// chancy reports whether chance had a part in a step: whether the chain's rules up
// to this one have some that match at random.
func (b *ruleBook) chancy(v6 bool, at string) bool {
	b.load()
	id, kind, number := stepParts(v6, at)
	rules := b.rules[id]
	if kind == "rule" && number <= len(rules) {
		rules = rules[:number]
	}
	for _, rule := range rules {
		if strings.Contains(rule, "-m statistic --mode random") {
			return true
		}
	}
	return false
}

// policy is a chain's policy.
func (b *ruleBook) policy(v6 bool, at string) string {
	b.load()
	id, _, _ := stepParts(v6, at)
	return b.policies[id]
}
