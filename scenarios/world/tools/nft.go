package tools

import (
	"bytes"
	"slices"

	"github.com/chainwalk/chainwalk/scenarios"
)

// nft runs nft, or has it fail: a transaction that is to fail ends with a command that the kernel refuses, so that nothing of it is carried
// out, and a listing that is to fail is asked for what nft cannot list.
func (c *command) nft() error {
	switch {
	case c.stdin != nil && slices.Contains(c.args, "-f") && !slices.Contains(c.args, "--check"):
		return c.transaction()
	case slices.Contains(c.args, "list") && c.proxied.Faults.take(c.family, saveFails) != nil:
		return c.make(nil, c.name, "list", "fault").Run()
	}
	return c.make(c.stdin, c.name, c.args...).Run()
}

// transaction has nft carry out what it reads. One without a command, and one that only deletes chains that are out of use, changes nothing
// for packets, and is not counted.
func (c *command) transaction() error {
	input := readAll(c.stdin)
	if bytes.Contains(firstLine(input), []byte(" ip6 ")) {
		c.family = scenarios.FamilyIPv6
	}
	if !onlyDeletesChains(input) {
		c.writes(input)
		if c.proxied.Faults.take(c.family, restoreFails) != nil {
			input = append(input, "\nadd rule "+NFTFamily(c.family)+" fault fault accept\n"...)
		}
	}
	err := c.part(input)
	c.takes()
	return err
}

func onlyDeletesChains(input []byte) bool {
	for line := range bytes.Lines(input) {
		if line = bytes.TrimSpace(line); len(line) > 0 && !bytes.HasPrefix(line, []byte("delete chain ")) {
			return false
		}
	}
	return true
}

func firstLine(text []byte) []byte {
	line, _, _ := bytes.Cut(bytes.TrimLeft(text, "\n"), []byte("\n"))
	return line
}
