package trial

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/chainwalk/chainwalk/scenarios/world/node"
)

// around has a proxier do something around each of its syncs; first says that it is the first one since it started.
func around(do func(p node.Process, first bool, sync func() error) error) node.Proxier {
	return func(p node.Process) (node.Proxy, []string, error) {
		proxy, warnings, err := node.Chainwalk(p)
		begun := false
		return &wrapped{proxy, func(sync func() error) error {
			first := !begun
			begun = true
			return do(p, first, sync)
		}}, warnings, err
	}
}

func runTool(p node.Process, line string) {
	words := strings.Fields(line)
	if out, err := p.Kernel.Exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
		panic(fmt.Sprintf("%s: %v: %s", line, err, out))
	}
}

// again is a proxier that writes everything in the sync after one that changed endpoints.
type again struct {
	node.Proxy
	all                   func() error
	changed, wasAnyChange bool
}

func (a *again) Sync() error {
	was := a.wasAnyChange
	a.changed, a.wasAnyChange = false, a.changed
	if was {
		return a.all()
	}
	return a.Proxy.Sync()
}

func (a *again) OnEndpointSliceUpdate(was, is *discoveryv1.EndpointSlice) {
	a.changed = true
	a.Proxy.OnEndpointSliceUpdate(was, is)
}

// What is wrong for a while only is found while it is: at the end of the case nothing is left of it.
func TestFaultsThatPassAreFound(t *testing.T) {
	const restart = "- {restart: true, sync: true}\n- advance: 1s\n"
	for _, c := range []struct {
		name    string
		proxier node.Proxier
		steps   string
		clause  string
		step    int
		command string // of the point within the sync; empty: after it
	}{
		{name: "chains leak until the next full sync", proxier: editing(func(in string) string {
			if strings.Contains(in, ":KUBE-FORWARD ") {
				return in
			}
			var out strings.Builder
			for line := range strings.Lines(in) {
				if !strings.HasPrefix(line, "-X") {
					out.WriteString(line)
				}
			}
			return out.String()
		}), steps: webGoes + restart, clause: "no-stale-chain", step: 1},
		{name: "a partial sync writes something else", proxier: replacingInPartial(`"default/web -> 10.244.1.2:8080"`, `"other"`),
			steps: web(onNode1) + restart, clause: "partial-equals-full", step: 1},
		{name: "everything is written once more", proxier: wrapping(func(p node.Proxy) node.Proxy {
			return &again{Proxy: p, all: p.(interface{ SyncAll() error }).SyncAll}
		}), steps: web(onNode1) + restart, clause: "second-sync-writes-nothing", step: 1},
		{name: "packets are dropped within the first sync", proxier: around(func(p node.Process, first bool, sync func() error) error {
			if first {
				runTool(p, "iptables -P FORWARD DROP")
				defer runTool(p, "iptables -P FORWARD ACCEPT")
			}
			return sync()
		}), steps: nothing, clause: "before-or-after", step: 0, command: "iptables"},
		{name: "services are passed by for a moment", proxier: around(func(p node.Process, first bool, sync func() error) error {
			if !first {
				runTool(p, "iptables -t nat -I KUBE-SERVICES -j RETURN")
				runTool(p, "iptables -t nat -D KUBE-SERVICES -j RETURN")
			}
			return sync()
		}), steps: web(onNode1), clause: "before-or-after", step: 1, command: "iptables"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := read(t, cluster+c.steps)
			f := violations(t, cluster+c.steps, c.proxier)[0]
			assert.Equal(t, c.clause, f.Clause.Name)
			assert.Equal(t, c.step, f.Step)
			if c.command != "" && assert.NotNil(t, f.Point) {
				assert.Equal(t, c.command, string(f.Point.Command))
			}
			checkWitness(t, &f, s, c.proxier)
		})
	}
}
