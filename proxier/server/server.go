package server

import (
	"context"
	"errors"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	kubeproxy "k8s.io/kube-proxy/config/v1alpha1"
	"k8s.io/utils/clock"

	"github.com/chainwalk/chainwalk/proxier"
	"github.com/chainwalk/chainwalk/proxier/config"
	"github.com/chainwalk/chainwalk/proxier/healthcheck"
	"github.com/chainwalk/chainwalk/proxier/metrics"
	"github.com/chainwalk/chainwalk/proxier/node"
	"github.com/chainwalk/chainwalk/proxier/sysctl"
)

// ErrNodeChanged says that the node is not what the proxy was started for: it was
// deleted, or has other addresses or pod ranges. The process has to begin anew.
var ErrNodeChanged = errors.New("the Node object has changed: start again")

// Options is what Run is told. All fields are required but Events, NoHourlyFullSync and
// Logger, whose zero value is silent.
type Options struct {
	// Configuration may leave out what has a default. It is not modified.
	Configuration *kubeproxy.KubeProxyConfiguration
	API           config.API
	// Events gets the events of the proxy. Without it there are none.
	Events EventSink
	Host   Host
	// NoHourlyFullSync is that of proxier.Config. kube-proxy's configuration has no such field.
	NoHourlyFullSync bool
	Logger           klog.Logger
}

// server is one Run.
type server struct {
	Options
	configuration *kubeproxy.KubeProxyConfiguration
	clock         clock.WithDelayedExecution
	registry      registry
	metrics       *metrics.Metrics
	recorder      *recorder
	node          *node.Manager
	settings      *proxier.Settings
	health        *healthcheck.ProxyServer
	families      []*family

	// cidrs are the ranges of cluster IPs, nil until they are known. cidrsLock is held to change them, or families.
	cidrsLock sync.Mutex
	cidrs     []string

	// stop ends Run with an error. running counts what Run started.
	stop    context.CancelCauseFunc
	running sync.WaitGroup
}

// Run runs a proxy until its context is done, and returns nil then. An error says
// why it cannot go on. What it started has ended by then, but for the informers,
// which end by themselves. The rules stay.
func Run(parent context.Context, options Options) error {
	// What client-go logs goes to the same place.
	ctx, stop := context.WithCancelCause(klog.NewContext(parent, options.Logger))
	defer stop(nil)
	s := &server{Options: options, stop: stop}
	err := s.start(ctx)
	if err == nil {
		<-ctx.Done()
	}
	stop(err)
	asked, cause := parent.Err() != nil, context.Cause(ctx)
	s.running.Wait()
	s.closeFamilies()
	if asked {
		return nil
	}
	return cause
}

// start returns when all is running that runs until the context is done.
func (s *server) start(ctx context.Context) error {
	s.configuration = proxier.WithDefaults(s.Configuration)
	s.clock = s.Host.Clock
	if s.clock == nil {
		s.clock = clock.RealClock{}
	}
	name, err := node.Name(s.configuration.HostnameOverride, s.Host.Name)
	if err != nil {
		return err
	}
	// A mistake in the configuration is told before anything is waited for. A Node object is needed by NodeCIDR only.
	if err := proxier.Validate(s.configuration); err != nil {
		return err
	}
	if err := s.startReporting(ctx); err != nil {
		return err
	}
	informers, err := config.Watch(ctx, s.API, config.Options{
		NodeName: name, ResyncPeriod: s.configuration.ConfigSyncPeriod.Duration, Logger: s.Logger,
	})
	if err != nil {
		return err
	}
	if err := config.WatchServiceCIDRs(ctx, s.API, s); err != nil {
		s.Logger.Error(err, "The ranges of cluster IPs are not known: packets to addresses of them that no service has are not dropped")
	}
	if err := s.startNode(ctx, informers, name); err != nil {
		return err
	}
	if err := s.adjustKernel(); err != nil {
		return err
	}
	if err := s.startFamilies(ctx, informers); err != nil {
		return err
	}
	s.tellDefaultedMode(name)
	s.recorder.Eventf(s.nodeReference(name), nil, v1.EventTypeNormal, "Starting", "StartKubeProxy", "")
	return nil
}

// startReporting serves metrics, and records events.
func (s *server) startReporting(ctx context.Context) error {
	s.registry = newRegistry()
	var err error
	newMetrics, counts := metrics.New, s.Host.Counters != nil
	if s.configuration.Mode == proxier.ModeNFTables {
		newMetrics, counts = metrics.NewNFTables, false
	}
	if s.metrics, err = newMetrics(s.registry); err != nil {
		return err
	}
	if counts {
		if err := metrics.RegisterPacketCounters(s.registry, s.Host.Counters, s.Logger); err != nil {
			return err
		}
	}
	s.serve(ctx, "metrics", s.configuration.MetricsBindAddress, s.metricsHandler())
	s.recorder = s.newRecorder(ctx)
	return nil
}

// startNode waits for the node, works out what the configuration means on it, and
// serves its health.
func (s *server) startNode(ctx context.Context, informers *config.Informers, name string) (err error) {
	s.node, err = node.Start(ctx, informers, node.Options{
		Name:          name,
		WatchPodCIDRs: s.configuration.DetectLocalMode == proxier.LocalModeNodeCIDR,
		Exit:          func(int) { s.stop(ErrNodeChanged) },
		Clock:         s.clock,
		Logger:        s.Logger,
	})
	if err != nil {
		return err
	}
	s.health = healthcheck.NewProxyServer(healthcheck.ProxyOptions{
		Timeout: 2 * proxier.SyncPeriod(s.configuration),
		Clock:   s.clock,
		Node:    s.node,
		Metrics: s.metrics,
	})
	s.serve(ctx, "health", s.configuration.HealthzBindAddress, s.health.Handler())
	s.settings, err = proxier.FromConfiguration(s.configuration, s.Host.Name, s.node.Node())
	if err != nil {
		return err
	}
	for _, warning := range s.settings.Warnings {
		s.Logger.Info("The configuration may not be what you want", "warning", warning)
	}
	return nil
}

// adjustKernel makes the settings that do not depend on rules.
func (s *server) adjustKernel() error {
	if s.Host.SetOOMScore != nil {
		if err := s.Host.SetOOMScore(int(*s.configuration.OOMScoreAdj)); err != nil {
			s.Logger.Error(err, "The kernel may end this process first when memory runs out")
		}
	}
	return s.applySettings()
}

func (s *server) applySettings() error {
	localhost := s.settings.IPv4.ServesLocalhostNodePorts()
	report, err := s.Host.Settings.Apply(sysctl.Wanted(&s.configuration.Conntrack, s.Host.Cores, localhost))
	for _, setting := range report.Changed {
		s.Logger.Info("Set a kernel setting", "path", setting.Path, "value", setting.Value)
	}
	if warning := report.Warning(); warning != "" {
		s.Logger.Error(nil, warning)
		s.recorder.Eventf(s.nodeReference(s.settings.NodeName), nil, v1.EventTypeWarning, "ReadOnlySysctls", "StartKubeProxy", "%s", warning)
	}
	return err
}

// tellDefaultedMode says that nobody has chosen the mode, by the log and an event, as kube-proxy does since v1.37.
func (s *server) tellDefaultedMode(name string) {
	if s.Configuration.Mode != "" {
		return
	}
	const warning = "The configuration names no mode, so it is iptables. kube-proxy's default is to be nftables from Kubernetes v1.40 on: " +
		"name the mode to be sure of it"
	s.Logger.Info(warning)
	s.recorder.Eventf(s.nodeReference(name), nil, v1.EventTypeWarning, "KubeProxyDefaultMode", "StartKubeProxy", warning)
}

func (s *server) nodeReference(name string) *v1.ObjectReference {
	return &v1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: name, UID: "", Namespace: ""}
}

// pause waits. False means that the context is done.
func (s *server) pause(ctx context.Context, d time.Duration) bool {
	timer := s.clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C():
		return ctx.Err() == nil
	}
}

// run starts a function that ends with the context.
func (s *server) run(f func()) {
	s.running.Go(f)
}

// bindInterval is how often a server that cannot listen tries again, those of the
// Services included.
const bindInterval = 5 * time.Second
