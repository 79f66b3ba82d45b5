package fakeipt

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// The places of ipvs' options.
const (
	ipvsAny = iota
	ipvsProto
	ipvsAddr
	ipvsPort
	ipvsDir
	ipvsMethod
	ipvsPortControl
)

var ipvsExtension = goneExtension("ipvs", 0, endIPVS,
	goneOption{optionSpec{name: "ipvs", flag: true, invert: true}, nil},
	goneOption{optionSpec{name: "vproto", invert: true}, readIPVSProtocol},
	goneOption{optionSpec{name: "vaddr", invert: true}, readIPVSHost},
	goneOption{optionSpec{name: "vport", invert: true}, readIPVSPort},
	goneOption{optionSpec{name: "vdir"}, goneWord("ORIGINAL", "REPLY")},
	goneOption{optionSpec{name: "vmethod", invert: true}, goneWord("GATE", "IPIP", "MASQ")},
	goneOption{optionSpec{name: "vportctl", invert: true}, readIPVSPort},
)

func endIPVS(v []goneValue) (string, error) {
	var others []byte
	for i, word := range [...]string{ipvsProto: "vproto", ipvsAddr: "vaddr", ipvsPort: "vport", ipvsDir: "vdir", ipvsMethod: "vmethod",
		ipvsPortControl: "vportctl"} {
		if i != ipvsAny {
			others = v[i].append(others, word)
		}
	}
	switch any := v[ipvsAny]; {
	case len(others) == 0 && !any.given:
		return "", badParameter("IPVS: At least one option is required")
	case len(others) == 0:
		return string(any.append(nil, "ipvs")), nil
	case any.inverts:
		return "", badParameter("! --ipvs cannot be together with other options")
	}
	return string(others), nil
}

func readIPVSProtocol(o *optionCall) (string, error) {
	n, err := parseProtocol(o.arg)
	return fmt.Sprint(uint8(n)), err
}

func readIPVSHost(o *optionCall) (string, error) {
	m, err := o.resolvedHostMask()
	if err != nil {
		return "", err
	}
	return string(listStyle{numeric: true}.appendNetwork(nil, &m)), nil
}

func readIPVSPort(o *optionCall) (string, error) {
	n, err := resolvedPort(o.arg)
	return fmt.Sprint(n), err
}

// maxLEDTrigger is the length of a trigger's name.
const maxLEDTrigger = 16

var ledExtension = goneExtension("LED", 0, endLED,
	goneOption{optionSpec{name: "led-trigger-id", mandatory: true}, readLEDTrigger},
	goneOption{optionSpec{name: "led-delay"}, readLEDDelay},
	goneOption{optionSpec{name: "led-always-blink", flag: true}, nil},
)

func readLEDTrigger(o *optionCall) (string, error) {
	if len(o.arg) > maxLEDTrigger {
		return "", badParameter("Argument must have a maximum length of %d characters\n", maxLEDTrigger)
	}
	return string(o.arg), nil
}

func readLEDDelay(o *optionCall) (string, error) {
	if strings.EqualFold(string(o.arg), "inf") {
		return "inf", nil
	}
	n, ok := libc.WholeNumber(o.arg, math.MaxUint32)
	if !ok {
		return "", badParameter("Delay value must be within range 0..%d", uint32(math.MaxUint32))
	}
	if n == math.MaxUint32 {
		return "inf", nil
	}
	return fmt.Sprintf("%dms", int32(n)), nil // the tool prints it with a sign
}

func endLED(v []goneValue) (string, error) {
	delay := "0ms"
	if v[1].given {
		delay = v[1].text
	}
	return fmt.Sprintf(" led-trigger-id:\"%s\" led-delay:%s", v[0].text, delay) + string(v[2].append(nil, "led-always-blink")), nil
}

// maxClusterIPNodes is the number of nodes that share an address.
const maxClusterIPNodes = 16

// The places of CLUSTERIP's options.
const (
	clusterIPNew = iota
	clusterIPMode
	clusterIPMAC
	clusterIPTotal
	clusterIPLocal
	clusterIPHash
)

var clusteripExtension = goneExtension("CLUSTERIP", netfilter.IPv4, endClusterIP,
	goneOption{optionSpec{name: "new", flag: true}, nil},
	goneOption{optionSpec{name: "hashmode"}, readHashMode},
	goneOption{optionSpec{name: "clustermac"}, readClusterMAC},
	goneOption{optionSpec{name: "total-nodes"}, goneNumber(0, maxClusterIPNodes)},
	goneOption{optionSpec{name: "local-node"}, goneNumber(0, maxClusterIPNodes)},
	goneOption{optionSpec{name: "hash-init"}, goneNumber(0, math.MaxUint32)},
)

func readHashMode(o *optionCall) (string, error) {
	switch mode := string(o.arg); mode {
	case "sourceip", "sourceip-sourceport", "sourceip-sourceport-destport":
		return mode, nil
	}
	return "", badParameter("Unknown hashmode \"%s\"", o.arg)
}

func readClusterMAC(o *optionCall) (string, error) {
	mac, err := parseMAC(o.arg)
	if err == nil && mac[0]&1 == 0 {
		err = badParameter("MAC has to be a multicast ethernet address")
	}
	return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]), err
}

// endClusterIP wants nothing, or all but the start of the hash.
func endClusterIP(v []goneValue) (string, error) {
	given := 0
	for _, needed := range v[:clusterIPHash] {
		if needed.given {
			given++
		}
	}
	switch {
	case given == clusterIPHash:
		hash := "0"
		if v[clusterIPHash].given {
			hash = v[clusterIPHash].text
		}
		return fmt.Sprintf(" CLUSTERIP hashmode=%s clustermac=%s total_nodes=%s local_node=%s hash_init=%s", v[clusterIPMode].text,
			v[clusterIPMAC].text, v[clusterIPTotal].text, v[clusterIPLocal].text, hash), nil
	case given > 0 || v[clusterIPHash].given:
		return "", badParameter("CLUSTERIP target: Invalid parameter combination")
	}
	return " CLUSTERIP", nil
}

// What ULOG's numbers may be.
const (
	maxULOGGroup     = 32
	maxULOGThreshold = 50
)

var ulogExtension = goneExtension("ULOG", netfilter.IPv4, endULOG,
	goneOption{optionSpec{name: "ulog-nlgroup"}, goneNumber(1, maxULOGGroup)},
	goneOption{optionSpec{name: "ulog-cprange"}, readULOGRange},
	goneOption{optionSpec{name: "ulog-qthreshold"}, goneNumber(1, maxULOGThreshold)},
	goneOption{optionSpec{name: "ulog-prefix"}, readULOGPrefix},
)

// readULOGRange reads the whole number that the kernel's structure has room for, of which the tool prints the lower half.
func readULOGRange(o *optionCall) (string, error) {
	n, err := o.number(0, math.MaxUint64)
	return strconv.FormatUint(uint64(uint32(n)), 10), err
}

func readULOGPrefix(o *optionCall) (string, error) {
	if err := wantLine(o); err != nil {
		return "", err
	}
	return fmt.Sprintf("\"%s\"", o.arg), nil
}

func endULOG(v []goneValue) (string, error) {
	values := [...]string{"1", "0", "1"}
	for i := range values {
		if v[i].given {
			values[i] = v[i].text
		}
	}
	said := fmt.Sprintf(" ULOG copy_range %s nlgroup %s", values[1], values[0])
	return string(v[3].append([]byte(said), "prefix")) + " queue_threshold " + values[2], nil
}
