package fakeipt

// hookMask is a set of netfilter hooks, one bit for each.
type hookMask uint8

// The hooks, in the kernel's order.
const (
	hookPrerouting hookMask = 1 << iota
	hookInput
	hookForward
	hookOutput
	hookPostrouting

	hooksAll = hookPrerouting | hookInput | hookForward | hookOutput | hookPostrouting
)

const hookNumber = 5

// hookNames are the names of the built-in chains by hook number.
var hookNames = [hookNumber]string{"PREROUTING", "INPUT", "FORWARD", "OUTPUT", "POSTROUTING"}

// hookCounts is a number for each hook.
type hookCounts [hookNumber]int32

// mask is the set of hooks whose count is not zero.
func (c *hookCounts) mask() hookMask {
	var m hookMask
	for i, n := range c {
		if n > 0 {
			m |= 1 << i
		}
	}
	return m
}

// add adds n to the count of each hook in m.
func (c *hookCounts) add(m hookMask, n int32) {
	for i := range c {
		if m&(1<<i) != 0 {
			c[i] += n
		}
	}
}

// tableKind is what the kernel says about one of its tables.
type tableKind struct {
	name  string
	hooks hookMask
	// nftRank is the place of the table in what the nft tools print.
	nftRank int
}

// tableKinds are the tables of both families.
var tableKinds = [...]tableKind{
	{name: "mangle", hooks: hooksAll, nftRank: 0},
	{name: "security", hooks: hookInput | hookForward | hookOutput, nftRank: 1},
	{name: "raw", hooks: hookPrerouting | hookOutput, nftRank: 2},
	{name: "filter", hooks: hookInput | hookForward | hookOutput, nftRank: 3},
	{name: "nat", hooks: hookPrerouting | hookInput | hookOutput | hookPostrouting, nftRank: 4},
}

// findTableKind returns the table of that name, nil if there is none.
func findTableKind(name string) *tableKind {
	for i := range tableKinds {
		if tableKinds[i].name == name {
			return &tableKinds[i]
		}
	}
	return nil
}

// builtins are the names of the table's built-in chains in hook order.
func (k *tableKind) builtins() []string {
	var names []string
	for i, name := range hookNames {
		if k.hooks&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// hookOf is the hook of the built-in chain of that name in the table, 0 if it is none.
func (k *tableKind) hookOf(chain string) hookMask {
	for i, name := range hookNames {
		if name == chain {
			return k.hooks & (1 << i)
		}
	}
	return 0
}
