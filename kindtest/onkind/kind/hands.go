package kind

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"sync"

	corev1 "k8s.io/api/core/v1"
	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"

	"github.com/chainwalk/chainwalk/kindtest/onkind/apiclient"
	"github.com/chainwalk/chainwalk/kindtest/onkind/cluster"
	"github.com/chainwalk/chainwalk/kindtest/probe"
	"github.com/chainwalk/chainwalk/scenarios"
)

// Hands is what the backend does with a cluster; *cluster.Cluster has them.
type Hands interface {
	Nodes() []cluster.Node
	Pods() []cluster.Pod
	Outside() cluster.Outside
	Client() apiclient.Client
	AgentPod(agent, node string) *corev1.Pod
	Mode() string
	Foreign() *kubeproxyconfig.KubeProxyConfiguration
	Relay(ctx context.Context, host string) (io.ReadWriteCloser, error)
	Configure(ctx context.Context, byNode map[string]*kubeproxyconfig.KubeProxyConfiguration) error
	RestartProxy(ctx context.Context, nodes []string) error
	Metrics(ctx context.Context, node string) ([]byte, error)
}

// relay is what is asked of the agents of a machine, and of the machine itself; *probe.Client answers.
type relay interface {
	Serve(ctx context.Context, agent string, listeners []probe.Listener) error
	Dial(ctx context.Context, agent string, d probe.Dial) ([]probe.Result, error)
	Speak(ctx context.Context, agent string, s probe.Speech) (probe.Result, error)
	Drop(ctx context.Context, agent, conn string, side scenarios.Side) error
	Arrivals(ctx context.Context, agent string, a probe.Arrived) ([]probe.Arrival, error)
	Change(ctx context.Context, agent string, changes []probe.Change) error
	Devices(ctx context.Context, agent string) ([]probe.Device, error)
	Inject(ctx context.Context, agent string, i probe.Injection) (string, error)
	Capture(ctx context.Context, agent, name string) error
	Captured(ctx context.Context, agent string, c probe.Captured) ([]probe.Sighting, error)
	Release(ctx context.Context, agent, name string) error
	Reset(ctx context.Context, agent string) error
	Exec(ctx context.Context, command probe.Command) (probe.Exited, error)
	Fetch(ctx context.Context, url string) (probe.Fetched, error)
	Forget(ctx context.Context, addresses []netip.Addr) error
}

// run runs a program on a machine, with a text as its input. Any status but 0 is an error.
func run(ctx context.Context, r relay, stdin string, argv ...string) (string, error) {
	exited, err := r.Exec(ctx, probe.Command{Argv: argv, Stdin: stdin})
	if err != nil {
		return "", err
	}
	if exited.Status != 0 {
		return exited.Stdout, fmt.Errorf("%q: status %d: %s", argv, exited.Status, exited.Stderr)
	}
	return exited.Stdout, nil
}

// together does things at the same time, and says all that went wrong.
func together[T any](items []T, do func(T) error) error {
	errs := make([]error, len(items))
	var all sync.WaitGroup
	for i, item := range items {
		all.Go(func() { errs[i] = do(item) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// inParallel does several things at the same time.
func inParallel(things ...func() error) error {
	return together(things, func(f func() error) error { return f() })
}

func command(argv ...string) probe.Command { return probe.Command{Argv: argv} }
