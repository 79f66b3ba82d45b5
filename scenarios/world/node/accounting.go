package node

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/chainwalk/chainwalk/internal/lazyregexp"
)

// accountingLine is a line of nfacct list: the packets and the name. A quota stands in the middle.
var accountingLine = lazyregexp.New(`^\{ pkts = (\d+), bytes = \d+[ ,].*\} = (.+);$`)

// accounting are the packets that the accounting objects have counted, by name.
func (n *Node) accounting() (map[string]int, error) {
	text, err := n.Run("", "nfacct", "list")
	if err != nil {
		return nil, err
	}
	out := map[string]int{}
	for line := range strings.Lines(text) {
		m := accountingLine().FindStringSubmatch(strings.TrimRight(line, "\n"))
		if m == nil {
			return nil, fmt.Errorf("%s: nfacct list: not understood: %q", n.name, line)
		}
		if out[m[2]], err = strconv.Atoi(m[1]); err != nil {
			return nil, fmt.Errorf("%s: nfacct list: %w", n.name, err)
		}
	}
	return out, nil
}
