package report

import (
	"net/netip"

	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/scenarios/explain/story"
)

func addrPort(s string) netip.AddrPort { return netip.MustParseAddrPort(s) }

// threeEndpoints is the story of a Service with three endpoints on one node.
func threeEndpoints() *story.Story {
	const service = "service shop/web:http"
	came := story.Header{
		Proto: inet.TCP, Src: addrPort("10.244.2.2:40000"), Dst: addrPort("10.96.125.22:80"), SrcName: "pod shop/client", DstName: service,
	}
	s := &story.Story{
		Packet:   "tcp 10.244.2.2:40000 > 10.96.125.22:80 in vethb0aa81ba",
		Sentence: "shop/web:http -> 3 endpoints, 1/3 each, source kept, 2 of them forwarded by eth0, 1 by vethb246c797",
		Unreached: []story.Unreached{
			{What: "10.244.1.9:8080 (pod shop/web-4)", Why: "not ready"},
		},
	}
	for i, to := range []struct{ server, pod, out, hop, rule, probability string }{
		{"10.244.1.2:8080", "pod shop/web-1", "eth0", " to 172.18.0.2", "2", " -m statistic --mode random --probability 0.33333333349"},
		{"10.244.1.3:8080", "pod shop/web-2", "eth0", " to 172.18.0.2", "3", " -m statistic --mode random --probability 0.50000000000"},
		{"10.244.2.3:8080", "pod shop/web-3", "vethb246c797", "", "4", ""},
	} {
		left := came
		left.Dst, left.DstName = addrPort(to.server), to.pod
		sep := "KUBE-SEP-XTJTEC7KOHLCQM2" + to.rule
		lines := []story.Line{
			{Hook: "PREROUTING", Kind: story.Conntrack, Text: "no entry: NEW"},
			{Hook: "PREROUTING", Table: "mangle", Kind: story.Policy, At: "mangle:PREROUTING:policy:1", Text: "ACCEPT"},
			{Hook: "PREROUTING", Table: "nat", Kind: story.Rule, At: "nat:PREROUTING:rule:1",
				Text: `-A PREROUTING -m comment --comment "kubernetes service portals" -j KUBE-SERVICES`},
			{Hook: "PREROUTING", Table: "nat", Kind: story.Missed, At: "nat:KUBE-SERVICES:rule:1", Failed: "-d 10.96.0.1/32",
				Object: "service default/kubernetes:https",
				Text: `-A KUBE-SERVICES -d 10.96.0.1/32 -p tcp -m comment --comment "default/kubernetes:https cluster IP" -m tcp --dport 443 ` +
					`-j KUBE-SVC-NPX46M4PTMTKRN6Y`},
			{Hook: "PREROUTING", Table: "nat", Kind: story.Missed, At: "nat:KUBE-SERVICES:rule:2", Failed: "-m tcp --dport 443",
				Object: "service shop/web:https",
				Text: `-A KUBE-SERVICES -d 10.96.125.22/32 -p tcp -m comment --comment "shop/web:https cluster IP" -m tcp --dport 443 ` +
					`-j KUBE-SVC-AAAAAAAAAAAAAAAA`},
			{Hook: "PREROUTING", Table: "nat", Kind: story.Rule, At: "nat:KUBE-SERVICES:rule:16", Object: service,
				Text: `-A KUBE-SERVICES -d 10.96.125.22/32 -p tcp -m comment --comment "shop/web:http cluster IP" -m tcp --dport 80 ` +
					`-j KUBE-SVC-67NZLRHBNDSAWJRO`},
			{Hook: "PREROUTING", Table: "nat", Kind: story.Rule, At: "nat:KUBE-SVC-67NZLRHBNDSAWJRO:rule:" + to.rule, Object: service,
				Text: `-A KUBE-SVC-67NZLRHBNDSAWJRO -m comment --comment "shop/web:http -> ` + to.server + `"` + to.probability + ` -j ` + sep},
			{Hook: "PREROUTING", Table: "nat", Kind: story.Rule, At: "nat:" + sep + ":rule:2", Object: to.pod,
				Text: `-A ` + sep + ` -p tcp -m comment --comment "shop/web:http" -m tcp -j DNAT --to-destination ` + to.server},
			{Hook: "PREROUTING", Table: "nat", Kind: story.Rewrite, After: &left},
			{Kind: story.Route, Text: "10.244.1.0/24 by " + to.out + to.hop},
			{Hook: "FORWARD", Table: "mangle", Kind: story.Policy, At: "mangle:FORWARD:policy:1", Text: "ACCEPT"},
			{Hook: "FORWARD", Table: "filter", Kind: story.Rule, At: "filter:FORWARD:rule:1",
				Text: `-A FORWARD -m conntrack --ctstate NEW -m comment --comment "kubernetes load balancer firewall" -j KUBE-PROXY-FIREWALL`},
			{Hook: "FORWARD", Table: "filter", Kind: story.Return, At: "filter:KUBE-PROXY-FIREWALL:return:3"},
			{Hook: "FORWARD", Table: "filter", Kind: story.Policy, At: "filter:FORWARD:policy:5", Text: "ACCEPT"},
			{Hook: "POSTROUTING", Table: "mangle", Kind: story.Policy, At: "mangle:POSTROUTING:policy:1", Text: "ACCEPT"},
			{Hook: "POSTROUTING", Table: "nat", Kind: story.Rule, At: "nat:POSTROUTING:rule:1",
				Text: `-A POSTROUTING -m comment --comment "kubernetes postrouting rules" -j KUBE-POSTROUTING`},
			{Hook: "POSTROUTING", Table: "nat", Kind: story.Rule, At: "nat:KUBE-POSTROUTING:rule:1",
				Text: `-A KUBE-POSTROUTING -m mark ! --mark 0x4000/0x4000 -j RETURN`},
			{Hook: "POSTROUTING", Table: "nat", Kind: story.Policy, At: "nat:POSTROUTING:policy:2", Text: "ACCEPT"},
			{Hook: "POSTROUTING", Kind: story.Conntrack,
				Text: "new entry: tcp 10.244.2.2:40000 > 10.96.125.22:80, replies from " + to.server + " to 10.244.2.2:40000"},
		}
		s.Outcomes = append(s.Outcomes, story.Outcome{
			Probability: 1.0 / 3, Sentence: "to " + to.server + " (" + to.pod + "), source kept, forwarded by " + to.out,
			Decided: &story.Place{Passage: 0, Line: 7},
			Passages: []story.Passage{{
				Direction: story.There, Host: "demo-worker", Role: story.Node, Came: came, In: "vethb0aa81ba", Left: left, Out: to.out,
				Result: "forwarded by " + to.out + to.hop, Lines: lines,
			}},
		})
		_ = i
	}
	return s
}
