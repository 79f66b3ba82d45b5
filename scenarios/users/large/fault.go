package large

import (
	"fmt"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios/explain/provenance"
)

// Fault is what is wrong with a cluster.
type Fault string

// The faults.
const (
	Sound         Fault = "sound"
	HalfTheRules  Fault = "half-the-rules" // the second node has lost every other rule of kube-proxy's
	ForwardingOff Fault = "forwarding-off" // the second node has net.ipv4.ip_forward=0
	ForwardDrop   Fault = "forward-drop"   // the policy of FORWARD is DROP on all nodes
)

// Faults are all of them, Sound the first.
func Faults() []Fault { return []Fault{Sound, HalfTheRules, ForwardingOff, ForwardDrop} }

// Break makes one thing wrong with the cluster.
func (c *Cluster) Break(fault Fault) error {
	const one = 1 // the node that is broken alone
	switch fault {
	case Sound:
	case HalfTheRules:
		n := 0
		eachLine(c.Snapshots[one], func(line string) string {
			if words := strings.Fields(line); len(words) > 1 && words[0] == "-A" && provenance.WriterOf(words[1]) == provenance.KubeProxy {
				if n++; n%2 == 0 {
					return ""
				}
			}
			return line
		})
	case ForwardingOff:
		sysctls := c.Snapshots[one].Sysctls
		sysctls["net.ipv4.ip_forward"], sysctls["net.ipv4.conf.all.forwarding"] = "0", "0"
	case ForwardDrop:
		for _, taken := range c.Snapshots {
			eachLine(taken, func(line string) string { return strings.Replace(line, ":FORWARD ACCEPT", ":FORWARD DROP", 1) })
		}
	default:
		return fmt.Errorf("unknown fault %q: want one of %v", fault, Faults())
	}
	return nil
}

// eachLine has each line of a node's rules edited.
func eachLine(taken *snapshot.NodeSnapshot, edit func(string) string) {
	taken.IPTables = slices.Clone(taken.IPTables)
	for i := range taken.IPTables {
		var out strings.Builder
		for line := range strings.Lines(taken.IPTables[i].Save) {
			out.WriteString(edit(line))
		}
		taken.IPTables[i].Save = out.String()
	}
}
