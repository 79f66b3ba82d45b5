package goiptables

import "strings"

// ListChains are the names of a table's chains: the built-in ones and then the others.
func (i *IPTables) ListChains(table string) ([]string, error) {
	all, err := i.lines(table, "-S")
	if err != nil {
		return nil, err
	}
	var chains []string
	for _, line := range all {
		words := strings.Fields(line)
		if words[0] != "-P" && words[0] != "-N" {
			break // the rules follow
		}
		chains = append(chains, words[1])
	}
	return chains, nil
}

// ChainExists says whether a table has a chain.
func (i *IPTables) ChainExists(table, chain string) (bool, error) {
	not, err := notThere(i.run(table, "-S", chain, "1"))
	return !not && err == nil, err
}

// NewChain makes a chain. That it is there already is an Error with the exit status 1.
func (i *IPTables) NewChain(table, chain string) error { return i.run(table, "-N", chain) }

// ClearChain takes all rules from a chain, and makes it if it is not there.
func (i *IPTables) ClearChain(table, chain string) error {
	there, err := notThere(i.NewChain(table, chain))
	if there {
		return i.run(table, "-F", chain)
	}
	return err
}

// RenameChain gives a chain another name; rules that jump to it jump there.
func (i *IPTables) RenameChain(table, oldChain, newChain string) error {
	return i.run(table, "-E", oldChain, newChain)
}

// DeleteChain deletes a chain without rules to which no rule jumps.
func (i *IPTables) DeleteChain(table, chain string) error { return i.run(table, "-X", chain) }

// ClearAndDeleteChain deletes a chain with its rules. It does nothing if it is not there.
func (i *IPTables) ClearAndDeleteChain(table, chain string) error {
	if there, err := i.ChainExists(table, chain); err != nil || !there {
		return err
	}
	if err := i.run(table, "-F", chain); err != nil {
		return err
	}
	return i.run(table, "-X", chain)
}

// ClearAll takes the rules from all chains of the table filter.
func (i *IPTables) ClearAll() error { return i.run("", "-F") }

// DeleteAll deletes all chains of the table filter that are not built in.
func (i *IPTables) DeleteAll() error { return i.run("", "-X") }

// ChangePolicy gives a built-in chain a policy.
func (i *IPTables) ChangePolicy(table, chain, target string) error {
	return i.run(table, "-P", chain, target)
}
