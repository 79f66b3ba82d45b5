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
	f.Fuzz(func(t *testing.T, input string) {
		clock := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
		sets, again := NewTable(clock), NewTable(clock)
		testTool(sets, input).Run([]string{"restore", "-exist"})
		text := saved(t, sets)
		require.NoError(t, testTool(again, text).Load(), text)
		require.Equal(t, text, saved(t, again))
	})
}
