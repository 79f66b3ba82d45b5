package fakeipt

import (
	"math"
	"strings"
	"syscall"

	"github.com/chainwalk/chainwalk/fakeipt/internal/libc"
)

// Gone is a match or a target that the tools ship and whose module the kernel has not: IPVS and LEDs are not built in,
// CLUSTERIP and ULOG no longer exist. The tools read its options and the kernel then refuses the rule, so nothing of
// them is kept.
type Gone struct {
	Extension string
}

// Name is the extension's name.
func (g *Gone) Name() string { return g.Extension }

func (*Gone) appendSave(dst []byte, _ Family, _ Dialect) []byte { return dst }

func (*Gone) appendList(dst []byte, _ listStyle) []byte { return dst }

func (g *Gone) check(c *checkContext) syscall.Errno { return g.absent(c.dialect) }

// absent: of nft the kernel takes a word for a target that stands for none.
func (g *Gone) absent(d Dialect) syscall.Errno {
	if g.Extension == standardTarget && d == NFT {
		return syscall.EINVAL
	}
	return syscall.ENOENT
}

// goneOption is an option and what the tools refuse of its value.
type goneOption struct {
	optionSpec
	read func(o *optionCall) error
}

// goneParser reads the options of one. finish says what the tools refuse of all of them.
type goneParser struct {
	extension *extension
	options   []goneOption
	refuse    func(seen uint32) error
}

func (*goneParser) begin(Family) {}

func (p *goneParser) option(o *optionCall) error {
	for i := range p.options {
		if p.options[i].name == o.name && p.options[i].read != nil {
			return p.options[i].read(o)
		}
	}
	return nil
}

func (p *goneParser) finished(seen uint32) (*Gone, error) {
	if p.refuse != nil {
		if err := p.refuse(seen); err != nil {
			return nil, err
		}
	}
	return &Gone{Extension: p.extension.name}, nil
}

type (
	goneMatchParser  struct{ goneParser }
	goneTargetParser struct{ goneParser }
)

func (p *goneMatchParser) finish(seen uint32) (Match, error) { return p.finished(seen) }

func (p *goneTargetParser) finish(seen uint32) (Target, error) { return p.finished(seen) }

// goneExtension is the extension of that name as a match and as a target: which it is, the registry says.
func goneExtension(name string, f Family, refuse func(seen uint32) error, options ...goneOption) *extension {
	e := &extension{name: name, onlyIn: f, gone: true}
	for _, o := range options {
		e.options = append(e.options, o.optionSpec)
	}
	p := goneParser{extension: e, options: options, refuse: refuse}
	e.newMatch = func() matchParser { return &goneMatchParser{p} }
	e.newTarget = func() targetParser { return &goneTargetParser{p} }
	return e
}

// inRange wants a number.
func inRange(low, high uint64) func(*optionCall) error {
	return func(o *optionCall) error {
		_, err := o.number(low, high)
		return err
	}
}

// amongWords wants one of some words; case does not matter.
func amongWords(words ...string) func(*optionCall) error {
	return func(o *optionCall) error {
		for _, word := range words {
			if strings.EqualFold(word, string(o.arg)) {
				return nil
			}
		}
		return o.badValue(o.arg)
	}
}

var ipvsExtension = goneExtension("ipvs", 0, refuseNoIPVS,
	goneOption{optionSpec{name: "ipvs", flag: true, invert: true}, nil},
	goneOption{optionSpec{name: "vproto", invert: true}, readGoneProtocol},
	goneOption{optionSpec{name: "vaddr", invert: true}, readGoneHost},
	goneOption{optionSpec{name: "vport", invert: true}, readGonePort},
	goneOption{optionSpec{name: "vdir"}, amongWords("ORIGINAL", "REPLY")},
	goneOption{optionSpec{name: "vmethod", invert: true}, amongWords("GATE", "IPIP", "MASQ")},
	goneOption{optionSpec{name: "vportctl", invert: true}, readGonePort},
)

func refuseNoIPVS(seen uint32) error {
	if seen == 0 {
		return badParameter("IPVS: At least one option is required")
	}
	return nil
}

func readGoneProtocol(o *optionCall) error {
	_, err := parseProtocol(o.arg)
	return err
}

func readGoneHost(o *optionCall) error {
	_, err := o.resolvedHostMask()
	return err
}

func readGonePort(o *optionCall) error {
	_, err := resolvedPort(o.arg)
	return err
}

// maxLEDTrigger is the length of a trigger's name.
const maxLEDTrigger = 16

var ledExtension = goneExtension("LED", 0, nil,
	goneOption{optionSpec{name: "led-trigger-id", mandatory: true}, readLEDTrigger},
	goneOption{optionSpec{name: "led-delay"}, readLEDDelay},
	goneOption{optionSpec{name: "led-always-blink", flag: true}, nil},
)

func readLEDTrigger(o *optionCall) error {
	if len(o.arg) > maxLEDTrigger {
		return badParameter("Argument must have a maximum length of %d characters\n", maxLEDTrigger)
	}
	return nil
}

func readLEDDelay(o *optionCall) error {
	if _, ok := libc.WholeNumber(o.arg, math.MaxUint32); !ok && !strings.EqualFold(string(o.arg), "inf") {
		return badParameter("Delay value must be within range 0..%d", uint32(math.MaxUint32))
	}
	return nil
}

// maxClusterIPNodes is the number of nodes that share an address.
const maxClusterIPNodes = 16

var clusteripExtension = goneExtension("CLUSTERIP", IPv4, refuseHalfClusterIP,
	goneOption{optionSpec{name: "new", flag: true}, nil},
	goneOption{optionSpec{name: "hashmode"}, readHashMode},
	goneOption{optionSpec{name: "clustermac"}, readClusterMAC},
	goneOption{optionSpec{name: "total-nodes"}, inRange(0, maxClusterIPNodes)},
	goneOption{optionSpec{name: "local-node"}, inRange(0, maxClusterIPNodes)},
	goneOption{optionSpec{name: "hash-init"}, inRange(0, math.MaxUint32)},
)

func readHashMode(o *optionCall) error {
	switch string(o.arg) {
	case "sourceip", "sourceip-sourceport", "sourceip-sourceport-destport":
		return nil
	}
	return badParameter("Unknown hashmode \"%s\"", o.arg)
}

func readClusterMAC(o *optionCall) error {
	mac, err := parseMAC(o.arg)
	if err == nil && mac[0]&1 == 0 {
		err = badParameter("MAC has to be a multicast ethernet address")
	}
	return err
}

// refuseHalfClusterIP wants nothing, or all but the start of the hash.
func refuseHalfClusterIP(seen uint32) error {
	const hashInit, new = 1 << 5, 1<<5 - 1
	if seen != 0 && seen&^hashInit != new {
		return badParameter("CLUSTERIP target: Invalid parameter combination")
	}
	return nil
}

// What ULOG's numbers may be.
const (
	maxULOGGroup     = 32
	maxULOGThreshold = 50
)

var ulogExtension = goneExtension("ULOG", IPv4, nil,
	goneOption{optionSpec{name: "ulog-nlgroup"}, inRange(1, maxULOGGroup)},
	goneOption{optionSpec{name: "ulog-cprange"}, inRange(0, math.MaxUint64)},
	goneOption{optionSpec{name: "ulog-qthreshold"}, inRange(1, maxULOGThreshold)},
	goneOption{optionSpec{name: "ulog-prefix"}, wantText},
)
