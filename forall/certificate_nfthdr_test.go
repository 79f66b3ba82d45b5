package forall_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/forall"
	"github.com/chainwalk/chainwalk/forall/certificate"
	"github.com/chainwalk/chainwalk/netfilter"
)

// TestHeadersThatPacketsNeedNotHave: a write of the greatest segment is checked, a condition of it or of the route is not.
func TestCertificateHeadersThatPacketsNeedNotHave(t *testing.T) {
	for name, row := range map[string]struct{ rule, refused string }{
		"a number":              {"tcp option maxseg size set 1400 accept", ""},
		"that of the route":     {"tcp option maxseg size set rt mtu accept", ""},
		"options of IPv4":       {"ip option rr exists accept", ""},
		"none of IPv4":          {"ip option rr missing accept", ""},
		"whether it is there":   {"tcp option maxseg exists accept", "options of TCP, which are not known"},
		"a route's":             {"rt mtu 1400 accept", "the route says of segments"},
		"a route's, in a mark":  {"meta mark set rt mtu", "the route says of segments"},
		"a route's, of a range": {"rt mtu > 1000 tcp option maxseg size set 900 accept", "the route says of segments"},
	} {
		t.Run(name, func(t *testing.T) {
			text := "table inet fw {\n\tchain forward {\n\t\ttype filter hook forward priority filter; policy drop;\n\t\t" + row.rule + "\n\t}\n}\n"
			c := issuedFor(t, netfilter.IPv4, text, text, forall.New)
			r, err := certificate.Check(copied(t, c), certificate.Options{})
			require.NoError(t, err)
			assert.Positive(t, r.Walks)
			if row.refused == "" {
				assert.Len(t, r.Open, 1, "multicast alone")
				return
			}
			assert.Greater(t, len(r.Open), 1)
			for _, answer := range []string{"accept", "drop"} {
				closed := copied(t, c)
				closeAll(closed, answer)
				_, err = certificate.Check(copied(t, closed), certificate.Options{})
				require.Error(t, err)
				var wrong *certificate.Problem
				if !errors.As(err, &wrong) {
					assert.Contains(t, err.Error(), row.refused)
					return
				}
			}
			t.Fatal("nobody refused to check it")
		})
	}
}
