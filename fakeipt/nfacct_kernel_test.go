//go:build linux

package fakeipt

import (
	"testing"

	"github.com/cockroachdb/datadriven"
)

func TestNFAcctOnTheRealKernel(t *testing.T) {
	needKernel(t)
	m := newRealMachine(t)
	datadriven.Walk(t, "testdata/nfacct", func(t *testing.T, path string) {
		runNFAcctFile(t, path, m)
	})
}
