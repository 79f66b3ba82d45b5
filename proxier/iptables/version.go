package iptables

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/chainwalk/chainwalk/internal/lazyregexp"
)

// toolDialect says which variant of iptables the tools are, and so to what part of the kernel they write: legacy to its own tables, nft
// (iptables-nft) to nf_tables. The rules of one are not seen by the tools of the other. Rules of nftables are another language.
type toolDialect string

// The dialects. The values are what the tools print.
const (
	dialectLegacy toolDialect = "legacy"
	dialectNFT    toolDialect = "nf_tables"
)

// toolVersion is the version of the tools.
type toolVersion struct {
	major, minor, patch int
	dialect             toolDialect
}

// String returns the version as the tools print it, for example "1.8.9 (legacy)".
func (v toolVersion) String() string {
	return fmt.Sprintf("%d.%d.%d (%s)", v.major, v.minor, v.patch, v.dialect)
}

// release is a version without a dialect.
type release struct{ major, minor, patch int }

// The releases that brought what the Runner uses.
var (
	hasCheck        = release{1, 4, 11}
	hasWait         = release{1, 4, 20}
	hasWaitSeconds  = release{1, 4, 22}
	hasWaitInterval = release{1, 6, 1}
	hasRestoreWait  = release{1, 6, 2}
	hasRandomFully  = release{1, 6, 2}
	nftChecksBroken = release{1, 8, 1}
	nftChecksMended = release{1, 8, 3}
)

// atLeast says whether v is the release or a later one.
func (v toolVersion) atLeast(r release) bool {
	return cmp.Or(cmp.Compare(v.major, r.major), cmp.Compare(v.minor, r.minor), cmp.Compare(v.patch, r.patch)) >= 0
}

// usable returns an error for tools that a Runner cannot work with.
func (v toolVersion) usable() error {
	switch {
	case !v.atLeast(hasCheck):
		return fmt.Errorf("iptables %s is not supported: it has no -C, so rules that are there cannot be found: "+
			"install iptables 1.4.11 or later", v)
	case v.dialect == dialectNFT && v.atLeast(nftChecksBroken) && !v.atLeast(nftChecksMended):
		return fmt.Errorf("iptables %s is not supported: its -C does not find rules that are there, so they would be added "+
			"again and again: install iptables 1.8.3 or later, or use the legacy tools", v)
	}
	return nil
}

// versionInOutput is "v", two or three numbers, whatever a distribution adds, and the dialect in brackets.
var versionInOutput = lazyregexp.New(`\bv([0-9]+)\.([0-9]+)(?:\.([0-9]+))?[^\s()]*(?:[ \t]+\(([^()\s]+)\))?`)

// parseVersion finds the version in the output of "iptables --version": "iptables v1.8.9 (legacy)". Tools before 1.8 name
// no dialect and are legacy.
func parseVersion(output string) (toolVersion, error) {
	found := versionInOutput().FindStringSubmatch(output)
	if found == nil {
		return toolVersion{}, fmt.Errorf("no version in the output %q: is this iptables?", output)
	}
	var numbers [3]int
	for i := range numbers {
		text := cmp.Or(found[i+1], "0")
		n, err := strconv.Atoi(text)
		if err != nil {
			return toolVersion{}, fmt.Errorf("version in the output %q: %w", output, err)
		}
		numbers[i] = n
	}
	v := toolVersion{major: numbers[0], minor: numbers[1], patch: numbers[2], dialect: dialectLegacy}
	switch dialect := toolDialect(found[4]); dialect {
	case "", dialectLegacy:
	case dialectNFT:
		v.dialect = dialect
	default:
		return toolVersion{}, fmt.Errorf("unknown dialect %q in the output %q: legacy and nf_tables are known", dialect, output)
	}
	return v, nil
}
