package goiptables_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/fakeipt/goiptables"
)

func Example() {
	kernel := fakeipt.New(fakeipt.Options{})
	ipt, err := goiptables.New(kernel)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(ipt.NewChain("filter", "WEB"))
	fmt.Println(ipt.AppendUnique("filter", "WEB", "-p", "tcp", "--dport", "80", "-j", "ACCEPT"))
	fmt.Println(ipt.List("filter", "WEB"))
	err = ipt.Delete("filter", "WEB", "-j", "DROP")
	var of *goiptables.Error
	fmt.Println(errors.As(err, &of) && of.IsNotExist(), of.ExitStatus())
	// Output:
	// <nil>
	// <nil>
	// [-N WEB -A WEB -p tcp -m tcp --dport 80 -j ACCEPT] <nil>
	// true 1
}

func TestARuleThatIsNotThereIsAnError(t *testing.T) {
	ipt, err := goiptables.New(fakeipt.New(fakeipt.Options{}))
	require.NoError(t, err)
	_, err = ipt.ListById("filter", "INPUT", 7)
	assert.EqualError(t, err, "table filter, chain INPUT: there is no rule 7")
}

func TestStatsOfRulesWithoutATarget(t *testing.T) {
	for _, proto := range []goiptables.Protocol{goiptables.ProtocolIPv4, goiptables.ProtocolIPv6} {
		ipt, err := goiptables.NewWithProtocol(fakeipt.New(fakeipt.Options{}), proto)
		require.NoError(t, err)
		all, one := "0.0.0.0/0", "192.0.2.1"
		if proto == goiptables.ProtocolIPv6 {
			all, one = "::/0", "2001:db8::1"
		}
		require.NoError(t, ipt.Append("filter", "INPUT", "-p", "tcp"))
		require.NoError(t, ipt.Append("filter", "INPUT", "!", "-s", one, "-i", "eth0", "-m", "comment", "--comment", "a word", "-j", "DROP"))
		rows, err := ipt.Stats("filter", "INPUT")
		require.NoError(t, err)
		length := map[goiptables.Protocol]string{goiptables.ProtocolIPv4: "/32", goiptables.ProtocolIPv6: "/128"}[proto]
		assert.Equal(t, [][]string{
			{"0", "0", "", "6", "--", "*", "*", all, all, ""},
			{"0", "0", "DROP", "0", "--", "eth0", "*", "!" + one + length, all, "/* a word */"},
		}, rows)
		_, err = ipt.StructuredStats("filter", "INPUT")
		assert.ErrorContains(t, err, "source: invalid CIDR address: !"+one)
	}
}

func TestVersions(t *testing.T) {
	for version, want := range map[string]string{
		"1.8.9": "1.8.9 true", "1.6.1": "1.6.1 false", "1.4.20": "1.4.20 false",
		"1.4.19": "/usr/sbin/iptables is of version 1.4.19: before 1.4.20 the tools know no --wait, which every call here uses",
		"next":   `/usr/sbin/iptables says "iptables vnext (legacy)": there is no version such as v1.8.9 in it`,
	} {
		ipt, err := goiptables.New(fakeipt.New(fakeipt.Options{Version: version}))
		if err != nil {
			assert.ErrorContains(t, err, want, version)
			continue
		}
		major, minor, patch := ipt.GetIptablesVersion()
		assert.Equal(t, want, fmt.Sprintf("%d.%d.%d %t", major, minor, patch, ipt.HasRandomFully()))
	}
}
