//go:build linux

package proxier_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/chainwalk/chainwalk/internal/kerneltest"
	"github.com/chainwalk/chainwalk/internal/sample"
)

// TestKernelNFTablesTakesTheSame gives this machine's nft all that the fake one is given, over changes, failures and restarts.
func TestKernelNFTablesTakesTheSame(t *testing.T) {
	kerneltest.Need(t, "nft")
	namespace := kerneltest.New(t)
	sample.Checks(t, 25)
	rapid.Check(t, func(r *rapid.T) {
		namespace.Must("nft flush ruleset")
		playNFTables(r, namespace.Exec())
	})
}
