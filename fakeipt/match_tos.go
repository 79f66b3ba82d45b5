package fakeipt

import (
	"fmt"
	"math"
	"strings"

	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// MatchTOS is -m tos: the byte of the IP header that was called type of service (of IPv6: traffic class) under Mask is Value.
type MatchTOS struct {
	Value, Mask uint8
	Invert      bool
}

// Name is "tos".
func (*MatchTOS) Name() string { return "tos" }

func (m *MatchTOS) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return appendTOS(append(appendOption(dst, "--tos", m.Invert), ' '), m.Value, m.Mask)
}

func (m *MatchTOS) appendList(dst []byte, style listStyle) []byte {
	dst = append(append(dst, " tos match"...), bang(m.Invert)...)
	if name := tosName(m.Value, m.Mask); name != "" && !style.numeric {
		return append(append(dst, ' '), name...)
	}
	return appendTOS(dst, m.Value, m.Mask)
}

func appendTOS(dst []byte, value, mask uint8) []byte {
	return fmt.Appendf(dst, "0x%02x/0x%02x", value, mask)
}

// tosNamed is the mask of the values that have names: those of RFC 1349, without the bit above them.
const tosNamed = 0x3f

var tosNames = [...]struct {
	name  string
	value uint8
}{{"Minimize-Delay", 0x10}, {"Maximize-Throughput", 0x08}, {"Maximize-Reliability", 0x04}, {"Minimize-Cost", 0x02}, {"Normal-Service", 0}}

// tosName is the name of a value, "" if it has none.
func tosName(value, mask uint8) string {
	for _, n := range tosNames {
		if n.value == value && mask == tosNamed {
			return n.name
		}
	}
	return ""
}

// tos reads "VALUE[/MASK]" or a name.
func (o *optionCall) tos() (value, mask uint8, err error) {
	v, rest, ok := libc.CutNumber(o.arg)
	if !ok || v > math.MaxUint8 {
		for _, n := range tosNames {
			if strings.EqualFold(n.name, string(o.arg)) {
				return n.value, tosNamed, nil
			}
		}
		return 0, 0, badParameter("Symbolic name \"%s\" is unknown", o.arg)
	}
	m := uint64(math.MaxUint8)
	if len(rest) > 0 && rest[0] == '/' {
		m, rest, ok = libc.CutNumber(rest[1:])
	}
	if !ok || m > math.MaxUint8 || len(rest) > 0 {
		return 0, 0, badParameter("Illegal value: \"%s\"", o.arg)
	}
	return uint8(v), uint8(m), nil
}

var tosExtension = &extension{
	name:     "tos",
	options:  []optionSpec{{name: "tos", invert: true, mandatory: true}},
	newMatch: matchOf(valueParser[MatchTOS]{read: (*MatchTOS).read}),
}

func (m *MatchTOS) read(o *optionCall) (err error) {
	m.Value, m.Mask, err = o.tos()
	m.Invert = o.invert
	return err
}
