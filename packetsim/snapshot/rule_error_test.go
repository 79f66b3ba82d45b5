package snapshot_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
)

// TestErrorsNameTheRule: a rule that a walk cannot judge is named, once.
func TestErrorsNameTheRule(t *testing.T) {
	for _, rule := range []string{
		"-m cpu --cpu 1 -j ACCEPT",
		"-m mac --mac-source 02:00:00:00:00:01 -j ACCEPT",
	} {
		save := "*mangle\n:PREROUTING ACCEPT [0:0]\n:A - [0:0]\n-A PREROUTING -j A\n-A A -p udp -j ACCEPT\n-A A " + rule + "\nCOMMIT\n"
		host, err := snapshot.HostOfSave("save", strings.NewReader(save), snapshot.RulesOptions{})
		require.NoError(t, err)
		in, err := inet.ParseInput("tcp 10.0.0.1:40000 > 10.9.0.1:80 in eth0")
		require.NoError(t, err)
		_, err = host.Walk(in)
		require.Error(t, err, rule)
		assert.Equal(t, 1, strings.Count(err.Error(), "(mangle:A:rule:2: -A A "+rule+")"), err.Error())
	}
}
