package ailments

import (
	"regexp"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/scenarios/explain/cause"
)

// byHand are remedies that are commands which change something; a DEVICE stands for what is to be filled in.
var byHand = regexp.MustCompile(`^(modprobe|sysctl -w|ip6?tables|ip link|ip route|ip addr|bridge (fdb a|link set)|nft|conntrack -D)`)

// restart is the remedy of rules that kube-proxy writes anew when it starts.
var restart = regexp.MustCompile(`delete pod .*kube-proxy.* spec\.nodeName=(\S+)`)

// mend applies the remedy of a cause, and makes the asked connection again.
func (a *Ailment) mend(w *Ward, c *cause.Cause) (repaired, error) {
	t := a.asked()
	if t.Was == "" || t.Was == t.Is {
		return notTried, nil
	}
	switch node := restart.FindStringSubmatch(c.Remedy); {
	case node != nil && slices.Contains(nodeNames, node[1]):
		if err := w.SyncRules(node[1], nil); err != nil {
			return notTried, err
		}
	case slices.Contains(nodeNames, c.Host) && byHand.MatchString(c.Remedy) && !strings.HasPrefix(c.Remedy, "ip route get") &&
		!strings.Contains(c.Remedy, "DEVICE"):
		for _, command := range strings.Split(commandOf(c.Remedy), " && ") {
			if strings.HasPrefix(command, "modprobe ") {
				continue // what it loads is loaded on a machine of whose kernel we have a namespace
			}
			command = strings.ReplaceAll(command, "'", "") // they are for a shell: nft joins its arguments
			if err := w.Run(c.Host + ": " + command); err != nil {
				return noHelp, nil //nolint:nilerr // a command that fails is no help
			}
		}
	default:
		return notTried, nil
	}
	for _, v6 := range w.Families.each() {
		got, err := w.Ask(t, v6, t.Was)
		if err != nil {
			return notTried, err
		}
		if !got.matches(t.Was, v6) {
			return noHelp, nil
		}
	}
	return mended, nil
}

// commandOf is a remedy without what is said beside the command.
func commandOf(remedy string) string {
	for _, end := range []string{" (", ", ", "; ", ": "} {
		remedy, _, _ = strings.Cut(remedy, end)
	}
	return remedy
}
