package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/proxier"
	"github.com/chainwalk/chainwalk/proxier/config"
	"github.com/chainwalk/chainwalk/proxier/healthcheck"
	"github.com/chainwalk/chainwalk/proxier/runner"
)

// fullSyncInterval is how often rules are synced without a reason.
const fullSyncInterval = time.Hour

// family is the proxier of one address family and what it runs with.
type family struct {
	family  v1.IPFamily
	proxier *proxier.Proxier
	runner  *runner.BoundedFrequencyRunner
	checks  *healthcheck.ServiceServer
	// cleaned says that what another mode has left was looked for.
	cleaned bool
}

// startFamilies starts the proxiers of all families that the host has tools for.
// The primary one must be among them.
func (s *server) startFamilies(ctx context.Context, informers *config.Informers) error {
	rules, missing := s.rulesOf(s.settings.Mode)
	if rules[s.settings.PrimaryFamily] == nil {
		return fmt.Errorf("the node's primary family is %s: %w", s.settings.PrimaryFamily, missing)
	}
	if missing != nil {
		s.Logger.Info("One family only is served", "primary", s.settings.PrimaryFamily, "missing", missing.Error())
		if err := s.otherFamilysPods(); err != nil {
			return err
		}
	}
	for _, settings := range []proxier.Config{s.settings.IPv4, s.settings.IPv6} {
		if settings.Rules = rules[settings.Family]; settings.Rules == nil {
			continue
		}
		f, err := s.newFamily(settings)
		if err != nil {
			return fmt.Errorf("%s: %w", settings.Family, err)
		}
		s.addFamily(f)
	}
	for _, f := range s.families {
		s.run(func() { f.runner.Loop(ctx) })
		s.run(func() { f.proxier.Monitor(s.settings.SyncPeriod, ctx.Done()) })
		s.run(func() { s.retryChecks(ctx, f) })
	}
	_, err := informers.AddConsumer(ctx, s.handler())
	return err
}

// otherFamilysPods is an error if the pods' ranges are all of the family that is
// not served: whoever wrote them expected that family.
func (s *server) otherFamilysPods() error {
	served := s.settings.IPv4
	if s.settings.PrimaryFamily == v1.IPv6Protocol {
		served = s.settings.IPv6
	}
	if s.configuration.ClusterCIDR == "" || served.LocalDetector != (proxier.LocalDetector{}) {
		return nil
	}
	return fmt.Errorf("only %s is served, but clusterCIDR %s has no range of it: "+
		"correct clusterCIDR, or install the other family's tools",
		s.settings.PrimaryFamily, s.configuration.ClusterCIDR)
}

func (s *server) newFamily(settings proxier.Config) (*family, error) {
	f := &family{family: settings.Family}
	f.runner = runner.NewBoundedFrequencyRunner(func() error { return s.sync(f) }, runner.Options{
		Name:          "sync-" + string(settings.Family),
		MinInterval:   s.settings.MinSyncPeriod,
		RetryInterval: s.settings.SyncPeriod,
		MaxInterval:   fullSyncInterval,
		Clock:         s.clock,
		Logger:        s.Logger,
	})
	settings.Sysctls, settings.Network, settings.Conntrack = s.Host.Settings, s.Host.Network, s.Host.Conntrack
	f.checks = healthcheck.NewServiceServer(healthcheck.ServiceOptions{
		Family:    settings.Family,
		NodeName:  settings.NodeName,
		Addresses: settings.NodePortListeners(),
		Proxy:     s.health,
		Recorder:  s.recorder,
		Logger:    s.Logger,
	})
	settings.Metrics, settings.Health, settings.ServiceHealth = s.metrics.ForFamily(settings.Family), s.health, f.checks
	settings.NoHourlyFullSync = s.NoHourlyFullSync
	settings.SyncPeriod, settings.Clock, settings.Logger = s.settings.SyncPeriod, s.clock, s.Logger
	settings.Changed = f.runner.Run
	var err error
	f.proxier, err = proxier.New(settings)
	return f, err
}

// sync is what the runner runs. An error makes it try again.
func (s *server) sync(f *family) error {
	err := f.proxier.Sync()
	if errors.Is(err, proxier.ErrNotDelivered) {
		return nil // the delivery asks for a sync
	}
	if err != nil {
		s.Logger.Error(err, "Sync failed", "retryAfter", s.settings.SyncPeriod)
		return err
	}
	if !f.cleaned {
		f.cleaned = true
		s.removeOtherModes(f.family)
	}
	return nil
}

// retryChecks binds health check ports that others held when they were needed.
func (s *server) retryChecks(ctx context.Context, f *family) {
	for s.pause(ctx, bindInterval) {
		f.checks.Retry()
	}
}

// handler gives events to all families.
func (s *server) handler() config.Handler {
	if len(s.families) == 1 {
		return s.families[0].proxier
	}
	return &proxier.DualStack{IPv4: s.families[0].proxier, IPv6: s.families[1].proxier}
}

// closeFamilies ends the health checks of Services.
func (s *server) closeFamilies() {
	for _, f := range s.families {
		f.checks.Close()
	}
}
