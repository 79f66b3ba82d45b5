package fakeipt

import (
	"fmt"

	"github.com/chainwalk/chainwalk/internal/icmp"
)

// help is what -h prints: the commands and options, and below them those of the extensions that stand before it. The words are our own,
// except for those that programs look for: headings, options, and the names of ICMP types.
func (run *toolRun) help(of []loadedExtension) []byte {
	text := fmt.Appendf(nil, `%[1]s v%[2]s (%[3]s)

Usage: %[1]s [-t TABLE] COMMAND [OPTION]...
       %[1]s -h (print this help information)

Commands:
  -A, --append CHAIN RULE           -N, --new-chain CHAIN
  -I, --insert CHAIN [N] RULE       -X, --delete-chain [CHAIN]
  -R, --replace CHAIN N RULE        -E, --rename-chain OLD NEW
  -D, --delete CHAIN RULE|N         -P, --policy CHAIN ACCEPT|DROP
  -C, --check CHAIN RULE            -F, --flush [CHAIN]
  -L, --list [CHAIN [N]]            -Z, --zero [CHAIN [N]]
  -S, --list-rules [CHAIN [N]]

Rules, each with "!" before it for the opposite where that makes sense:
  -s, --source ADDRESS[/MASK][,...]        -i, --in-interface NAME[+]
  -d, --destination ADDRESS[/MASK][,...]   -o, --out-interface NAME[+]
  -p, --protocol NAME                      -f, --fragment
  -m, --match NAME OPTIONS                 -c, --set-counters PACKETS BYTES
  -j, --jump TARGET OPTIONS                -g, --goto CHAIN

Other options: -n -v -x --line-numbers, -w [SECONDS], -t TABLE, -4, -6, -M FILE (not used), -V, -h.
`, run.name, run.kernel.version, run.kernel.variant())
	for _, target := range []bool{true, false} {
		for _, l := range of {
			if (l.target != nil) == target {
				text = l.appendHelp(append(text, '\n'))
			}
		}
	}
	return text
}

// appendHelp appends the options of one extension, and the values of those that have names.
func (l *loadedExtension) appendHelp(dst []byte) []byte {
	kind := "match"
	if l.target != nil {
		kind = "target"
	}
	if len(l.ext.Options) == 0 {
		return fmt.Appendf(dst, "%s does not take any options\n", l.ext.Name)
	}
	name := l.ext.Name
	if name == icmp6Name {
		name = "icmpv6"
	}
	dst = fmt.Appendf(dst, "%s %s options:\n", name, kind)
	for i := range l.ext.Options {
		spec := &l.ext.Options[i]
		sign, value := "   ", " VALUE"
		if spec.Invert {
			sign = "[!]"
		}
		if spec.Flag {
			value = ""
		}
		dst = fmt.Appendf(dst, "%s --%s%s\n", sign, spec.Name, value)
	}
	switch l.ext.Name {
	case icmpName:
		return appendTypeNames(append(dst, "Valid ICMP Types:"...), icmp.V4Names)
	case icmp6Name:
		return appendTypeNames(append(dst, "Valid ICMPv6 Types:"...), icmp.V6Names)
	}
	return dst
}

// The matches whose help has the names of types.
const (
	icmpName  = "icmp"
	icmp6Name = "icmp6"
)

// appendTypeNames appends each name in a line of its own, those of codes further in, and other names of the same behind it.
func appendTypeNames(dst []byte, names []icmp.TypeName) []byte {
	for i, n := range names {
		switch {
		case i > 0 && n.Type == names[i-1].Type && n.CodeMin == names[i-1].CodeMin && n.CodeMax == names[i-1].CodeMax:
			dst = append(append(append(dst, " ("...), n.Name...), ')')
		case n.CodeMin == n.CodeMax:
			dst = append(append(dst, "\n   "...), n.Name...)
		default:
			dst = append(append(dst, '\n'), n.Name...)
		}
	}
	return append(dst, '\n')
}
