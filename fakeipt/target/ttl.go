package target

import (
	"fmt"
	"math"
	"strings"
	"syscall"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// TTLChange is what -j TTL and -j HL do.
type TTLChange uint8

// The changes: to a number, or by one. The result stays between 0 and 255.
const (
	TTLSet TTLChange = iota
	TTLDecrement
	TTLIncrement
)

// TTL is -j TTL, and with V6 set -j HL: it changes how many routers the packet may still pass. The packet goes on.
type TTL struct {
	V6     bool
	Change TTLChange
	Value  uint8
}

// Name is "TTL" or "HL".
func (t *TTL) Name() string {
	if t.V6 {
		return "HL"
	}
	return "TTL"
}

func (t *TTL) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return fmt.Appendf(dst, " --%s-%s %d", strings.ToLower(t.Name()), [...]string{"set", "dec", "inc"}[t.Change], t.Value)
}

func (t *TTL) AppendList(dst []byte, _ xtables.ListStyle) []byte {
	return fmt.Appendf(dst, " %s %s %d", t.Name(), [...]string{"set to", "decrement by", "increment by"}[t.Change], t.Value)
}

func (*TTL) Check(c *xtables.CheckContext) syscall.Errno { return c.WantTable("mangle") }

var (
	ttlExtension = &xtables.Extension{Name: "TTL", OnlyIn: netfilter.IPv4, NewTarget: newTTLTarget, Options: []xtables.Option{
		{Name: "ttl-set", Excludes: 6}, {Name: "ttl-dec", Rank: 2, Excludes: 5}, {Name: "ttl-inc", Rank: 1, Excludes: 3},
	}}
	hlExtension = &xtables.Extension{Name: "HL", OnlyIn: netfilter.IPv6, NewTarget: newTTLTarget, Options: []xtables.Option{
		{Name: "hl-set", Excludes: 6}, {Name: "hl-dec", Rank: 2, Excludes: 5}, {Name: "hl-inc", Rank: 1, Excludes: 3},
	}}
)

var newTTLTarget = xtables.TargetOf(xtables.ValueParser[TTL]{
	Start: func(f netfilter.Family) TTL { return TTL{V6: f == netfilter.IPv6} },
	Read:  (*TTL).read,
	Whole: (*TTL).whole,
})

func (t *TTL) read(o *xtables.OptionCall) error {
	least := uint64(1)
	switch _, kind, _ := strings.Cut(o.Name, "-"); kind {
	case "set":
		t.Change, least = TTLSet, 0
	case "dec":
		t.Change = TTLDecrement
	default:
		t.Change = TTLIncrement
	}
	n, err := o.Number(least, math.MaxUint8)
	t.Value = uint8(n)
	return err
}

func (t *TTL) whole(seen uint32) error {
	if seen == 0 {
		return xtables.BadParameter("%s: You must specify an action", t.Name())
	}
	return nil
}
