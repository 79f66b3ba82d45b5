package print

import (
	"strconv"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// objectDecl prints a named object.
func (p *tablePrinter) objectDecl(o *syntax.ObjectDecl) {
	p.b = append(p.b, '\t')
	p.str(objectWord(o.Type))
	p.b = append(p.b, ' ')
	p.str(o.Handle.Name)
	p.str(" {")
	p.stmts.handle(o.Handle.Number)
	p.b = append(p.b, '\n')
	p.comment(o.Comment, o.HasComment)
	p.objectBody(o)
	p.str("\t}\n")
}

func (p *tablePrinter) objectBody(o *syntax.ObjectDecl) {
	switch o.Type {
	case expr.ObjectCounter:
		if !p.Stateless {
			p.str("\t\t")
			p.stmts.counted(o.Counter)
			p.b = append(p.b, '\n')
		}
	case expr.ObjectQuota:
		p.str("\t\t")
		p.stmts.quota(o.Quota)
		p.b = append(p.b, '\n')
	case expr.ObjectLimit:
		p.str("\t\t")
		p.stmts.limit(o.Limit)
		p.b = append(p.b, '\n')
	case expr.ObjectSynproxy:
		p.synproxyDecl(o.Synproxy)
	case expr.ObjectCTHelper:
		p.str("\t\ttype \"")
		p.str(option(o, "type"))
		p.str("\" protocol ")
		p.str(option(o, "protocol"))
		p.b = append(p.b, '\n')
		p.option(o, "l3proto")
	case expr.ObjectCTTimeout:
		p.option(o, "protocol")
		p.option(o, "l3proto")
		p.policies(o)
	case expr.ObjectCTExpect:
		p.option(o, "protocol")
		p.option(o, "dport")
		p.time("timeout", number(option(o, "timeout")))
		p.option(o, "size")
		p.option(o, "l3proto")
	case expr.ObjectSecmark:
		p.str("\t\t\"")
		p.str(option(o, "context"))
		p.str("\"\n")
	default:
		unsupported("an object of kind %d", o.Type)
	}
}

func (p *tablePrinter) synproxyDecl(s *syntax.SynproxyStmt) {
	if s.Flags&synproxyMSS != 0 {
		p.str("\t\tmss ")
		p.uint(uint64(s.MSS))
		p.b = append(p.b, '\n')
	}
	if s.Flags&synproxyWscale != 0 {
		p.str("\t\twscale ")
		p.uint(uint64(s.Wscale))
		p.b = append(p.b, '\n')
	}
	if s.Flags&(synproxyTimestamp|synproxySackPerm) == 0 {
		return
	}
	p.str("\t\t")
	if s.Flags&synproxyTimestamp != 0 {
		p.str("timestamp")
	}
	p.b = append(p.b, ' ')
	if s.Flags&synproxySackPerm != 0 {
		p.str("sack-perm")
	}
	p.b = append(p.b, '\n')
}

// option is the value of an option of an object. The names are type, protocol, l3proto, dport, timeout (in milliseconds), size, context and
// those of states of connections, whose time in seconds a ct timeout says.
func option(o *syntax.ObjectDecl, name string) string {
	for i := range o.Options {
		if o.Options[i][0] == name {
			return o.Options[i][1]
		}
	}
	return ""
}

func (p *tablePrinter) option(o *syntax.ObjectDecl, name string) {
	p.str("\t\t")
	p.str(name)
	p.b = append(p.b, ' ')
	p.str(option(o, name))
	p.b = append(p.b, '\n')
}

func number(s string) uint64 {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		unsupported("%q as a number of an object", s)
	}
	return n
}

// timeouts are the options of a ct timeout that are states.
func timeouts(o *syntax.ObjectDecl) (states [][2]string) {
	for _, option := range o.Options {
		if option[0] != "protocol" && option[0] != "l3proto" {
			states = append(states, option)
		}
	}
	return states
}

func (p *tablePrinter) policies(o *syntax.ObjectDecl) {
	p.str("\t\tpolicy = { ")
	for i, state := range timeouts(o) {
		if i > 0 {
			p.str(", ")
		}
		p.str(state[0])
		p.str(" : ")
		p.str(state[1])
	}
	p.str(" }\n")
}

// The flags of flowtables (NFT_FLOWTABLE_*).
const (
	flowtableOffload = 1
	flowtableCounter = 2
)

func (p *tablePrinter) flowtable(f *syntax.FlowtableDecl) {
	p.str("\tflowtable ")
	p.str(f.Handle.Name)
	p.str(" {")
	p.stmts.handle(f.Handle.Number)
	p.b = append(p.b, '\n')
	if f.Hook != nil {
		p.str("\t\thook ")
		p.str(f.Hook.Hook)
		p.str(" priority ")
		p.priority(f.Hook)
		p.b = append(p.b, '\n')
		p.str("\t\tdevices = { ")
		p.names(f.Hook.DeviceNames)
		p.str(" }\n")
	}
	if f.Flags&flowtableOffload != 0 {
		p.str("\t\tflags offload\n")
	}
	if f.Flags&flowtableCounter != 0 {
		p.str("\t\tcounter\n")
	}
	p.str("\t}\n")
}
