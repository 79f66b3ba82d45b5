package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/kind/pkg/exec"
	"sigs.k8s.io/yaml"
)

// Export writes to a folder, for each node: kind's logs (in kind/), a snapshot, the proxy's log and metrics, each by its node's name; and
// objects.yaml, the objects of the cluster. It goes on after an error.
func (c *Cluster) Export(ctx context.Context, folder string) error {
	var failed []error
	note := func(what string, err error) {
		if err != nil {
			failed = append(failed, fmt.Errorf("exporting %s: %w", what, err))
		}
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for _, node := range c.nodes {
		for suffix, read := range map[string]reading{
			"snapshot.yaml": c.snapshot, "proxy.log": c.proxyLog, "metrics.txt": c.Metrics,
		} {
			content, err := read.within(ctx, readingTime, node.Name)
			if len(content) > 0 {
				err = errors.Join(err, os.WriteFile(filepath.Join(folder, node.Name+"."+suffix), content, 0o644))
			}
			note(suffix+" of node "+node.Name, err)
		}
	}
	if c.client != nil {
		objects, err := c.objects(ctx)
		note("objects", errors.Join(err, os.WriteFile(filepath.Join(folder, "objects.yaml"), objects, 0o644)))
	}
	note("kind's logs", c.provider.CollectLogs(c.config.Name, filepath.Join(folder, "kind")))
	return errors.Join(failed...)
}

// readingTime is how long one reading of a node may take. The proxy of a node that the last scenario does not have is stopped, and does not
// answer; without a limit of its own, asking it took the time of all that follows.
const readingTime = 10 * time.Second

// reading reads something of a node.
type reading func(ctx context.Context, node string) ([]byte, error)

func (r reading) within(ctx context.Context, limit time.Duration, node string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return r(ctx, node)
}

// snapshot is the node as chainwalk in it sees it.
func (c *Cluster) snapshot(ctx context.Context, node string) ([]byte, error) {
	text, err := run(exec.CommandContext(ctx, "docker", "exec", "--privileged", node, programPath, "snapshot"), nil)
	return []byte(text), err
}

func (p *nodeProxies) proxyLog(ctx context.Context, node string) ([]byte, error) {
	pods, err := p.proxyPods(ctx)
	if err != nil {
		return nil, err
	}
	pod := pods[node]
	if pod == nil {
		return nil, errors.New("there is no pod of the proxy")
	}
	return p.client.Logs(ctx, pod.Namespace, pod.Name)
}

// objects are the objects that decide what the proxy writes, and others that help to understand it, as a stream of YAML documents.
func (c *Cluster) objects(ctx context.Context) ([]byte, error) {
	const all = metav1.NamespaceAll
	var text []byte
	var failed []error
	add := func(kind schema.GroupVersionKind, list runtime.Object, err error) {
		if err == nil {
			err = appendList(&text, kind, list)
		}
		failed = append(failed, err)
	}
	core := corev1.SchemeGroupVersion.WithKind
	nodes, err := c.client.Nodes().List(ctx, metav1.ListOptions{})
	add(core("NodeList"), nodes, err)
	services, err := c.client.Services(all).List(ctx, metav1.ListOptions{})
	add(core("ServiceList"), services, err)
	slices, err := c.client.EndpointSlices(all).List(ctx, metav1.ListOptions{})
	add(discoveryv1.SchemeGroupVersion.WithKind("EndpointSliceList"), slices, err)
	pods, err := c.client.Pods(all).List(ctx, metav1.ListOptions{})
	add(core("PodList"), pods, err)
	configs, err := c.client.ConfigMaps(proxyNamespace).List(ctx, metav1.ListOptions{})
	add(core("ConfigMapList"), configs, err)
	events, err := c.client.Events(all).List(ctx, metav1.ListOptions{})
	add(core("EventList"), events, err)
	return text, errors.Join(failed...)
}

// appendList writes a list as a document. The API server returns it without its kind.
func appendList(text *[]byte, kind schema.GroupVersionKind, list runtime.Object) error {
	list.GetObjectKind().SetGroupVersionKind(kind)
	document, err := yaml.Marshal(list)
	*text = append(append(*text, "---\n"...), document...)
	return err
}
