package forall_test

import (
	"bytes"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/forall/certificate"
	"github.com/chainwalk/chainwalk/forall/certify"
	"github.com/chainwalk/chainwalk/internal/dumps"
	_ "github.com/chainwalk/chainwalk/internal/garbage"
	"github.com/chainwalk/chainwalk/internal/sample"
	"github.com/chainwalk/chainwalk/netfilter"
)

const (
	firewall = "*filter\n:INPUT ACCEPT [0:0]\n:FORWARD DROP [0:0]\n:OUTPUT ACCEPT [0:0]\n" +
		"-A FORWARD -p tcp -m tcp --dport 80 -j ACCEPT\n-A FORWARD -s 10.0.0.0/8 -p udp -m udp --dport 53 -j ACCEPT\nCOMMIT\n"
	reordered = "*filter\n:INPUT ACCEPT [0:0]\n:FORWARD DROP [0:0]\n:OUTPUT ACCEPT [0:0]\n" +
		"-A FORWARD -s 10.0.0.0/9 -p udp -m udp --dport 53 -j ACCEPT\n-A FORWARD -s 10.128.0.0/9 -p udp -m udp --dport 53 -j ACCEPT\n" +
		"-A FORWARD -p tcp -m tcp --dport 80 -j ACCEPT\nCOMMIT\n"
	native = "table ip fw {\n\tchain forward {\n\t\ttype filter hook forward priority filter; policy drop;\n" +
		"\t\ttcp dport { 80, 443 } accept\n\t\tip saddr 10.0.0.0/8 udp dport 53 accept\n\t}\n}\n"
	balanced = "*nat\n:PREROUTING ACCEPT [0:0]\n:INPUT ACCEPT [0:0]\n:OUTPUT ACCEPT [0:0]\n:POSTROUTING ACCEPT [0:0]\n" +
		"-A PREROUTING -d 10.96.0.1/32 -p tcp -m tcp --dport 80 -m statistic --mode random --probability 0.33333333349 " +
		"-j DNAT --to-destination 10.244.0.2:8080\n" +
		"-A PREROUTING -d 10.96.0.1/32 -p tcp -m tcp --dport 80 -m statistic --mode random --probability 0.50000000000 " +
		"-j DNAT --to-destination 10.244.0.3:8080\n" +
		"-A PREROUTING -d 10.96.0.1/32 -p tcp -m tcp --dport 80 -j DNAT --to-destination 10.244.0.4:8080\n" +
		"-A POSTROUTING ! -s 10.244.0.0/16 -o eth0 -j MASQUERADE\nCOMMIT\n"
	nativeBalanced = `table ip nat {
	chain prerouting {
		type nat hook prerouting priority dstnat; policy accept;
		ip daddr 10.96.0.1 tcp dport 80 dnat to numgen random mod 3 map { 0 : 10.244.0.3, 1 : 10.244.0.2, 2 : 10.244.0.4 }:8080
	}
	chain output { type nat hook output priority dstnat; policy accept; }
	chain input { type nat hook input priority srcnat; policy accept; }
	chain postrouting {
		type nat hook postrouting priority srcnat; policy accept;
		ip saddr != 10.244.0.0/16 oifname "eth0" masquerade
	}
}
`
)

// looped asks for a device at a hook to which packets of the host come by lo only.
const looped = "*filter\n:INPUT DROP [0:0]\n:FORWARD DROP [0:0]\n:OUTPUT ACCEPT [0:0]\n-A INPUT -i lo -j ACCEPT\nCOMMIT\n"

// reverse asks at a hook to which packets of the host come by lo only.
const reverse = "table ip fw {\n\tchain input {\n\t\ttype filter hook input priority filter; policy accept;\n" +
	"\t\tfib saddr . iif oif missing drop\n\t}\n}\n"

func input(name, text string) certificate.Input { return certificate.Input{Name: name, Text: text} }

// certified is the certificate of two texts, as it is read again, with what Check says of it.
func certified(t testing.TB, before, after certificate.Input, o certify.Options) (*certificate.Certificate, *certificate.Report) {
	t.Helper()
	c, err := certify.Of(before, after, o)
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, c.Write(&b))
	again, err := certificate.Read(bytes.NewReader(b.Bytes()))
	require.NoError(t, err)
	r, err := certificate.Check(again, certificate.Options{})
	require.NoError(t, err)
	return again, r
}

func TestCertificatesHold(t *testing.T) {
	for name, row := range map[string]struct {
		before, after string
		same          bool
	}{
		"the same":               {firewall, firewall, true},
		"the same, reordered":    {firewall, reordered, true},
		"one port more":          {firewall, native, false},
		"endpoints":              {balanced, balanced, true},
		"endpoints, in nftables": {balanced, nativeBalanced, true},
		"services":               {firewall, balanced, false},
		"a limit":                {limited("limit rate 10/second accept"), limited("accept"), true},
		"above a limit":          {limited("limit rate over 10/second accept"), limited("accept"), false},
		"a quota":                {limited("quota 10 mbytes accept"), limited("accept"), true},
		"above a quota":          {limited("quota over 10 mbytes accept"), limited("accept"), false},
		"a reverse path":         {reverse, reverse, true},
		"what comes by lo":       {looped, looped, true},
		"few connections":        {limited("ct count 3 accept"), limited("accept"), true},
		"many connections":       {limited("ct count over 3 accept"), limited("accept"), false},
	} {
		t.Run(name, func(t *testing.T) {
			c, r := certified(t, input("before", row.before), input("after", row.after), certify.Options{})
			assert.Equal(t, row.same, c.Same)
			assert.Equal(t, !row.same, r.Differ > 0)
			t.Logf("%+v", r)
		})
	}
}

// limited is a chain that accepts some packets and drops the others.
func limited(rule string) string {
	return "table ip fw {\n\tchain forward {\n\t\ttype filter hook forward priority filter; policy drop;\n\t\t" + rule + "\n\t}\n}\n"
}

func dump(t testing.TB, tools, node string) certificate.Input {
	t.Helper()
	text, err := fs.ReadFile(dumps.Kind(), tools+"/"+node+".yaml")
	require.NoError(t, err)
	return input(tools+"/"+node, string(text))
}

// TestCertificatesOfTheRecordedCluster takes one family of the two.
func TestCertificatesOfTheRecordedCluster(t *testing.T) {
	families := sample.Some(t, []netfilter.Family{netfilter.IPv6, netfilter.IPv4}, 2)
	c, r := certified(t, dump(t, "legacy", "demo-worker"), dump(t, "nft", "demo-worker"), certify.Options{Families: families})
	t.Logf("%v %+v", c.Same, r)
}
