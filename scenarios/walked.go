package scenarios

import (
	"strconv"
	"strings"
)

// RulesWalked is how many rules were held against the packet, on all hosts of its way: those that it
// matched and those before them. A step tells the number of its rule, or of the place behind the last one.
func (w *Way) RulesWalked() int {
	sum := 0
	for i := range w.Forward {
		sum += rulesIn(w.Forward[i].Steps)
	}
	return sum
}

// visit is a packet's stay in a chain, which goes on when a chain that it was sent to is left.
type visit struct {
	chain string
	rules int // walked so far
}

func rulesIn(steps []TraceStep) int {
	sum := 0
	var stack []visit
	for i := range steps {
		if isNativeStep(&steps[i]) {
			if steps[i].Rule != "" {
				sum++ // its number is the rule's handle, and not its place
			}
			continue
		}
		chain, rules := placeOf(&steps[i])
		stack = enter(stack, chain)
		last := &stack[len(stack)-1]
		if rules > last.rules {
			sum += rules - last.rules
			last.rules = rules
		}
	}
	return sum
}

// isNativeStep says whether a step is one of nftables, whose table has its family before its name.
func isNativeStep(s *TraceStep) bool {
	table, _, _ := strings.Cut(s.At, ":")
	return strings.Contains(table, " ")
}

// placeOf is a step's chain with its table, and how many of the chain's rules come before the packet leaves the place.
func placeOf(s *TraceStep) (chain string, rules int) {
	parts := strings.Split(s.At, ":")
	if len(parts) != 4 {
		return string(s.Dialect) + ":" + s.At, 0
	}
	number, err := strconv.Atoi(parts[3])
	if err == nil && s.Rule == "" && parts[2] != "rule" {
		number-- // behind the last rule
	}
	return string(s.Dialect) + ":" + parts[0] + ":" + parts[1], number
}

// enter goes back to a chain that the packet was sent on from, or into another one.
func enter(stack []visit, chain string) []visit {
	if isBase(chain) {
		if len(stack) > 0 && stack[0].chain == chain {
			return stack[:1]
		}
		return []visit{{chain: chain}}
	}
	for i := len(stack) - 1; i >= 0; i-- {
		if stack[i].chain == chain {
			return stack[:i+1]
		}
	}
	return append(stack, visit{chain: chain})
}

// isBase reports whether a chain is one that a hook begins.
func isBase(chain string) bool {
	switch chain[strings.LastIndexByte(chain, ':')+1:] {
	case "PREROUTING", "INPUT", "FORWARD", "OUTPUT", "POSTROUTING":
		return true
	}
	return false
}
