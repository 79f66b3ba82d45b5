package fakeipt

import (
	"regexp"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/chainwalk/chainwalk/netfilter"
)

// nfacctTime is the time of "list json".
var nfacctTime = regexp.MustCompile(`"timestamp" : \d+`)

// runNFAcctFile runs a file of "run" and "nfacct-restore" directives.
func runNFAcctFile(t *testing.T, path string, m machine) {
	m.reset(t)
	datadriven.RunTest(t, path, func(t *testing.T, td *datadriven.TestData) string {
		var out string
		if td.Cmd == "nfacct-restore" {
			out = result(m.run(t, []string{"nfacct", "restore"}, td.Input+"\n"))
		} else {
			out = runCase(t, m, netfilter.Legacy, td)
		}
		if out == "" {
			return "ok\n"
		}
		return nfacctTime.ReplaceAllString(out, `"timestamp" : N`)
	})
}

func TestNFAcctOnTheFakeKernel(t *testing.T) {
	datadriven.Walk(t, "testdata/nfacct", func(t *testing.T, path string) {
		runNFAcctFile(t, path, newFakeMachine(netfilter.Legacy))
	})
}
