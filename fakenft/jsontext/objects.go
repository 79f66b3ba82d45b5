package jsontext

import (
	"strconv"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

var objectTypes = map[syntax.Kind]expr.ObjectType{
	syntax.KindCounter: expr.ObjectCounter, syntax.KindQuota: expr.ObjectQuota, syntax.KindLimit: expr.ObjectLimit,
	syntax.KindCTHelper: expr.ObjectCTHelper, syntax.KindCTTimeout: expr.ObjectCTTimeout, syntax.KindCTExpectation: expr.ObjectCTExpect,
	syntax.KindSecmark: expr.ObjectSecmark,
}

// object reads a named object.
func (r *reader) object(v *value, c *syntax.Command) bool {
	var family string
	h := &c.Handle
	if !r.unpack(v, "{s:s, s:s}", "family", &family, "table", &h.Table) {
		return false
	}
	adds := c.Op == syntax.OpAdd || c.Op == syntax.OpCreate
	switch {
	case c.Op != syntax.OpDelete:
		if !r.unpack(v, "{s:s}", "name", &h.Name) {
			return false
		}
	case !nameOrHandle(v, &h.Name, h):
		return r.wrong("Either name or handle required to delete an object.")
	}
	if !r.family(family, h) {
		return false
	}
	if !adds {
		return true
	}
	o := &syntax.ObjectDecl{Loc: nowhere, Handle: *h, Type: objectTypes[c.Kind]}
	o.HasComment = is(v, "{s:s}", "comment", &o.Comment)
	c.Object = o
	return r.objectBody(v, o)
}

func (r *reader) objectBody(v *value, o *syntax.ObjectDecl) bool {
	switch o.Type {
	case expr.ObjectCounter:
		o.Counter = &syntax.Counter{At: at(), HasValue: true}
		number64(v, "packets", &o.Counter.Packets)
		number64(v, "bytes", &o.Counter.Bytes)
	case expr.ObjectQuota:
		o.Quota = &syntax.QuotaStmt{At: at()}
		number64(v, "bytes", &o.Quota.Bytes)
		number64(v, "used", &o.Quota.Used)
		is(v, "{s:b}", "inv", &o.Quota.Over)
	case expr.ObjectLimit:
		return r.limitDecl(v, o)
	case expr.ObjectSecmark:
		return r.secmark(v, o)
	case expr.ObjectCTHelper:
		return r.helper(v, o)
	case expr.ObjectCTTimeout:
		return r.timeout(v, o)
	case expr.ObjectCTExpect:
		return r.expectation(v, o)
	}
	return true
}

func at() syntax.At { return syntax.At{Loc: nowhere} }

// secondsOf has the units of a limit in seconds. Any other word is read as a number of seconds.
func secondsOf(unit string) uint64 {
	switch unit {
	case "second":
		return 1
	case "minute":
		return 60
	case "hour":
		return 3600
	case "day":
		return 86400
	case "week":
		return 604800
	}
	n, _ := strconv.ParseUint(unit, 10, 64)
	return n
}

// factor is how many bytes a unit has; 0 for one of packets.
func factor(unit string) uint64 {
	switch unit {
	case "bytes":
		return 1
	case "kbytes":
		return 1024
	case "mbytes":
		return 1024 * 1024
	}
	return 0
}

func (r *reader) limitDecl(v *value, o *syntax.ObjectDecl) bool {
	var rate int64
	var per string
	if !r.unpack(v, "{s:I, s:s}", "rate", &rate, "per", &per) {
		return false
	}
	l := &syntax.LimitStmt{At: at(), Rate: uint64(rate), Unit: secondsOf(per)}
	o.Limit = l
	readLimitRest(v, l)
	return true
}

// readLimitRest reads what a limit may have beside its rate.
func readLimitRest(v *value, l *syntax.LimitStmt) {
	var burst int64
	rateUnit, burstUnit := "packets", "bytes"
	is(v, "{s:s}", "rate_unit", &rateUnit)
	is(v, "{s:b}", "inv", &l.Over)
	hasBurst := is(v, "{s:i}", "burst", &burst)
	is(v, "{s:s}", "burst_unit", &burstUnit)
	l.Burst = uint32(burst)
	if rateUnit == "packets" {
		if !hasBurst {
			l.Burst = 5
		}
		return
	}
	l.Bytes = true
	if n := factor(rateUnit); n != 0 {
		l.Rate *= n
	}
	if n := factor(burstUnit); n != 0 {
		l.Burst *= uint32(n)
	}
}

// longestContext is how long a context of SELinux may be.
const longestContext = 4096

func (r *reader) secmark(v *value, o *syntax.ObjectDecl) bool {
	var context string
	if !is(v, "{s:s}", "context", &context) {
		return true
	}
	if len(context) >= longestContext {
		return r.wrong("Invalid secmark context '%s', max length is %d.", context, longestContext)
	}
	o.Options = append(o.Options, [2]string{"context", context})
	return true
}

func (r *reader) helper(v *value, o *syntax.ObjectDecl) bool {
	var kind, protocol, l3proto string
	if is(v, "{s:s}", "type", &kind) {
		if len(kind) >= 16 {
			return r.wrong("Invalid CT helper type '%s', max length is %d.", kind, 16)
		}
		o.Options = append(o.Options, [2]string{"type", kind})
	}
	if is(v, "{s:s}", "protocol", &protocol) {
		if protocol != "tcp" && protocol != "udp" {
			return r.wrong("Invalid ct helper protocol '%s'.", protocol)
		}
		o.Options = append(o.Options, [2]string{"protocol", protocol})
	}
	if is(v, "{s:s}", "l3proto", &l3proto) {
		if _, ok := familyNamed(l3proto); !ok {
			return r.wrong("Invalid ct helper l3proto '%s'.", l3proto)
		}
		o.Options = append(o.Options, [2]string{"l3proto", l3proto})
	}
	return true
}

// protocols reads the two protocols of a timeout or an expectation.
func (r *reader) protocols(v *value, o *syntax.ObjectDecl, what string) bool {
	var protocol, l3proto string
	if is(v, "{s:s}", "protocol", &protocol) {
		if protocol != "tcp" && protocol != "udp" {
			return r.wrong("Invalid ct %s protocol '%s'.", what, protocol)
		}
		o.Options = append(o.Options, [2]string{"protocol", protocol})
	}
	if is(v, "{s:s}", "l3proto", &l3proto) {
		if _, ok := familyNamed(l3proto); !ok {
			return r.wrong("Invalid ct %s l3proto '%s'.", what, l3proto)
		}
		o.Options = append(o.Options, [2]string{"l3proto", l3proto})
	}
	return true
}

func (r *reader) timeout(v *value, o *syntax.ObjectDecl) bool {
	if !r.protocols(v, o, "timeout") {
		return false
	}
	policy := v.get("policy")
	if policy == nil {
		return r.wrong("Invalid ct timeout policy.")
	}
	if policy.kind != object {
		return true
	}
	for i := range policy.items {
		state := &policy.items[i]
		if state.kind != integer {
			return r.wrong("Invalid ct timeout policy value for '%s'.", state.key)
		}
		o.Options = append(o.Options, [2]string{state.key, strconv.FormatInt(state.num, 10)})
	}
	return true
}

func (r *reader) expectation(v *value, o *syntax.ObjectDecl) bool {
	if !r.protocols(v, o, "expectation") {
		return false
	}
	for _, name := range [...]string{"dport", "timeout", "size"} {
		var n int64
		if is(v, "{s:i}", name, &n) {
			o.Options = append(o.Options, [2]string{name, strconv.FormatInt(n, 10)})
		}
	}
	return true
}
