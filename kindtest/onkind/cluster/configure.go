package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeproxy "k8s.io/kube-proxy/config/v1alpha1"

	"github.com/chainwalk/chainwalk/internal/scratchimage"
	"github.com/chainwalk/chainwalk/kindtest/probe"
)

// nodeProxies are the proxies on the nodes: what they are given, and whether they have synced with it.
type nodeProxies struct {
	*members
	*hands
	image *scratchimage.Image
	files map[string]proxyFile // by node
}

// errForeign is what is said of a proxy that is not ours to change.
var errForeign = errors.New("cluster: the kube-proxy of an existing cluster is left as it is")

// startProxy makes the DaemonSet, and waits until it has synced everywhere.
func (p *nodeProxies) startProxy(ctx context.Context) error {
	if p.foreign != nil {
		return nil
	}
	if err := p.removePredecessor(ctx); err != nil {
		return err
	}
	for _, node := range p.nodes {
		if err := p.setConfiguration(node, p.defaultConfiguration()); err != nil {
			return err
		}
	}
	if err := p.apply(ctx, proxyAccount()); err != nil {
		return err
	}
	if err := p.apply(ctx, proxyRights()); err != nil {
		return err
	}
	if err := p.applyConfigurations(ctx); err != nil {
		return err
	}
	earlier, err := p.proxyPods(ctx)
	if err != nil {
		return err
	}
	if err := p.apply(ctx, proxyDaemonSet(p.config.Proxy, p.image.String())); err != nil {
		return err
	}
	if len(earlier) > 0 { // of a cluster that was kept: their files are what an earlier run has left
		return p.replace(ctx, earlier)
	}
	return p.waitForProxies(ctx, p.nodeNames(), nil)
}

// defaultConfiguration is that of a proxy that was given none.
func (p *nodeProxies) defaultConfiguration() *kubeproxy.KubeProxyConfiguration {
	pods, _ := ranges(p.config.Family)
	return &kubeproxy.KubeProxyConfiguration{ClusterCIDR: pods}
}

// ResetProxies gives all proxies the configuration that they have at first.
func (p *nodeProxies) ResetProxies(ctx context.Context) error {
	if p.foreign != nil {
		return nil
	}
	byNode := map[string]*kubeproxy.KubeProxyConfiguration{}
	for _, node := range p.nodes {
		byNode[node.Name] = p.defaultConfiguration()
	}
	return p.Configure(ctx, byNode)
}

// proxyFile is what a node's proxy is given.
type proxyFile struct {
	given       *kubeproxy.KubeProxyConfiguration // before what belongs to the cluster was set
	text        string
	metricsPort string
	// restarts are written into the file, so that it is another one after each.
	restarts int
}

func (f proxyFile) String() string {
	if f.restarts == 0 {
		return f.text
	}
	return fmt.Sprintf("%s# restarts: %d\n", f.text, f.restarts)
}

func (p *nodeProxies) setConfiguration(node Node, given *kubeproxy.KubeProxyConfiguration) error {
	own := ownFields(given, p.config.Proxy.Mode, node.Addresses[0].Is6())
	text, err := configurationText(own)
	if err != nil {
		return fmt.Errorf("configuration of node %s: %w", node.Name, err)
	}
	file := p.files[node.Name]
	file.given, file.text, file.metricsPort = given, text, portOf(own.MetricsBindAddress)
	p.files[node.Name] = file
	return nil
}

func (p *nodeProxies) applyConfigurations(ctx context.Context) error {
	texts := map[string]string{}
	for node, file := range p.files {
		texts[node] = file.String()
	}
	return p.apply(ctx, proxyConfigMap(p.server(), texts))
}

// Configure gives each node that byNode names its configuration, and returns when the proxy has synced with it there. A proxy whose
// configuration stays the same is not restarted. What belongs to the cluster is set in any case: how the API server is reached, the mode,
// the limit of tracked connections, and the addresses of the metrics and the health check, the ports of which stay if they are given.
func (p *nodeProxies) Configure(ctx context.Context, byNode map[string]*kubeproxy.KubeProxyConfiguration) error {
	if err := p.mayChange(slices.Collect(maps.Keys(byNode))); err != nil {
		return err
	}
	var changed []string
	before := maps.Clone(p.files)
	for _, node := range p.nodes {
		if given := byNode[node.Name]; given != nil {
			if err := p.setConfiguration(node, given); err != nil {
				p.files = before
				return err
			}
		}
		if p.files[node.Name].text != before[node.Name].text {
			changed = append(changed, node.Name)
		}
	}
	return p.restart(ctx, changed, before)
}

// ChangeMode has the proxies of all nodes start anew in another mode with the configurations that they have, and returns when they have
// synced. Proxies that start later have this mode, too.
func (p *nodeProxies) ChangeMode(ctx context.Context, mode string) error {
	if err := p.mayChange(p.nodeNames()); err != nil || mode == p.config.Proxy.Mode {
		return err
	}
	files, was := maps.Clone(p.files), p.config.Proxy.Mode
	p.config.Proxy.Mode = mode
	for _, node := range p.nodes {
		if err := p.setConfiguration(node, files[node.Name].given); err != nil {
			p.files, p.config.Proxy.Mode = files, was
			return err
		}
	}
	return p.restart(ctx, p.nodeNames(), files)
}

// Configuration is what the proxy of a node was given last, as a file.
func (p *nodeProxies) Configuration(node string) string { return p.files[node].text }

// RestartProxy ends the proxy of the nodes, and returns when it has synced again there.
func (p *nodeProxies) RestartProxy(ctx context.Context, nodes []string) error {
	if err := p.mayChange(nodes); err != nil {
		return err
	}
	before := maps.Clone(p.files)
	for _, node := range nodes {
		file := p.files[node]
		file.restarts++
		p.files[node] = file
	}
	return p.restart(ctx, nodes, before)
}

// mayChange refuses what is not ours, or not there.
func (p *nodeProxies) mayChange(nodes []string) error {
	if p.foreign != nil {
		return errForeign
	}
	for _, name := range nodes {
		if _, known := p.files[name]; !known {
			return fmt.Errorf("cluster: there is no node %s: want one of %v", name, p.nodeNames())
		}
	}
	return nil
}

// restart brings the proxies' files to the nodes, where the proxies start anew with them. The ConfigMap has them too, for pods that come
// later: the kubelet would bring it to one that runs only after a while, up to a minute.
func (p *nodeProxies) restart(ctx context.Context, nodes []string, before map[string]proxyFile) error {
	if len(nodes) == 0 {
		return nil
	}
	old := map[string]process{}
	for _, node := range nodes {
		old[node], _ = p.processOf(ctx, node, before[node].metricsPort) // one that does not answer is none
	}
	if err := p.applyConfigurations(ctx); err != nil {
		return err
	}
	group, grouped := errgroup.WithContext(ctx)
	for _, node := range nodes {
		group.Go(func() error { return p.writeFile(grouped, node) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return p.waitForProxies(ctx, nodes, old)
}

// writeFile writes a proxy's file on its node, and ends the proxy that has another one; who supervises it would see the file by itself,
// but later. The file is moved to its place, so that nobody reads half of it.
func (p *nodeProxies) writeFile(ctx context.Context, node string) error {
	const script = `cat > "$0.new" && mv "$0.new" "$0" && { pkill -f -- '--config ` + copiedFile + `$' || true; }`
	hand, err := p.hand(ctx, node)
	if err != nil {
		return err
	}
	done, err := hand.Exec(ctx, probe.Command{Argv: []string{"sh", "-c", script, givenFile}, Stdin: p.files[node].String()})
	if err == nil && done.Status != 0 {
		err = fmt.Errorf("status %d: %s", done.Status, lastLines(done.Stderr))
	}
	if err != nil {
		return fmt.Errorf("write %s of node %s: %w", givenFile, node, err)
	}
	return nil
}

// waitForProxies waits until each node's proxy is another process than the old one and has synced.
func (p *nodeProxies) waitForProxies(ctx context.Context, nodes []string, old map[string]process) error {
	waiting := slices.Clone(nodes)
	return until(ctx, func(ctx context.Context) (pending string, err error) {
		waiting = slices.DeleteFunc(waiting, func(node string) bool {
			why := p.proxyPending(ctx, node, old[node])
			pending = or(why, pending)
			return why == ""
		})
		return pending, nil
	})
}

// proxyPending says what is still to come of a node's proxy.
func (p *nodeProxies) proxyPending(ctx context.Context, node string, old process) string {
	now, err := p.processOf(ctx, node, p.files[node].metricsPort)
	switch {
	case err != nil:
		return fmt.Sprintf("the proxy of node %s does not answer: %v", node, err)
	case now.started == old.started:
		return fmt.Sprintf("the proxy of node %s has not been started again", node)
	case !now.synced:
		return fmt.Sprintf("the proxy of node %s has not synced", node)
	default:
		return ""
	}
}

// ReplaceProxy deletes the proxy's pods of the nodes, and returns when others have synced there. It takes longer than RestartProxy.
func (p *nodeProxies) ReplaceProxy(ctx context.Context, nodes []string) error {
	if err := p.mayChange(nodes); err != nil {
		return err
	}
	pods, err := p.proxyPods(ctx)
	if err != nil {
		return err
	}
	maps.DeleteFunc(pods, func(node string, _ *corev1.Pod) bool { return !slices.Contains(nodes, node) })
	return p.replace(ctx, pods)
}

// replace deletes pods of the proxy, and returns when there are others on all nodes that have synced.
func (p *nodeProxies) replace(ctx context.Context, pods map[string]*corev1.Pod) error {
	for _, pod := range pods {
		err := p.client.Pods(proxyNamespace).Delete(ctx, pod.Name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	err := until(ctx, func(ctx context.Context) (pending string, err error) { // until those that were deleted are gone, and others there
		now, err := p.proxyPods(ctx)
		for _, node := range p.nodeNames() {
			if now[node] == nil {
				pending = fmt.Sprintf("there is no new pod of the proxy on node %s", node)
			}
		}
		return pending, err
	})
	if err != nil {
		return err
	}
	return p.waitForProxies(ctx, p.nodeNames(), nil)
}

// proxyPods are the proxy's pods by node, without those that are being deleted.
func (p *nodeProxies) proxyPods(ctx context.Context) (map[string]*corev1.Pod, error) {
	list, err := p.client.Pods(proxyNamespace).List(ctx, metav1.ListOptions{LabelSelector: p.proxySelector()})
	if err != nil {
		return nil, err
	}
	pods := map[string]*corev1.Pod{}
	for i := range list.Items {
		if pod := &list.Items[i]; pod.DeletionTimestamp == nil {
			pods[pod.Spec.NodeName] = pod
		}
	}
	return pods, nil
}

func (m *members) proxySelector() string {
	if m.foreign != nil {
		return "k8s-app=" + KubeProxy
	}
	return nameLabel + "=" + proxyName
}

// server is the API server's address for the proxies, which is on the control plane.
func (m *members) server() string {
	return "https://" + net.JoinHostPort(m.nodes[0].Addresses[0].String(), apiServerPort)
}
