package fakeipt

import (
	"bytes"
	"math"
	"strconv"
	"syscall"

	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// TargetTCPOptStrip is -j TCPOPTSTRIP: it takes options out of the TCP header. The packet goes on.
type TargetTCPOptStrip struct {
	options [4]uint64 // a bit for each number
}

// Strips says whether the TCP option of that number is taken out.
func (t *TargetTCPOptStrip) Strips(option uint8) bool {
	return t.options[option/64]&(1<<(option%64)) != 0
}

// Name is "TCPOPTSTRIP".
func (*TargetTCPOptStrip) Name() string { return "TCPOPTSTRIP" }

func (t *TargetTCPOptStrip) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	if t.options == [4]uint64{} {
		return dst
	}
	return t.appendOptions(append(dst, " --strip-options "...), true)
}

func (t *TargetTCPOptStrip) appendList(dst []byte, style listStyle) []byte {
	if t.options == [4]uint64{} {
		return dst
	}
	return t.appendOptions(append(dst, " TCPOPTSTRIP options "...), style.numeric)
}

func (t *TargetTCPOptStrip) appendOptions(dst []byte, numeric bool) []byte {
	between := ""
	for n := range uint(math.MaxUint8 + 1) {
		if !t.Strips(uint8(n)) {
			continue
		}
		dst, between = append(dst, between...), ","
		if name := tcpOptionName(uint8(n)); name != "" && !numeric {
			dst = append(dst, name...)
			continue
		}
		dst = strconv.AppendUint(dst, uint64(n), 10)
	}
	return dst
}

// tcpOptionNames are the names of TCP options.
var tcpOptionNames = [...]struct {
	name   string
	number uint8
}{{"mss", 2}, {"wscale", 3}, {"sack-permitted", 4}, {"sack", 5}, {"timestamp", 8}, {"md5", 19}}

// tcpOptionName is the name of an option, "" if it has none.
func tcpOptionName(number uint8) string {
	for _, n := range tcpOptionNames {
		if n.number == number {
			return n.name
		}
	}
	return ""
}

func (*TargetTCPOptStrip) check(c *checkContext) syscall.Errno {
	if c.wantProto(libc.ProtoTCP) != 0 {
		return syscall.EINVAL
	}
	return c.wantTable("mangle")
}

var tcpoptstripExtension = &extension{
	name:      "TCPOPTSTRIP",
	options:   []optionSpec{{name: "strip-options"}},
	newTarget: targetOf(valueParser[TargetTCPOptStrip]{read: (*TargetTCPOptStrip).read}),
}

func (t *TargetTCPOptStrip) read(o *optionCall) error {
	for word := range bytes.SplitSeq(o.arg, []byte(",")) {
		n, err := tcpOptionNumber(word)
		if err != nil {
			return err
		}
		if t.Strips(n) {
			return badParameter("Option \"%s\" already specified", word)
		}
		t.options[n/64] |= 1 << (n % 64)
	}
	return nil
}

// tcpOptionNumber reads a name or a number. The options 0 and 1 are only there to fill the header.
func tcpOptionNumber(word []byte) (uint8, error) {
	for _, n := range tcpOptionNames {
		if n.name == string(word) {
			return n.number, nil
		}
	}
	n, ok := libc.WholeNumber(word, math.MaxUint8)
	switch {
	case !ok:
		return 0, badParameter("Bad TCP option value \"%s\"", word)
	case n < 2:
		return 0, badParameter("Option value may not be 0 or 1")
	}
	return uint8(n), nil
}
