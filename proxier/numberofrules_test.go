package proxier_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/proxier"
)

// A cluster without services has five rules in table nat: one to the node ports, one for the mark, three for masquerading. A
// cluster IP adds one rule that leads to it and one that masquerades; each endpoint adds one that leads to it, one for hairpins
// and one that translates. A cluster IP without endpoints is one rule of table filter.
func TestNumberOfRules(t *testing.T) {
	for _, services := range []int{0, 1, 10} {
		for _, endpoints := range []int{0, 1, 10, 1001} {
			if services > 1 && endpoints > 1000 {
				continue // one service has as many as are a large cluster
			}
			t.Run(fmt.Sprintf("%d services of %d endpoints", services, endpoints), func(t *testing.T) {
				config, _ := testConfig(v1.IPv4Protocol)
				config.LocalDetector = proxier.DetectLocalByCIDR(prefix("10.0.0.0/8"))
				p := started(t, config)
				filter := countRules(recorderOf(config).last(), "filter")
				addClusterIPs(p, services, endpoints)
				require.NoError(t, p.SyncAll())
				text := recorderOf(config).last()
				if endpoints == 0 {
					assert.Equal(t, 5, countRules(text, "nat"))
					assert.Equal(t, filter+services, countRules(text, "filter"))
					return
				}
				assert.Equal(t, 5+services*(2+3*endpoints), countRules(text, "nat"))
				assert.Equal(t, filter, countRules(text, "filter"))
			})
		}
	}
}

// countRules counts the rules of a table in a restore input.
func countRules(input, table string) int {
	_, text, _ := strings.Cut(input, "*"+table+"\n")
	text, _, _ = strings.Cut(text, "COMMIT\n")
	return strings.Count("\n"+text, "\n-A ")
}
