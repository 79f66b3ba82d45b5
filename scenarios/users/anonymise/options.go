package anonymise

import (
	"strings"
	"sync"
)

// value says what stands behind an option of iptables.
type value uint8

// What may stand behind an option. An option that is in no list below is unknown.
const (
	unknown value = iota
	plain         // numbers, words of the tool's own, or nothing
	address       // an address or a prefix, or several with commas between them
	addressRange
	natRange // a range of addresses with ports behind it
	device
	hardware // a MAC address
	set      // a set, and plain words
	list     // a recent list, which kube-proxy calls as it does a chain
	account  // an accounting object
	name     // any word that somebody has chosen
	text     // any words
	comment
	jump // a chain or a target
	match
	opaque // bytes that may hold an address
)

// options says what stands behind each option of the tools. Where extensions use one word for different things, the extension stands
// before it.
var options = sync.OnceValue(func() map[string]value {
	out := map[string]value{
		"-p": plain, "-f": plain, "-m": match, "-j": jump, "-g": jump, "comment": comment, "mac-source": hardware,
		"recent name": list, "nfacct-name": account, "NETMAP to": address, "string to": plain, "string string": text,
		"CT timeout": name, "IDLETIMER timeout": plain, "SET timeout": plain,
	}
	for is, words := range map[value]string{
		address: `-s -d ctorigsrc ctorigdst ctreplsrc ctrepldst gateway on-ip vaddr tunnel-src tunnel-dst rt-0-addrs src-pfx dst-pfx srh-psid
			srh-nsid srh-lsid`,
		addressRange: `src-range dst-range`,
		natRange:     `to-destination to-source`,
		device:       `-i -o physdev-in physdev-out oif`,
		set:          `match-set add-set del-set map-set`,
		name:         `hashlimit-name rateest-name rateest rateest1 rateest2 label path selctx genre helper`,
		text:         `log-prefix nflog-prefix hex-string`,
		opaque:       `bytecode object-pinned u32`,
		plain: `
			accept-local ahlen ahres ahspi alarm algo and-mark and-tos bytes-eq bytes-gt bytes-lt cgroup checksum-fill chunk-types
			clamp-mss-to-pmtu cluster-hash-seed cluster-local-node cluster-local-nodemask cluster-total-nodes compres connbytes
			connbytes-dir connbytes-mode connlimit-above connlimit-daddr connlimit-mask connlimit-saddr connlimit-upto contiguous cpu
			ctdir ctevents ctexpire ctmask ctorigdstport ctorigsrcport ctproto ctrepldstport ctreplsrcport ctstate ctstatus datestart
			datestop dccp-option dccp-types dir dport dports dscp dscp-class dst-group dst-len dst-opts dst-type ecn ecn-ip-ect
			ecn-tcp-cwr ecn-tcp-ece ecn-tcp-remove espspi every exist expevents fragfirst fragid fraglast fraglen fragmore fragres from
			gid-owner hashlimit hashlimit-above hashlimit-burst hashlimit-dstmask hashlimit-htable-expire hashlimit-htable-gcinterval
			hashlimit-htable-max hashlimit-htable-size hashlimit-mode hashlimit-rate-interval hashlimit-rate-match hashlimit-srcmask
			hashlimit-upto hbh-len hbh-opts header hitcount hl-dec hl-eq hl-gt hl-inc hl-lt hl-set hmark-dport hmark-dport-mask
			hmark-dst-prefix hmark-mod hmark-offset hmark-proto-mask hmark-rnd hmark-spi hmark-spi-mask hmark-sport hmark-sport-mask
			hmark-src-prefix hmark-tuple icase icmp-type icmpv6-type invert ipcompspi ipvs kerneltz left-shift-mark length limit
			limit-burst limit-iface-in limit-iface-out localtz log log-ip-options log-level log-macdecode log-tcp-options
			log-tcp-sequence log-uid loose map-mark map-prio map-queue mark mask mh-type mode monthdays mss next nflog-group nflog-range
			nflog-size nflog-threshold nfmask notrack nowildcard on-port or-mark or-tos packet packets-eq packets-gt packets-lt
			persistent physdev-is-bridged physdev-is-in physdev-is-out pkt-type pol ports probability proto queue-balance queue-bypass
			queue-cpu-fanout queue-num quota random random-fully rateest-bps rateest-bps1 rateest-bps2 rateest-delta rateest-eq
			rateest-ewmalog rateest-gt rateest-interval rateest-lt rateest-pps rateest-pps1 rateest-pps2 rcheck rdest realm reap
			reject-with remove reqid restore restore-mark restore-skmark return-nomatch right-shift-mark rsource rt-0-not-strict rt-0-res
			rt-len rt-segsleft rt-type rttl sack-perm save save-mark seconds set set-class set-dscp set-dscp-class set-mark set-mss
			set-tos set-xmark socket-exists soft spi sport sports src-group src-type srh-hdr-len-eq srh-hdr-len-gt srh-hdr-len-lt
			srh-last-entry-eq srh-last-entry-gt srh-last-entry-lt srh-next-hdr srh-segs-left-eq srh-segs-left-gt srh-segs-left-lt srh-tag
			state strict strip-options suppl-groups syn tcp-flags tcp-option timestamp timestart timestop to-ports tos tproxy-mark
			transparent ttl ttl-dec ttl-eq ttl-gt ttl-inc ttl-lt ttl-set type uid-owner update update-counters update-subcounters utc
			validmark vdir vmethod vport vportctl vproto weekdays wscale xor-mark xor-tos zone zone-orig zone-reply`,
	} {
		for word := range strings.FieldsSeq(words) {
			out[word] = is
		}
	}
	return out
})

// valueOf is what is behind an option of an extension.
func valueOf(extension, option string) value {
	option = strings.TrimPrefix(option, "--")
	if is, own := options()[extension+" "+option]; own {
		return is
	}
	return options()[option]
}
