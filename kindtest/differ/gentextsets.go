package differ

import "strings"

func (g *textGen) setCommand() textStep {
	if g.chance(30) {
		return g.setRestore()
	}
	line := g.oneOf(setLines...)
	if g.chance(20) {
		line = g.damageTokens(line)
	}
	return textStep{Argv: append([]string{"ipset"}, strings.Fields(line)...)}
}

// setRestore is a run of ipset restore.
func (g *textGen) setRestore() textStep {
	s := textStep{Argv: []string{"ipset", "restore"}}
	if g.chance(30) {
		s.Argv = append(s.Argv, "-exist")
	}
	for range 1 + g.r.IntN(5) {
		s.Stdin += g.oneOf(append(setLines[:len(setLines):len(setLines)], "COMMIT", "# a comment", "")...) + "\n"
	}
	for g.chance(30) {
		s.Stdin = g.damage(s.Stdin)
	}
	return s
}

// setLines are commands of ipset, right and wrong.
var setLines = []string{
	"list", "list cwip", "save", "save cwnet", "create cwnew hash:ip", "create cwnew hash:ip family inet6", "create cwip hash:ip",
	"create cwnew hash:nope", "destroy cwnew", "destroy cwip", "destroy nope", "add cwip 10.9.9.9", "add cwip fd00::9",
	"add cwip nope", "del cwip 10.9.9.9", "test cwip 10.78.1.2", "test cwip 10.78.1.9", "flush cwip", "flush",
	"create cwports bitmap:port range 1-100", "add cwports 50", "add cwports 500", "create cwlist list:set", "add cwlist cwip",
	"add cwlist nope", "rename cwnew cwother", "swap cwip cwnet", "add cwnet 10.0.0.0/8", "add cwnet 10.1.2.3/33",
	"add cwipport 10.1.1.1,tcp:80", "add cwipport 10.1.1.1,80", "list -t", "list -n", "version", "nope",
	"add cwip 10.9.9.9 -exist", "create cwip hash:ip -exist", "create \"cwnew\" hash:net", "create cwnew hash:ip comment",
	"add cwnew 10.1.1.1 comment \"a b\"", "list -o save", "list -o xml", "help",
}
