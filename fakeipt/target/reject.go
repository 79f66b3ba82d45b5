package target

import (
	"strings"
	"syscall"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// Reject is -j REJECT.
type Reject struct {
	With string // as it is saved: "icmp-port-unreachable", "tcp-reset", ...
}

// Name is "REJECT".
func (*Reject) Name() string { return "REJECT" }

func (t *Reject) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return append(append(dst, " --reject-with "...), t.With...)
}

func (t *Reject) AppendList(dst []byte, _ xtables.ListStyle) []byte {
	return append(append(dst, " reject-with "...), t.With...)
}

const rejectTCPReset = "tcp-reset"

func (t *Reject) Check(c *xtables.CheckContext) syscall.Errno {
	if t.With == rejectTCPReset && c.WantProto(libc.ProtoTCP) != 0 {
		return syscall.EINVAL
	}
	return c.WantTable("filter")
}

func (t *Reject) AllowedHooks(bool) xtables.HookMask {
	return xtables.HookInput | xtables.HookForward | xtables.HookOutput
}

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

func (t *Reject) AddFact(f *netfilter.Fact) { f.Reject = t.With }

var rejectExtension = &xtables.Extension{
	Name:      "REJECT",
	Options:   []xtables.Option{{Name: "reject-with"}},
	NewTarget: func() xtables.TargetParser { return &rejectParser{} },
}

type rejectParser struct {
	t     Reject
	arena xtables.Arena[Reject]
}

func (p *rejectParser) Begin(f netfilter.Family) { p.t = Reject{With: xtables.FactsOf(f).Reject} }

func (p *rejectParser) Option(o *xtables.OptionCall) error {
	names := rejectNames4
	if o.Family == netfilter.IPv6 {
		names = rejectNames6
	}
	arg := strings.ToLower(string(o.Arg))
	for _, n := range names {
		// The tool takes any beginning of a name.
		if strings.HasPrefix(n.name, arg) || strings.HasPrefix(n.alias, arg) {
			p.t.With = n.name
			return nil
		}
	}
	const gone, alsoGone = "echo-reply", "echoreply" // names that arg may be short for
	if o.Family == netfilter.IPv4 && (strings.HasPrefix(gone, arg) || strings.HasPrefix(alsoGone, arg)) {
		o.Warn("--reject-with echo-reply no longer supported\n")
	}
	return xtables.BadParameter("unknown reject type \"%s\"", o.Arg)
}

func (p *rejectParser) Finish(uint32) (xtables.Target, error) { return p.arena.Intern(p.t), nil }
