package match

import (
	"fmt"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
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

var ipvsExtension = xtables.NewGone("ipvs", 0, endIPVS,
	xtables.GoneOption{Option: xtables.Option{Name: "ipvs", Flag: true, Invert: true}, Read: nil},
	xtables.GoneOption{Option: xtables.Option{Name: "vproto", Invert: true}, Read: readIPVSProtocol},
	xtables.GoneOption{Option: xtables.Option{Name: "vaddr", Invert: true}, Read: readIPVSHost},
	xtables.GoneOption{Option: xtables.Option{Name: "vport", Invert: true}, Read: readIPVSPort},
	xtables.GoneOption{Option: xtables.Option{Name: "vdir"}, Read: xtables.GoneWord("ORIGINAL", "REPLY")},
	xtables.GoneOption{Option: xtables.Option{Name: "vmethod", Invert: true}, Read: xtables.GoneWord("GATE", "IPIP", "MASQ")},
	xtables.GoneOption{Option: xtables.Option{Name: "vportctl", Invert: true}, Read: readIPVSPort},
)

func endIPVS(v []xtables.GoneValue) (string, error) {
	var others []byte
	for i, word := range [...]string{ipvsProto: "vproto", ipvsAddr: "vaddr", ipvsPort: "vport", ipvsDir: "vdir", ipvsMethod: "vmethod",
		ipvsPortControl: "vportctl"} {
		if i != ipvsAny {
			others = v[i].Append(others, word)
		}
	}
	switch any := v[ipvsAny]; {
	case len(others) == 0 && !any.Given:
		return "", xtables.BadParameter("IPVS: At least one option is required")
	case len(others) == 0:
		return string(any.Append(nil, "ipvs")), nil
	case any.Inverts:
		return "", xtables.BadParameter("! --ipvs cannot be together with other options")
	}
	return string(others), nil
}

func readIPVSProtocol(o *xtables.OptionCall) (string, error) {
	n, err := xtables.ParseProtocol(o.Arg)
	return fmt.Sprint(uint8(n)), err
}

func readIPVSHost(o *xtables.OptionCall) (string, error) {
	m, err := o.ResolvedHostMask()
	if err != nil {
		return "", err
	}
	return string(xtables.ListStyle{Numeric: true}.AppendNetwork(nil, &m)), nil
}

func readIPVSPort(o *xtables.OptionCall) (string, error) {
	n, err := xtables.ResolvedPort(o.Arg)
	return fmt.Sprint(n), err
}
