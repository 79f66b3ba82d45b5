package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	kubeproxy "k8s.io/kube-proxy/config/v1alpha1"

	"github.com/chainwalk/chainwalk/proxier/config/apiserver"
	"github.com/chainwalk/chainwalk/proxier/server"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
	"github.com/chainwalk/chainwalk/scenarios/world/api"
)

// errConfigChanged ends a proxy whose configuration file is another one now: whoever started it starts it again.
var errConfigChanged = errors.New("the configuration file has changed: start again")

// apiClient reaches the API server.
func apiClient(master string, configuration *kubeproxy.KubeProxyConfiguration) (*apiserver.Client, error) {
	c := &configuration.ClientConnection
	to, err := clientcmd.BuildConfigFromFlags(master, c.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("no API server: give --kubeconfig, or --filename with objects: %w", err)
	}
	to.AcceptContentTypes, to.ContentType = c.AcceptContentTypes, c.ContentType
	to.QPS, to.Burst = c.QPS, int(c.Burst)
	return apiserver.New(rest.AddUserAgent(to, "chainwalk-proxy"))
}

// objectFiles are files in the place of an API server.
type objectFiles struct {
	streams streams
	files   []string
	logger  klog.Logger
	store   *api.Store
	objects []manifest.Object
}

// fileStore returns a store that holds what the files hold, also when they change, until the context ends, and sees to it that the
// configuration names one of their nodes. A file that cannot be read when it has changed is logged and leaves everything as it was.
func fileStore(ctx context.Context, s streams, o proxyOptions, c *kubeproxy.KubeProxyConfiguration, host *server.Host,
	logger klog.Logger) (*api.Store, error) {
	files := o.objects
	f := &objectFiles{streams: s, files: files, logger: logger}
	var err error
	if f.objects, err = readObjects(s, files); err != nil {
		return nil, err
	}
	if err := nodeOfFiles(f.objects, c, host.Name, o.fake); err != nil {
		return nil, err
	}
	if o.fake {
		host.Network = noDevices{nodeAddresses(f.objects, cmp.Or(c.HostnameOverride, host.Name))}
	}
	if f.store, err = api.NewStore(f.objects); err != nil {
		return nil, err
	}
	changes := make(chan struct{}, 1)
	for _, file := range files {
		if file == "-" {
			return f.store, nil // standard input is read once
		}
		err := watchFile(ctx, file, func() {
			select {
			case changes <- struct{}{}:
			default: // one is waiting
			}
		})
		if err != nil {
			return nil, fmt.Errorf("watching %s: %w", file, err)
		}
	}
	go f.follow(ctx, changes)
	return f.store, nil
}

// nodeAddresses returns the addresses that the Node object of that name has for itself.
func nodeAddresses(objects []manifest.Object, name string) []netip.Addr {
	var addresses []netip.Addr
	for _, node := range manifest.Of[*v1.Node](objects) {
		if node.Name != strings.ToLower(strings.TrimSpace(name)) {
			continue
		}
		for _, given := range node.Status.Addresses {
			if address, err := netip.ParseAddr(given.Address); err == nil {
				addresses = append(addresses, address)
			}
		}
	}
	return addresses
}

// nodeOfFiles makes the configuration name a node of the objects: the one that it has a name of, that of this machine, or on the fake
// kernel,
// which is no machine's, the only one. A proxy would wait for ever for a node that no file has.
func nodeOfFiles(objects []manifest.Object, c *kubeproxy.KubeProxyConfiguration, machine string, fake bool) error {
	var names []string
	for _, node := range manifest.Of[*v1.Node](objects) {
		names = append(names, node.Name)
	}
	name := c.HostnameOverride
	if name == "" {
		name = strings.ToLower(strings.TrimSpace(machine))
	}
	switch {
	case len(names) == 0:
		return errors.New("the files have no Node: add the proxy's own Node, with its addresses, such as {apiVersion: v1, kind: Node, " +
			"metadata: {name: worker1}, status: {addresses: [{type: InternalIP, address: 192.168.0.2}]}}")
	case slices.Contains(names, name):
	case c.HostnameOverride != "":
		return fmt.Errorf("--hostname-override %s: the files have no Node of that name, but %s", name, strings.Join(names, ", "))
	case fake && len(names) == 1:
		c.HostnameOverride = names[0]
	default:
		return fmt.Errorf("this machine is %s, and the files have no Node of that name, but %s: choose one with --hostname-override", name,
			strings.Join(names, ", "))
	}
	return nil
}

// settling is how long a file is given to be written in whole, and watches to be read between writes.
const settling = 50 * time.Millisecond

func (f *objectFiles) follow(ctx context.Context, changes <-chan struct{}) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-changes:
		}
		time.Sleep(settling)
		now, err := readObjects(f.streams, f.files)
		if err != nil {
			f.logger.Error(err, "The objects stay as they were")
			continue
		}
		if err := f.store.Replace(f.objects, now, func() { time.Sleep(settling) }); err != nil {
			f.logger.Error(err, "Some objects stay as they were")
		}
		f.objects = now
	}
}
