package packetsim

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/fakenft"
)

// nativeHost is a node whose only chain is one of FORWARD with some rules.
func nativeHost(t *testing.T, rules string) *Host {
	t.Helper()
	tools := fakenft.New(fakenft.Options{})
	text := "table ip fw {\n\tchain other {\n\t\tdrop\n\t}\n\tchain forward {\n\t\ttype filter hook forward priority 0; policy accept;\n" +
		rules + "\n\t}\n}\n"
	require.NoError(t, tools.Load("fw.nft", strings.NewReader(text), nil), text)
	h, err := NewHost(HostConfig{Devices: testDevices(), Routes: testRoutes(), Netfilter: tools.Namespace(),
		Sysctls: map[string]string{"net.ipv4.ip_forward": "1"}})
	require.NoError(t, err)
	return h
}

// TestNativeRulesThatAreNotWalked: a rule with an expression that is not walked is unknown to packets that meet it, and to no others. The
// packet is of TCP to port 80.
func TestNativeRulesThatAreNotWalked(t *testing.T) {
	for _, row := range []struct {
		rules string
		unmet string    // what the error names; "" if the packet goes on
		ends  []Verdict // of a walk that guesses: the rule holds, or it does not
	}{
		{"ct zone 5 drop", "ct zone", []Verdict{Drop, Accept}},
		{"tcp dport 80 ct zone 5 drop", "ct zone", []Verdict{Drop, Accept}},
		{"tcp dport 443 ct zone 5 drop", "", nil},
		{"ct zone 5 tcp dport 443 drop", "", nil},
		{"ct zone 5 tcp dport 80 drop", "ct zone", []Verdict{Drop, Accept}},
		{"ct zone 5 ip saddr { 10.9.0.0/16, 10.8.0.1 } drop", "", nil},
		{"ct zone 5 ct state established drop", "", nil},
		{"ct zone 5 meta cgroup 7 tcp dport 80 drop", "ct zone", []Verdict{Drop, Accept}},
		{"ct zone 5 jump other", "ct zone", []Verdict{Drop, Accept}},
		{"ct zone vmap { 1 : drop, 2 : accept }", "ct zone", []Verdict{Unknown, Accept}},
		{"ct zone 5 ip dscp set cs1 drop", "ct zone", []Verdict{Drop, Accept}},
		{"tcp dport 80 queue num 3", "queue", []Verdict{Accept, Unknown}},
		{"tcp dport 443 queue num 3", "", nil},
		{"meta mark set ct zone accept", "ct zone", []Verdict{Unknown, Accept}},
		{"ct zone 5 counter accept\n\t\tdrop", "ct zone", []Verdict{Accept, Drop}},
		{"ct zone 5 quota over 1 bytes tcp dport 443 drop", "ct zone", []Verdict{Accept, Accept}},
		{"ct zone 5 mark set 1 tcp dport 443 drop", "ct zone", []Verdict{Accept, Accept}},
		{"ct zone 5 log tcp dport 443 drop", "", nil},
	} {
		t.Run(row.rules, func(t *testing.T) {
			h, in := nativeHost(t, row.rules), parse(t, "tcp 10.244.0.11:40000 > 10.244.0.12:80 in veth1")
			_, err := h.Walk(in)
			if row.unmet == "" {
				require.NoError(t, err)
				return
			}
			var opaque *OpaqueError
			require.ErrorAs(t, err, &opaque)
			assert.Contains(t, opaque.Extension, row.unmet)
			require.ErrorAs(t, err, new(*ExpressionError))
			assert.ErrorContains(t, err, "table ip fw, chain forward, handle ")
			result, err := h.Trace(in, WalkOptions{})
			require.NoError(t, err)
			require.NotNil(t, result.Opaque)
			var ends []Verdict
			for i := range result.Outcomes {
				ends = append(ends, result.Outcomes[i].Verdict)
				assert.InDelta(t, 1, result.Outcomes[i].Probability, 0, "each as if the rule were known")
			}
			assert.ElementsMatch(t, row.ends, ends)
		})
	}
}
