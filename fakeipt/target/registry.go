package target

import (
	"iter"
	"maps"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// extensions are the targets of -j, by name. The verdicts and chains are not among them.
var extensions = map[string]*xtables.Extension{
	"AUDIT":       auditExtension,
	"CHECKSUM":    checksumExtension,
	"CLASSIFY":    classifyExtension,
	"CLUSTERIP":   clusteripExtension,
	"CONNMARK":    connmarkExtension,
	"CONNSECMARK": connsecmarkExtension,
	"CT":          ctExtension,
	"DNAT":        dnatExtension,
	"DNPT":        dnptExtension,
	"DSCP":        dscpExtension,
	"ECN":         ecnExtension,
	"HL":          hlExtension,
	"HMARK":       hmarkExtension,
	"IDLETIMER":   idletimerExtension,
	"LED":         ledExtension,
	"LOG":         logExtension,
	"MARK":        markExtension,
	"MASQUERADE":  masqueradeExtension,
	"NETMAP":      netmapExtension,
	"NFLOG":       nflogExtension,
	"NFQUEUE":     nfqueueExtension,
	"NOTRACK":     notrackExtension,
	"RATEEST":     rateestExtension,
	"REDIRECT":    redirectExtension,
	"REJECT":      rejectExtension,
	"SECMARK":     secmarkExtension,
	"SET":         setExtension,
	"SNAT":        snatExtension,
	"SNPT":        snptExtension,
	"SYNPROXY":    synproxyExtension,
	"TCPMSS":      tcpmssExtension,
	"TCPOPTSTRIP": tcpoptstripExtension,
	"TEE":         teeExtension,
	"TOS":         tosExtension,
	"TPROXY":      tproxyExtension,
	"TRACE":       traceExtension,
	"TTL":         ttlExtension,
	"ULOG":        ulogExtension,

	xtables.StandardTarget: xtables.StandardExtension,
}

// Find returns the target of that name for the family, nil if there is none.
func Find(name []byte, f netfilter.Family) *xtables.Extension {
	return extensions[string(name)].In(f)
}

// MaxName is the length of the longest name in targetExtensions.
const MaxName = len("TCPOPTSTRIP")

// Types has a value of every type of target that has a file here, for who keeps rules.
func Types() []any {
	return []any{
		&Audit{}, &Checksum{}, &Classify{}, &Connmark{}, &Connsecmark{}, &CT{},
		&DNAT{}, &DSCP{}, &ECN{}, &HMARK{}, &Idletimer{}, &Log{}, &Mark{},
		&Masquerade{}, &Netmap{}, &NFLOG{}, &NFQUEUE{}, &NPT{}, &Rateest{},
		&Trace{}, &Notrack{}, &Redirect{}, &Reject{}, &Secmark{}, &Set{}, &SNAT{},
		&Synproxy{}, &TCPMSS{}, &TCPOptStrip{}, &TEE{}, &TOS{}, &TPROXY{}, &TTL{},
	}
}

// All yields the targets of -j by their names, in no order.
func All() iter.Seq2[string, *xtables.Extension] { return maps.All(extensions) }
