package fakeipt

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/netfilter"
)

// TestExtensionSpelling has a row for each extension: a rule as it is given, and as it is saved or refused.
func TestExtensionSpelling(t *testing.T) {
	for name, row := range map[string]struct{ tool, rule, saved, refused string }{
		"comment in quotes":    {"iptables", "-m comment --comment a/b", `-m comment --comment "a/b"`, ""},
		"tcp brings its match": {"iptables", "-p tcp --dport 80:81", "-p tcp -m tcp --dport 80:81", ""},
		"tcp syn":              {"iptables", "-p tcp ! --syn", "-p tcp -m tcp ! --tcp-flags FIN,SYN,RST,ACK SYN", ""},
		"udp":                  {"iptables", "-p udp ! --sport 53", "-p udp -m udp ! --sport 53", ""},
		"sctp":                 {"iptables", "-p sctp -m sctp --dport 7", "-p sctp -m sctp --dport 7", ""},
		"sctp chunks": {"iptables", "-p sctp -m sctp --chunk-types all init,DATA:Be",
			"-p sctp -m sctp --chunk-types all DATA:Be,INIT", ""},
		"physdev":                  {"iptables", "-m physdev ! --physdev-in veth+", "-m physdev ! --physdev-in veth+", ""},
		"limit":                    {"iptables", "-m limit --limit 10/second", "-m limit --limit 10/sec", ""},
		"limit beyond the counter": {"iptables", "-m limit --limit 1/day --limit-burst 5", "", "Numerical result out of range"},
		"hashlimit": {"iptables", "-m hashlimit --hashlimit 5/m --hashlimit-name h",
			"-m hashlimit --hashlimit-upto 5/min --hashlimit-burst 5 --hashlimit-name h", ""},
		"iprange":                  {"iptables", "-m iprange --src-range 10.0.0.1", "-m iprange --src-range 10.0.0.1-10.0.0.1", ""},
		"owner":                    {"iptables", "-m owner --uid-owner root", "-m owner --uid-owner 0", ""},
		"pkttype":                  {"iptables", "-m pkttype --pkt-type mcast", "-m pkttype --pkt-type multicast", ""},
		"mac in the wrong hook":    {"iptables", "-m mac --mac-source 0:1:2:3:4:5", "", "Invalid argument"},
		"length":                   {"iptables", "-m length --length 5:", "-m length --length 5:65535", ""},
		"socket in the wrong hook": {"iptables", "-m socket", "", "Invalid argument"},
		"rpfilter in filter":       {"iptables", "-m rpfilter", "", "Invalid argument"},
		"connmark match":           {"iptables", "-m connmark --mark 1/0xf", "-m connmark --mark 0x1/0xf", ""},
		"set that is not there":    {"iptables", "-m set --match-set gone src", "", "Set gone doesn't exist."},
		"ct":                       {"iptables", "-t raw -j CT --zone-reply 0x5", "-j CT --zone-reply 5", ""},
		"ct with a helper":         {"iptables", "-t raw -p tcp -j CT --helper gone", "", "No chain/target/match by that name"},
		"helper":                   {"iptables", "-m helper ! --helper ftp-21", "-m helper ! --helper ftp-21", ""},
		"connlimit": {"iptables", "-m connlimit ! --connlimit-upto 3 --connlimit-mask 255.0.0.0",
			"-m connlimit --connlimit-above 3 --connlimit-mask 8 --connlimit-saddr", ""},
		"connbytes": {"iptables", "-m connbytes ! --connbytes 5: --connbytes-dir both --connbytes-mode avgpkt",
			"-m connbytes ! --connbytes 5 --connbytes-mode avgpkt --connbytes-dir both", ""},
		"connlabel": {"iptables", "-m connlabel --label 0x10 --set", `-m connlabel --label "16" --set`, ""},
		"time": {"iptables", "-m time --timestart 9:5 --weekdays Mo,7 --datestop 2024-02-30",
			"-m time --timestart 09:05:00 --timestop 23:59:59 --weekdays Mon,Sun --datestop 2024-03-01T00:00:00", ""},
		"quota":                    {"iptables", "-m quota ! --quota 0x10", "-m quota ! --quota 16", ""},
		"rateest without its rate": {"iptables", "-m rateest --rateest A --rateest-lt --rateest-bps 8bit", "", "No chain/target/match"},
		"realm":                    {"iptables", "-m realm --realm 0/0xff", "-m realm --realm 0x0/0xff", ""},
		"devgroup in a wrong hook": {"iptables", "-m devgroup --src-group 1", "", "Invalid argument"},
		"devgroup":                 {"iptables", "-m devgroup ! --dst-group 0", "-m devgroup ! --dst-group default", ""},
		"cpu":                      {"iptables", "-m cpu --cpu 1", "-m cpu --cpu 1", ""},
		"cgroup that is not there": {"iptables", "-m cgroup --path system.slice", "", "Invalid argument"},
		"classify":                 {"iptables", "-j CLASSIFY --set-class 1:fF", "-j CLASSIFY --set-class 0001:00ff", ""},
		"tee":                      {"ip6tables", "-j TEE --gateway fd00:0::1", "-j TEE --gateway fd00::1", ""},
		"connsecmark in filter":    {"iptables", "-j CONNSECMARK --save", "", "Invalid argument"},
		"secmark without a module": {"iptables", "-t mangle -j SECMARK --selctx a", "", "No chain/target/match by that name"},
		"audit":                    {"iptables", "-j AUDIT --type DROP", "-j AUDIT --type drop", ""},
		"synproxy in a wrong hook": {"iptables", "-p tcp -j SYNPROXY", "", "Invalid argument"},
		"cluster": {"iptables", "-m cluster --cluster-total-nodes 4 ! --cluster-local-node 3 --cluster-hash-seed 1",
			"-m cluster ! --cluster-local-nodemask 0x00000004 --cluster-total-nodes 4 --cluster-hash-seed 0x00000001", ""},
		"osf in the wrong hook":   {"iptables", "-p tcp -m osf --genre Linux", "", "Invalid argument"},
		"ipvs without the module": {"iptables", "-m ipvs --ipvs", "", "Extension ipvs revision 0 not supported"},
		"led without the module":  {"iptables", "-j LED --led-trigger-id a", "", "Extension LED revision 0 not supported"},
		"hmark": {"iptables", "-j HMARK --hmark-tuple s,sp --hmark-mod 9 --hmark-rnd 1",
			"-j HMARK --hmark-src-prefix 32 --hmark-sport-mask 0xffff --hmark-rnd 0x00000001 --hmark-mod 9", ""},
		"idletimer":        {"iptables", "-j IDLETIMER --timeout 5 --label a", "-j IDLETIMER --timeout 5 --label a", ""},
		"idletimer of 0 s": {"iptables", "-j IDLETIMER --timeout 0 --label a", "", "Invalid argument"},
		"rateest": {"iptables", "-j RATEEST --rateest-name a --rateest-interval 300ms --rateest-ewmalog 3",
			"", "RATEEST: ewmalog value is out of range"},
		"dnpt": {"ip6tables", "-t mangle -j DNPT --src-pfx fd00::/64 --dst-pfx fd01:0::/48",
			"-j DNPT --src-pfx fd00::/64 --dst-pfx fd01::/48", ""},
		"snpt in the wrong hook":    {"ip6tables", "-t mangle -j SNPT --src-pfx fd00::/64 --dst-pfx fd01::/64", "", "Invalid argument"},
		"netmap":                    {"iptables", "-t nat -j NETMAP --to 10.1.2.3/16", "-j NETMAP --to 10.1.0.0/16", ""},
		"nflog":                     {"iptables", "-j NFLOG --nflog-group 5", "-j NFLOG --nflog-group 5", ""},
		"nfqueue":                   {"iptables", "-j NFQUEUE --queue-balance 0:3", "-j NFQUEUE --queue-balance 0:3", ""},
		"tproxy in the wrong hook":  {"iptables", "-t mangle -p tcp -j TPROXY --on-port 5", "", "Invalid argument"},
		"tcpmss without syn":        {"iptables", "-p tcp -j TCPMSS --set-mss 5", "", "Invalid argument"},
		"checksum in filter":        {"iptables", "-j CHECKSUM --checksum-fill", "", "Invalid argument"},
		"set target":                {"iptables", "-j SET --add-set gone src", "", "Set gone doesn't exist."},
		"icmp by name":              {"iptables", "-p icmp --icmp-type ping", "-p icmp -m icmp --icmp-type 8", ""},
		"icmp6 by name":             {"ip6tables", "-p icmpv6 --icmpv6-type no-route", "-p ipv6-icmp -m icmp6 --icmpv6-type 1/0", ""},
		"conntrack states in order": {"iptables", "-m conntrack --ctstate RELATED,NEW", "-m conntrack --ctstate NEW,RELATED", ""},
		"conntrack unknown state":   {"iptables", "-m conntrack --ctstate OLD", "", `Bad ctstate "OLD"`},
		"state":                     {"iptables", "-m state --state new", "-m state --state NEW", ""},
		"mark without mask":         {"iptables", "-m mark --mark 0x0010", "-m mark --mark 0x10", ""},
		"addrtype":                  {"iptables", "-m addrtype ! --dst-type local", "-m addrtype ! --dst-type LOCAL", ""},
		"statistic": {"iptables", "-m statistic --mode random --probability 0.3333333333",
			"-m statistic --mode random --probability 0.33333333349", ""},
		"recent": {"ip6tables", "-m recent --name l --set",
			"-m recent --set --name l --mask ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff --rsource", ""},
		"nfacct":    {"iptables", "-m nfacct --nfacct-name acct", "-m nfacct --nfacct-name  acct", ""},
		"multiport": {"iptables", "-p tcp -m multiport --dports 80,http,90:99", "-p tcp -m multiport --dports 80,80,90:99", ""},
		"reject":    {"iptables", "-j REJECT", "-j REJECT --reject-with icmp-port-unreachable", ""},
		"reject 6":  {"ip6tables", "-j REJECT", "-j REJECT --reject-with icmp6-port-unreachable", ""},
		"dnat": {"iptables", "-t nat -j DNAT --to-destination 10.0.0.1 --random",
			"-j DNAT --to-destination 10.0.0.1 --random", ""},
		"dnat 6 with port": {"ip6tables", "-t nat -p tcp -j DNAT --to-destination [fd00::1]:80",
			"-p tcp -j DNAT --to-destination [fd00::1]:80", ""},
		"dnat port without proto": {"iptables", "-t nat -j DNAT --to-destination 10.0.0.1:80", "",
			"Need TCP, UDP, SCTP or DCCP with port specification"},
		"snat in the wrong hook":   {"iptables", "-t nat -j SNAT --to-source 10.0.0.1", "", "Invalid argument"},
		"masquerade in wrong hook": {"iptables", "-t nat -j MASQUERADE", "", "Invalid argument"},
		"redirect":                 {"iptables", "-t nat -p udp -j REDIRECT --to-ports 53", "-p udp -j REDIRECT --to-ports 53", ""},
		"mark target":              {"iptables", "-j MARK --xor-mark 0x4000", "-j MARK --set-xmark 0x4000/0x0", ""},
		"connmark": {"iptables", "-j CONNMARK --restore-mark --mask 0xf",
			"-j CONNMARK --restore-mark --nfmask 0xf --ctmask 0xf", ""},
		"log":                            {"iptables", "-j LOG --log-level debug", "-j LOG --log-level 7", ""},
		"trace in filter":                {"iptables", "-j TRACE", "", "Invalid argument"},
		"notrack in raw":                 {"iptables", "-t raw -j NOTRACK", "-j NOTRACK", ""},
		"ttl":                            {"iptables", "-m ttl ! --ttl 5", "-m ttl ! --ttl-eq 5", ""},
		"hl":                             {"ip6tables", "-m hl --hl-lt 5", "-m hl --hl-lt 5", ""},
		"hl of IPv4":                     {"iptables", "-m hl --hl-lt 5", "", "Couldn't load match `hl'"},
		"tos by name":                    {"iptables", "-m tos --tos minimize-delay", "-m tos --tos 0x10/0x3f", ""},
		"dscp class":                     {"iptables", "-m dscp --dscp-class ef", "-m dscp --dscp 0x2e", ""},
		"ecn":                            {"iptables", "-m ecn --ecn-ip-ect 2", "-m ecn --ecn-ip-ect 2", ""},
		"ecn flags without tcp":          {"iptables", "-m ecn --ecn-tcp-ece", "", "Invalid argument"},
		"tcpmss match":                   {"iptables", "-p tcp -m tcpmss --mss :5", "-p tcp -m tcpmss --mss 0:5", ""},
		"policy":                         {"iptables", "-m policy --dir out --proto esp", "-m policy --dir out --pol ipsec --proto esp", ""},
		"policy in the wrong hook":       {"iptables", "-m policy --dir in --pol none", "", "Invalid argument"},
		"ah":                             {"iptables", "-p ah -m ah ! --ahspi 5:", "-p ah -m ah ! --ahspi 5:4294967295", ""},
		"ah without protocol":            {"iptables", "-m ah --ahspi 5", "", "Invalid argument"},
		"ah 6":                           {"ip6tables", "-m ah --ahlen 5 --ahres", "-m ah --ahlen 5 --ahres", ""},
		"esp":                            {"iptables", "-p esp -m esp --espspi :5", "-p esp -m esp --espspi 0:5", ""},
		"ipcomp":                         {"iptables", "-p ipcomp -m ipcomp --compres", "-p ipcomp -m ipcomp --ipcompspi 0 --compres", ""},
		"dccp":                           {"iptables", "-p dccp -m dccp --dccp-types data,ack", "-p dccp -m dccp --dccp-types DATA,ACK", ""},
		"frag":                           {"ip6tables", "-m frag --fragmore --fragid 5", "-m frag --fragid 5 --fragmore", ""},
		"hbh":                            {"ip6tables", "-m hbh --hbh-opts 5:6,0x7", "-m hbh --hbh-opts 5:6,7", ""},
		"dst":                            {"ip6tables", "-m dst --dst-opts 0:5", "", "PAD0 hasn't got length"},
		"rt":                             {"ip6tables", "-m rt --rt-type 0 --rt-0-addrs ::1", "-m rt --rt-type 0 --rt-0-addrs ::1", ""},
		"srh":                            {"ip6tables", "-m srh --srh-lsid a::/64", "-m srh --srh-lsid a::/64", ""},
		"mh":                             {"ip6tables", "-p mh --mh-type bu", "-p mobility-header -m mh --mh-type 5", ""},
		"ipv6header":                     {"ip6tables", "-m ipv6header --header frag,hop", "-m ipv6header --header hop-by-hop,ipv6-frag", ""},
		"eui64 in the wrong hook":        {"ip6tables", "-m eui64", "", "Invalid argument"},
		"string":                         {"iptables", "-m string --algo bm --hex-string |0d|", `-m string --hex-string "|0d|" --algo bm`, ""},
		"string of an unknown algorithm": {"iptables", "-m string --algo x --string a", "", "No chain/target/match by that name"},
		"u32":                            {"iptables", "-m u32 ! --u32 6&255=1:5,7", `-m u32 ! --u32 "0x6&0xff=0x1:0x5,0x7"`, ""},
		"u32 shift":                      {"iptables", "-m u32 --u32 6>>32=1", "", "Invalid argument"},
		"bpf":                            {"iptables", "-m bpf --object-pinned /x", "", "failed to get bpf object"},
		"TTL in filter":                  {"iptables", "-j TTL --ttl-set 5", "", "Invalid argument"},
		"HL in filter":                   {"ip6tables", "-j HL --hl-inc 5", "", "Invalid argument"},
		"TOS in filter":                  {"iptables", "-j TOS --or-tos 5", "", "Invalid argument"},
		"DSCP in filter":                 {"iptables", "-j DSCP --set-dscp 5", "", "Invalid argument"},
		"ECN in filter":                  {"iptables", "-p tcp -j ECN --ecn-tcp-remove", "", "Invalid argument"},
		"TCPOPTSTRIP in filter":          {"iptables", "-p tcp -j TCPOPTSTRIP --strip-options 5", "", "Invalid argument"},
	} {
		t.Run(name, func(t *testing.T) {
			k := New(Options{})
			require.NoError(t, k.Namespace().Accounts().Add("acct"))
			argv := append([]string{row.tool, "-A", "OUTPUT"}, strings.Fields(row.rule)...)
			var out, stderr bytes.Buffer
			status := k.Run(argv, nil, &out, &stderr)
			if row.refused != "" {
				assert.NotZero(t, status)
				assert.Contains(t, stderr.String(), row.refused)
				return
			}
			require.Zero(t, status, stderr.String())
			f := netfilter.IPv4
			if row.tool == "ip6tables" {
				f = netfilter.IPv6
			}
			rules := k.Ruleset(f).Tables()[0].Chain("OUTPUT").Rules
			require.Len(t, rules, 1)
			assert.Equal(t, "-A OUTPUT "+row.saved, rules[0].Text("OUTPUT", f, netfilter.Legacy))
		})
	}
}

// TestLoadTakesWhatAnotherMachineHas holds that the dump of a machine loads though this one has not all that it names.
func TestLoadTakesWhatAnotherMachineHas(t *testing.T) {
	for _, rule := range []string{
		"-A OUTPUT -m cgroup --path \"system.slice/docker.service\"",
		"-A OUTPUT -p tcp -j CT --helper own",
		"-A OUTPUT -p tcp -j CT --timeout policy",
		"-A OUTPUT -j SECMARK --selctx system_u:object_r:httpd_packet_t:s0",
		"-A OUTPUT -m ipvs --vaddr 10.0.0.1 --vport 80",
		`-A OUTPUT -j LED --led-trigger-id "lamp"`,
		"-A OUTPUT -d 10.0.0.1/32 -j CLUSTERIP --new --hashmode sourceip --clustermac 01:00:5E:00:00:01 --total-nodes 2 --local-node 1",
	} {
		table := "raw"
		if strings.Contains(rule, "SECMARK") {
			table = "security"
		}
		for _, d := range []netfilter.Dialect{netfilter.Legacy, netfilter.NFT} {
			text := "*" + table + "\n:OUTPUT ACCEPT [0:0]\n" + rule + "\nCOMMIT\n"
			k, err := LoadSave(netfilter.IPv4, d, "dump", strings.NewReader(text))
			require.NoError(t, err, rule)
			assert.Equal(t, rule, k.Ruleset(netfilter.IPv4).Table(table).Chain("OUTPUT").Rules[0].Text("OUTPUT", netfilter.IPv4, d))

			status := New(Options{Dialect: d}).Run([]string{"iptables-restore"}, strings.NewReader(text), new(bytes.Buffer), new(bytes.Buffer))
			assert.NotZero(t, status, rule)
		}
	}
}
