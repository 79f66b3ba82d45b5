package target

import (
	"bytes"
	"math"
	"strconv"
	"syscall"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// TCPOptStrip is -j TCPOPTSTRIP: it takes options out of the TCP header. The packet goes on.
type TCPOptStrip struct {
	options [4]uint64 // a bit for each number
}

// Strips says whether the TCP option of that number is taken out.
func (t *TCPOptStrip) Strips(option uint8) bool {
	return t.options[option/64]&(1<<(option%64)) != 0
}

// Name is "TCPOPTSTRIP".
func (*TCPOptStrip) Name() string { return "TCPOPTSTRIP" }

func (t *TCPOptStrip) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	if t.options == [4]uint64{} {
		return dst
	}
	return t.appendOptions(append(dst, " --strip-options "...), true)
}

func (t *TCPOptStrip) AppendList(dst []byte, style xtables.ListStyle) []byte {
	if t.options == [4]uint64{} {
		return dst
	}
	return t.appendOptions(append(dst, " TCPOPTSTRIP options "...), style.Numeric)
}

func (t *TCPOptStrip) appendOptions(dst []byte, numeric bool) []byte {
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

func (*TCPOptStrip) Check(c *xtables.CheckContext) syscall.Errno {
	if c.WantProto(libc.ProtoTCP) != 0 {
		return syscall.EINVAL
	}
	return c.WantTable("mangle")
}

var tcpoptstripExtension = &xtables.Extension{
	Name:      "TCPOPTSTRIP",
	Options:   []xtables.Option{{Name: "strip-options"}},
	NewTarget: xtables.TargetOf(xtables.ValueParser[TCPOptStrip]{Read: (*TCPOptStrip).read}),
}

func (t *TCPOptStrip) read(o *xtables.OptionCall) error {
	for word := range bytes.SplitSeq(o.Arg, []byte(",")) {
		n, err := tcpOptionNumber(word)
		if err != nil {
			return err
		}
		if t.Strips(n) {
			return xtables.BadParameter("Option \"%s\" already specified", word)
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
		return 0, xtables.BadParameter("Bad TCP option value \"%s\"", word)
	case n < 2:
		return 0, xtables.BadParameter("Option value may not be 0 or 1")
	}
	return uint8(n), nil
}
