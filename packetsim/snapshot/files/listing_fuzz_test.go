package files_test

import (
	"strings"
	"testing"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/packetsim/snapshot/files"
)

// FuzzReadListing reads a folder with what nft has printed, or something like it. What is read makes a host through which a packet is
// walked, and has its doubts.
func FuzzReadListing(f *testing.F) {
	f.Add("table ip kube-proxy {\n\tset cluster-ips {\n\t\ttype ipv4_addr\n\t\telements = { 10.96.0.1, 10.96.0.10 }\n\t}\n\n" +
		"\tmap service-ips {\n\t\ttype ipv4_addr . inet_proto . inet_service : verdict\n" +
		"\t\telements = { 10.96.0.1 . tcp . 80 : goto service }\n\t}\n\n\tchain nat-prerouting {\n" +
		"\t\ttype nat hook prerouting priority dstnat; policy accept;\n\t\tip daddr . meta l4proto . th dport vmap @service-ips # handle 9\n" +
		"\t}\n\n" +
		"\tchain service {\n\t\tmeta l4proto tcp dnat ip to numgen random mod 2 map { 0 : 10.244.1.2 . 80, 1 : 10.244.1.3 . 80 }\n\t}\n}\n")
	f.Add("table inet fw {\n\tchain forward {\n\t\ttype filter hook forward priority filter + 10; policy drop;\n" +
		"\t\tct state established,related accept\n\t\tct zone 5 tcp dport 80 queue num 3\n\t\tiif \"eth0\" oifname \"veth*\" jump more\n\t}\n" +
		"\n\tchain more {\n\t\tmeta mark set ct mark & 0x1\n\t\treject with icmpx type admin-prohibited\n\t}\n}\n")
	f.Add(`{"nftables": [{"metainfo": {"json_schema_version": 1}}, {"table": {"family": "ip", "name": "t", "handle": 1}}, ` +
		`{"chain": {"family": "ip", "table": "t", "name": "c", "handle": 1, "type": "filter", "hook": "input", "prio": 0, "policy": "drop"}}]}`)
	f.Add("table ip filter {\n\tchain INPUT {\n\t\ttype filter hook input priority filter; policy accept;\n\t\txt match recent\n\t}\n}\n" +
		"table netdev e {\n")
	in, err := inet.ParseInput("tcp 10.0.0.9:40000 > 10.96.0.1:80 in eth0")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, listing string) {
		result, err := files.Read(folder("addr.txt", addr, "nft", listing), writer)
		if err != nil {
			return
		}
		var b strings.Builder
		if err := result.Node.Write(&b, snapshot.YAML); err != nil {
			t.Fatalf("%v\n%q", err, listing)
		}
		node, err := snapshot.Read("again", strings.NewReader(b.String()))
		if err != nil {
			t.Fatalf("%v\n%s", err, b.String())
		}
		if _, err := snapshot.NewHost(node, snapshot.HostOptions{}); err != nil {
			t.Fatalf("%v\n%s", err, b.String())
		}
		_, _ = node.Trace(in, snapshot.HostOptions{}, packetsim.WalkOptions{}) // what cannot be walked is an error
	})
}
