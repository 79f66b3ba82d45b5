package trial

import (
	"context"
	"errors"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/exec"

	"github.com/chainwalk/chainwalk/proxier"
	"github.com/chainwalk/chainwalk/proxier/conntrack"
	"github.com/chainwalk/chainwalk/scenarios/world/node"
)

// edited runs tools, and changes what restores are given.
type edited struct {
	exec.Interface
	edit func(input string) string
}

func (e *edited) Command(name string, args ...string) exec.Cmd {
	return e.wrap(name, e.Interface.Command(name, args...))
}

func (e *edited) CommandContext(ctx context.Context, name string, args ...string) exec.Cmd {
	return e.wrap(name, e.Interface.CommandContext(ctx, name, args...))
}

func (e *edited) wrap(name string, cmd exec.Cmd) exec.Cmd {
	if base := path.Base(name); strings.HasSuffix(base, "-restore") || base == "nft" {
		return &editedCmd{cmd, e.edit}
	}
	return cmd
}

type editedCmd struct {
	exec.Cmd
	edit func(string) string
}

func (c *editedCmd) SetStdin(in io.Reader) {
	text, err := io.ReadAll(in)
	if err != nil {
		panic(err) // from memory
	}
	c.Cmd.SetStdin(strings.NewReader(c.edit(string(text))))
}

// editing is this project's proxier with restores that somebody changes.
func editing(edit func(input string) string) node.Proxier {
	return func(p node.Process) (node.Proxy, []string, error) {
		p.Kernel.Exec = &edited{p.Kernel.Exec, edit}
		return node.Chainwalk(p)
	}
}

// without leaves out the lines of restores that match.
func without(pattern string) node.Proxier {
	match := regexp.MustCompile(pattern)
	return editing(func(input string) string {
		var out strings.Builder
		for line := range strings.Lines(input) {
			if !match.MatchString(line) {
				out.WriteString(line)
			}
		}
		return out.String()
	})
}

// replacing puts a text for another one in partial restores, which say nothing of KUBE-FORWARD.
func replacingInPartial(from, to string) node.Proxier {
	return editing(func(input string) string {
		if strings.Contains(input, ":KUBE-FORWARD ") {
			return input
		}
		return strings.ReplaceAll(input, from, to)
	})
}

// keepingRejections is an input of a restore that leaves KUBE-SERVICES of the filter table as it is where it has nothing for it.
func keepingRejections(in string) string {
	filter, rest, _ := strings.Cut(in, "COMMIT\n")
	if !strings.Contains(filter, "-A KUBE-SERVICES ") {
		filter = strings.Replace(filter, ":KUBE-SERVICES - [0:0]\n", "", 1)
	}
	return filter + "COMMIT\n" + rest
}

func withoutConntrack(p node.Process) (node.Proxy, []string, error) {
	p.Kernel.Conntrack = nil
	return node.Chainwalk(p)
}

// forgetting is a sync after which conntrack knows of no UDP flow if the rules were gone.
func forgetting(p node.Process, sync func() error) error {
	if _, err := p.Kernel.Exec.Command("iptables", "-t", "nat", "-S", "KUBE-SERVICES").CombinedOutput(); err == nil {
		return sync()
	}
	var all []conntrack.Entry
	err := errors.Join(sync(), p.Kernel.Conntrack.Walk(corev1.IPv4Protocol, func(e conntrack.Entry) { all = append(all, e) }))
	_, failed := p.Kernel.Conntrack.Delete(corev1.IPv4Protocol, all)
	return errors.Join(err, failed)
}

// wrapped is a proxier with a Sync of its own.
type wrapped struct {
	node.Proxy
	sync func(sync func() error) error
}

func (w *wrapped) Sync() error { return w.sync(w.Proxy.Sync) }

func syncing(sync func(p node.Process, sync func() error) error) node.Proxier {
	return func(p node.Process) (node.Proxy, []string, error) {
		proxy, warnings, err := node.Chainwalk(p)
		return &wrapped{proxy, func(real func() error) error { return sync(p, real) }}, warnings, err
	}
}

// unhealthy is a proxier that answers health checks with what was at first.
type unhealthy struct{ node.Proxy }

func (u *unhealthy) Health(family corev1.IPFamily) map[types.NamespacedName]proxier.ServiceHealth {
	out := u.Proxy.Health(family)
	for name, health := range out {
		health.LocalEndpoints = 0
		out[name] = health
	}
	return out
}

// hopeful says at once that what is due is done.
type hopeful struct{ proxier.Health }

func (h hopeful) QueuedUpdate(family corev1.IPFamily) {
	h.Health.QueuedUpdate(family)
	h.Updated(family)
}

// deaf is told nothing.
type deaf struct{}

// eager says with every word of a node that a sync is due.
type eager struct {
	node.Proxy
	health proxier.Health
}

func (e *eager) OnNodeUpdate(_, _ *corev1.Node) { e.health.QueuedUpdate(corev1.IPv4Protocol) }

// literal says that a sync is due if the ports of a service come in another order.
type literal struct {
	node.Proxy
	health proxier.Health
}

func (l *literal) OnServiceUpdate(was, is *corev1.Service) {
	if !slices.Equal(was.Spec.Ports, is.Spec.Ports) {
		l.health.QueuedUpdate(corev1.IPv4Protocol)
	}
	l.Proxy.OnServiceUpdate(was, is)
}

// diligent writes again with every word of a slice.
type diligent struct {
	node.Proxy
	exec  exec.Interface
	words bool
}

func (d *diligent) OnEndpointSliceUpdate(old, now *discoveryv1.EndpointSlice) {
	d.words = true
	d.Proxy.OnEndpointSliceUpdate(old, now)
}

func (d *diligent) Sync() error {
	err := d.Proxy.Sync()
	if d.words {
		restore := d.exec.Command("iptables-restore", "--noflush")
		restore.SetStdin(strings.NewReader("*nat\nCOMMIT\n"))
		_, err = restore.CombinedOutput()
	}
	d.words = false
	return err
}

// picky is never done with a sync if it finds a slice of web with one endpoint when it starts.
type picky struct {
	node.Proxy
	fails bool
}

func (p *picky) OnEndpointSliceAdd(s *discoveryv1.EndpointSlice) {
	p.fails = p.fails || s.Name == "web-1" && len(s.Endpoints) == 1
	p.Proxy.OnEndpointSliceAdd(s)
}

func (p *picky) Sync() error {
	if p.fails {
		return errors.New("not with one endpoint")
	}
	return p.Proxy.Sync()
}
