package fakeipt

import (
	"strings"
	"syscall"

	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// TargetReject is -j REJECT.
type TargetReject struct {
	With string // as it is saved: "icmp-port-unreachable", "tcp-reset", ...
}

// Name is "REJECT".
func (*TargetReject) Name() string { return "REJECT" }

func (t *TargetReject) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return append(append(dst, " --reject-with "...), t.With...)
}

func (t *TargetReject) appendList(dst []byte, _ listStyle) []byte {
	return append(append(dst, " reject-with "...), t.With...)
}

const rejectTCPReset = "tcp-reset"

func (t *TargetReject) check(c *checkContext) syscall.Errno {
	if t.With == rejectTCPReset && c.wantProto(libc.ProtoTCP) != 0 {
		return syscall.EINVAL
	}
	return c.wantTable("filter")
}

func (t *TargetReject) allowedHooks(bool) hookMask { return hookInput | hookForward | hookOutput }

// rejectName is a name of --reject-with and its short form.
type rejectName struct {
	name, alias string
}

// rejectNames4 and rejectNames6 are the answers of REJECT.
var (
	rejectNames4 = []rejectName{
		{"icmp-net-unreachable", "net-unreach"}, {"icmp-host-unreachable", "host-unreach"},
		{"icmp-proto-unreachable", "proto-unreach"}, {"icmp-port-unreachable", "port-unreach"},
		{"icmp-net-prohibited", "net-prohib"}, {"icmp-host-prohibited", "host-prohib"},
		{rejectTCPReset, "tcp-rst"}, {"icmp-admin-prohibited", "admin-prohib"},
	}
	rejectNames6 = []rejectName{
		{"icmp6-no-route", "no-route"}, {"icmp6-adm-prohibited", "adm-prohibited"},
		{"icmp6-addr-unreachable", "addr-unreach"}, {"icmp6-port-unreachable", "port-unreach"},
		{rejectTCPReset, "tcp-reset"}, {"icmp6-policy-fail", "policy-fail"}, {"icmp6-reject-route", "reject-route"},
	}
)

func (t *TargetReject) addFact(f *netfilter.Fact) { f.Reject = t.With }

var rejectExtension = &extension{
	name:      "REJECT",
	options:   []optionSpec{{name: "reject-with"}},
	newTarget: func() targetParser { return &rejectParser{} },
}

type rejectParser struct {
	t     TargetReject
	arena arena[TargetReject]
}

func (p *rejectParser) begin(f netfilter.Family) { p.t = TargetReject{With: factsOf(f).reject} }

func (p *rejectParser) option(o *optionCall) error {
	names := rejectNames4
	if o.family == netfilter.IPv6 {
		names = rejectNames6
	}
	arg := strings.ToLower(string(o.arg))
	for _, n := range names {
		// The tool takes any beginning of a name.
		if strings.HasPrefix(n.name, arg) || strings.HasPrefix(n.alias, arg) {
			p.t.With = n.name
			return nil
		}
	}
	const gone, alsoGone = "echo-reply", "echoreply" // names that arg may be short for
	if o.family == netfilter.IPv4 && (strings.HasPrefix(gone, arg) || strings.HasPrefix(alsoGone, arg)) {
		o.warn("--reject-with echo-reply no longer supported\n")
	}
	return badParameter("unknown reject type \"%s\"", o.arg)
}

func (p *rejectParser) finish(uint32) (Target, error) { return p.arena.intern(p.t), nil }
