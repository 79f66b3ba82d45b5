package ipset

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clocktesting "k8s.io/utils/clock/testing"
)

func FuzzRestore(f *testing.F) {
	f.Add("create s hash:ip,port,net family inet6 timeout 5 counters comment\nadd s fd00::1,tcp:80,fd00::/8 nomatch comment \"x\"\nswap s s\n")
	f.Add("create s bitmap:port range 1-9\nadd s 5-7\ncreate l list:set\nadd l s\ndel s 6\nlist\nrename l m\ndestroy")
	f.Add("create s hash:ip,port,net family inet6\nadd s ::0,0,/0")
	f.Add("create s hash:net\nadd s 0.0.0.0-10.255.255.255\ntest s 1.1.1.1\n")
	f.Add("create n hash:net,iface\nadd n 10.0.0.0/8,eth0 wildcard\n" +
		"create m bitmap:ip,mac range 10.0.0.0/30\nadd m 10.0.0.1,1:2:3:4:5:6\n-\nlist\n")
	f.Fuzz(func(t *testing.T, input string) {
		clock := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
		sets, again := NewTable(clock), NewTable(clock)
		testTool(sets, input).Run([]string{"restore", "-exist"})
		require.NoError(t, again.ReadState(sets.AppendState(nil)))
		require.Equal(t, saved(t, sets), saved(t, again))
	})
}
