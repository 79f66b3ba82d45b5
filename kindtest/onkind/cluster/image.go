package cluster

import (
	"context"
	"fmt"

	"github.com/chainwalk/chainwalk/internal/scratchimage"
)

// pack makes the images, apart from one whose program only the nodes have.
func (c *Cluster) pack() error {
	var err error
	if c.agentImage, err = scratchimage.Read(Chainwalk, c.config.Binary); err != nil {
		return err
	}
	if c.config.Proxy.Binary != "" {
		c.nodeProxies.image, err = scratchimage.Read(c.config.Proxy.Name, c.config.Proxy.Binary)
	}
	return err
}

// nodesProxy is a shell script that prints the kube-proxy of a node image: a program of the node, or that in the image of kubeadm's
// DaemonSet.
const nodesProxy = `set -eu
for file in /usr/bin/kube-proxy /usr/local/bin/kube-proxy /kind/bin/kube-proxy; do
	if [ -x "$file" ]; then exec cat "$file"; fi
done
image=$(ctr --namespace=k8s.io images list --quiet | grep -m 1 '/kube-proxy') ||
	{ echo 'there is no kube-proxy in the node image' >&2; exit 1; }
place=$(mktemp -d)
ctr --namespace=k8s.io images mount "$image" "$place" >/dev/null
cat "$place/usr/local/bin/kube-proxy"
ctr --namespace=k8s.io images unmount --rm "$place" >/dev/null
`

// findProxy packs the proxy that the node image has, as a host of it does, unless the proxy is known.
func (p *nodeProxies) findProxy(ctx context.Context, host string) error {
	if p.image != nil || p.foreign != nil {
		return nil
	}
	binary, err := in(ctx, host, nodesProxy)
	if err != nil {
		return fmt.Errorf("give the path of a kube-proxy: %w", err)
	}
	p.image, err = scratchimage.New(p.config.Proxy.Name, []byte(binary))
	return err
}

// images are the images that the nodes need.
func (c *Cluster) images() []*scratchimage.Image {
	if c.nodeProxies.image == nil || c.nodeProxies.image.Reference == c.agentImage.Reference {
		return []*scratchimage.Image{c.agentImage}
	}
	return []*scratchimage.Image{c.agentImage, c.nodeProxies.image}
}
