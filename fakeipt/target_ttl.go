package fakeipt

import (
	"fmt"
	"math"
	"strings"
	"syscall"

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

// TargetTTL is -j TTL, and with V6 set -j HL: it changes how many routers the packet may still pass. The packet goes on.
type TargetTTL struct {
	V6     bool
	Change TTLChange
	Value  uint8
}

// Name is "TTL" or "HL".
func (t *TargetTTL) Name() string {
	if t.V6 {
		return "HL"
	}
	return "TTL"
}

func (t *TargetTTL) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return fmt.Appendf(dst, " --%s-%s %d", strings.ToLower(t.Name()), [...]string{"set", "dec", "inc"}[t.Change], t.Value)
}

func (t *TargetTTL) appendList(dst []byte, _ listStyle) []byte {
	return fmt.Appendf(dst, " %s %s %d", t.Name(), [...]string{"set to", "decrement by", "increment by"}[t.Change], t.Value)
}

func (*TargetTTL) check(c *checkContext) syscall.Errno { return c.wantTable("mangle") }

var (
	ttlTargetExtension = &extension{name: "TTL", onlyIn: netfilter.IPv4, newTarget: newTTLTarget, options: []optionSpec{
		{name: "ttl-set", excludes: 6}, {name: "ttl-dec", rank: 2, excludes: 5}, {name: "ttl-inc", rank: 1, excludes: 3},
	}}
	hlTargetExtension = &extension{name: "HL", onlyIn: netfilter.IPv6, newTarget: newTTLTarget, options: []optionSpec{
		{name: "hl-set", excludes: 6}, {name: "hl-dec", rank: 2, excludes: 5}, {name: "hl-inc", rank: 1, excludes: 3},
	}}
)

var newTTLTarget = targetOf(valueParser[TargetTTL]{
	start: func(f netfilter.Family) TargetTTL { return TargetTTL{V6: f == netfilter.IPv6} },
	read:  (*TargetTTL).read,
	whole: (*TargetTTL).whole,
})

func (t *TargetTTL) read(o *optionCall) error {
	least := uint64(1)
	switch _, kind, _ := strings.Cut(o.name, "-"); kind {
	case "set":
		t.Change, least = TTLSet, 0
	case "dec":
		t.Change = TTLDecrement
	default:
		t.Change = TTLIncrement
	}
	n, err := o.number(least, math.MaxUint8)
	t.Value = uint8(n)
	return err
}

func (t *TargetTTL) whole(seen uint32) error {
	if seen == 0 {
		return badParameter("%s: You must specify an action", t.Name())
	}
	return nil
}
