package provenance

import (
	"strings"

	"github.com/chainwalk/chainwalk/internal/lazyregexp"
)

// everywhere are the chains that have the same names on every node on which their program runs.
var everywhere = lazyregexp.New(`^(?:` + strings.Join([]string{
	`PREROUTING|INPUT|FORWARD|OUTPUT|POSTROUTING`,
	`KUBE-(?:SERVICES|EXTERNAL-SERVICES|NODEPORTS|NODE-PORT|POSTROUTING|MARK-MASQ|MARK-DROP|FORWARD|FIREWALL|PROXY-FIREWALL|LOAD-BALANCER)`,
	`KUBE-(?:PROXY-CANARY|KUBELET-CANARY|IPTABLES-HINT|SOURCE-RANGES-FIREWALL|IPVS-FILTER|IPVS-OUT-FILTER)`,
	`KUBE-ROUTER-(?:INPUT|FORWARD|OUTPUT|SERVICES|HAIRPIN)|KUBE-NWPLCY-(?:DEFAULT|COMMON)`,
	`cali-(?:INPUT|FORWARD|OUTPUT|PREROUTING|POSTROUTING|nat-outgoing|fip-dnat|fip-snat|cidr-block|rpf-skip|wl-to-host|to-wl-dispatch)`,
	`cali-(?:from-wl-dispatch|(?:to|from)-(?:host-endpoint|hep-forward)|forward-check|forward-endpoint-mark|failsafe-(?:in|out))`,
	`DOCKER|DOCKER-(?:USER|FORWARD|CT|BRIDGE|INTERNAL|INGRESS|ISOLATION-STAGE-[12])|DOCKER_(?:OUTPUT|POSTROUTING)`,
	`CNI-(?:FORWARD|ADMIN|HOSTPORT-(?:DNAT|SNAT|MASQ|SETMARK)|ISOLATION-STAGE-[12])|FLANNEL-(?:FWD|POSTRTG)|IP-MASQ(?:-AGENT)?`,
	`KIND-MASQ-AGENT|WEAVE(?:-NPC(?:-(?:DEFAULT|INGRESS|EGRESS|EGRESS-ACCEPT|EGRESS-CUSTOM|EGRESS-DEFAULT))?)?`,
	`(?:OLD_)?CILIUM_(?:INPUT|FORWARD|OUTPUT|OUTPUT_raw|PRE_raw|PRE_mangle|POST_mangle|PRE_nat|POST_nat|OUTPUT_nat)`,
	`ANTREA-(?:INPUT|FORWARD|OUTPUT|PREROUTING|POSTROUTING|MANGLE)`,
	`ufw6?-(?:(?:before|after|reject|track)-(?:logging-)?(?:input|output|forward)|user-(?:logging-)?(?:input|output|forward))`,
	`ufw6?-(?:user-limit(?:-accept)?|skip-to-policy-(?:input|output|forward)|logging-(?:deny|allow)|not-local)`,
	`(?:INPUT|OUTPUT|FORWARD(?:_IN|_OUT)?|PREROUTING|POSTROUTING)_(?:direct|ZONES|ZONES_SOURCE|POLICIES_(?:pre|post))`,
	`(?:IN|OUT|FWDI|FWDO|PRE|POST)_(?:public|block|dmz|drop|external|home|internal|trusted|work|docker|libvirt)` +
		`(?:_(?:log|deny|allow|pre|post|rule))?`,
	`ts-(?:input|forward|postrouting)|LIBVIRT_(?:INP|OUT|FWI|FWO|FWX|PRT)|nixos-fw(?:-(?:accept|refuse|log-refuse|rpfilter))?`,
}, "|") + `)$`)

// IsEverywhere says whether a chain has the same name on every node on which its program runs, so that the name tells of no cluster.
func IsEverywhere(chain string) bool { return everywhere().MatchString(chain) }

// stems are how names of chains begin that a program makes for one object: the first that fits counts. What stands behind them is a hash, a
// number or the object's name.
var stems = append([]string{
	"KUBE-POD-FW-", "KUBE-NWPLCY-", "cali-from-wl-dispatch-", "cali-to-wl-dispatch-", "cali-fw-", "cali-tw-", "cali-pi-", "cali-po-",
	"cali-pri-", "cali-pro-", "cali-th-", "cali-fh-", "cali-thfw-", "cali-fhfw-", "cali-sm-", "cali-gi-", "cali-go-", "cali-",
	"CNI-DN-", "CNI-SN-", "CNI-", "f2b-", "DOCKER-", nameServer, "KUBE-",
}, ofServicePort...)

// Stem is how a chain's name begins that a program makes for one object: what shows who wrote it and what it is for. It is empty for a
// chain of nobody who is known.
func Stem(chain string) string {
	best := ""
	for _, stem := range stems {
		if strings.HasPrefix(chain, stem) && len(stem) > len(best) {
			best = stem
		}
	}
	return best
}

// EndsInHash says whether chains that begin so end in 16 characters of a hash, as those of kube-proxy and kube-router do.
func EndsInHash(stem string) bool {
	return IsOfServicePort(stem) || stem == "KUBE-POD-FW-" || stem == "KUBE-NWPLCY-"
}
