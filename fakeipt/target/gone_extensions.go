package target

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// maxLEDTrigger is the length of a trigger's name.
const maxLEDTrigger = 16

var ledExtension = xtables.NewGone("LED", 0, endLED,
	xtables.GoneOption{Option: xtables.Option{Name: "led-trigger-id", Mandatory: true}, Read: readLEDTrigger},
	xtables.GoneOption{Option: xtables.Option{Name: "led-delay"}, Read: readLEDDelay},
	xtables.GoneOption{Option: xtables.Option{Name: "led-always-blink", Flag: true}, Read: nil},
)

func readLEDTrigger(o *xtables.OptionCall) (string, error) {
	if len(o.Arg) > maxLEDTrigger {
		return "", xtables.BadParameter("Argument must have a maximum length of %d characters\n", maxLEDTrigger)
	}
	return string(o.Arg), nil
}

func readLEDDelay(o *xtables.OptionCall) (string, error) {
	if strings.EqualFold(string(o.Arg), "inf") {
		return "inf", nil
	}
	n, ok := libc.WholeNumber(o.Arg, math.MaxUint32)
	if !ok {
		return "", xtables.BadParameter("Delay value must be within range 0..%d", uint32(math.MaxUint32))
	}
	if n == math.MaxUint32 {
		return "inf", nil
	}
	return fmt.Sprintf("%dms", int32(n)), nil // the tool prints it with a sign
}

func endLED(v []xtables.GoneValue) (string, error) {
	delay := "0ms"
	if v[1].Given {
		delay = v[1].Text
	}
	return fmt.Sprintf(" led-trigger-id:\"%s\" led-delay:%s", v[0].Text, delay) + string(v[2].Append(nil, "led-always-blink")), nil
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

var clusteripExtension = xtables.NewGone("CLUSTERIP", netfilter.IPv4, endClusterIP,
	xtables.GoneOption{Option: xtables.Option{Name: "new", Flag: true}, Read: nil},
	xtables.GoneOption{Option: xtables.Option{Name: "hashmode"}, Read: readHashMode},
	xtables.GoneOption{Option: xtables.Option{Name: "clustermac"}, Read: readClusterMAC},
	xtables.GoneOption{Option: xtables.Option{Name: "total-nodes"}, Read: xtables.GoneNumber(0, maxClusterIPNodes)},
	xtables.GoneOption{Option: xtables.Option{Name: "local-node"}, Read: xtables.GoneNumber(0, maxClusterIPNodes)},
	xtables.GoneOption{Option: xtables.Option{Name: "hash-init"}, Read: xtables.GoneNumber(0, math.MaxUint32)},
)

func readHashMode(o *xtables.OptionCall) (string, error) {
	switch mode := string(o.Arg); mode {
	case "sourceip", "sourceip-sourceport", "sourceip-sourceport-destport":
		return mode, nil
	}
	return "", xtables.BadParameter("Unknown hashmode \"%s\"", o.Arg)
}

func readClusterMAC(o *xtables.OptionCall) (string, error) {
	mac, err := xtables.ParseMAC(o.Arg)
	if err == nil && mac[0]&1 == 0 {
		err = xtables.BadParameter("MAC has to be a multicast ethernet address")
	}
	return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]), err
}

// endClusterIP wants nothing, or all but the start of the hash.
func endClusterIP(v []xtables.GoneValue) (string, error) {
	given := 0
	for _, needed := range v[:clusterIPHash] {
		if needed.Given {
			given++
		}
	}
	switch {
	case given == clusterIPHash:
		hash := "0"
		if v[clusterIPHash].Given {
			hash = v[clusterIPHash].Text
		}
		return fmt.Sprintf(" CLUSTERIP hashmode=%s clustermac=%s total_nodes=%s local_node=%s hash_init=%s", v[clusterIPMode].Text,
			v[clusterIPMAC].Text, v[clusterIPTotal].Text, v[clusterIPLocal].Text, hash), nil
	case given > 0 || v[clusterIPHash].Given:
		return "", xtables.BadParameter("CLUSTERIP target: Invalid parameter combination")
	}
	return " CLUSTERIP", nil
}

// What ULOG's numbers may be.
const (
	maxULOGGroup     = 32
	maxULOGThreshold = 50
)

var ulogExtension = xtables.NewGone("ULOG", netfilter.IPv4, endULOG,
	xtables.GoneOption{Option: xtables.Option{Name: "ulog-nlgroup"}, Read: xtables.GoneNumber(1, maxULOGGroup)},
	xtables.GoneOption{Option: xtables.Option{Name: "ulog-cprange"}, Read: readULOGRange},
	xtables.GoneOption{Option: xtables.Option{Name: "ulog-qthreshold"}, Read: xtables.GoneNumber(1, maxULOGThreshold)},
	xtables.GoneOption{Option: xtables.Option{Name: "ulog-prefix"}, Read: readULOGPrefix},
)

// readULOGRange reads the whole number that the kernel's structure has room for, of which the tool prints the lower half.
func readULOGRange(o *xtables.OptionCall) (string, error) {
	n, err := o.Number(0, math.MaxUint64)
	return strconv.FormatUint(uint64(uint32(n)), 10), err
}

func readULOGPrefix(o *xtables.OptionCall) (string, error) {
	if err := xtables.WantLine(o); err != nil {
		return "", err
	}
	return fmt.Sprintf("\"%s\"", o.Arg), nil
}

func endULOG(v []xtables.GoneValue) (string, error) {
	values := [...]string{"1", "0", "1"}
	for i := range values {
		if v[i].Given {
			values[i] = v[i].Text
		}
	}
	said := fmt.Sprintf(" ULOG copy_range %s nlgroup %s", values[1], values[0])
	return string(v[3].Append([]byte(said), "prefix")) + " queue_threshold " + values[2], nil
}
