package main

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/chainwalk/chainwalk/kindtest/onkind/beside"
	"github.com/chainwalk/chainwalk/kindtest/onkind/cluster"
	"github.com/chainwalk/chainwalk/kindtest/onkind/kind"
	"github.com/chainwalk/chainwalk/kindtest/onkind/provision"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios"
)

// bench is a cluster that scenarios are run on, one after the other.
type bench struct {
	cluster  *cluster.Cluster
	machines beside.Machines
	kind     *kind.Backend
	backend  *beside.Backend
}

// besideWorkers are the nodes beside the control plane of the second cluster. With it they are as many as most scenarios have.
const besideWorkers = 1

// besideOf is the name of the cluster beside another one.
func besideOf(name string) string {
	if name == "" {
		name = cluster.DefaultName
	}
	return name + "-beside"
}

// clusters returns the configurations of the clusters to start: one that can run every scenario, and a small one beside it unless the run
// is single. Where the first cluster exists, the second is used if an earlier run has left it; it is not created.
func (r *run) clusters(own, proxy string) ([]cluster.Config, error) {
	first := cluster.Config{
		Name: r.options.cluster, Existing: r.options.cluster != "", Keep: r.keep, Image: r.image, Family: scenarios.IPFamily(r.family),
		Workers: r.workers, Dialect: netfilter.Dialect(r.tool), Binary: own, Progress: r.out, Artifacts: r.artifacts(0),
		Provision: provision.Nodes,
		Proxy:     cluster.Proxy{Name: r.proxy, Mode: r.mode, Binary: proxy},
	}
	if r.single || r.only == partChanges {
		return []cluster.Config{first}, nil
	}
	second := first
	second.Name, second.Workers, second.Artifacts = besideOf(first.Name), besideWorkers, r.artifacts(1)
	second.Progress = &marked{out: r.out, mark: "beside: "}
	if first.Existing {
		if there, err := cluster.Exists(second.Name); err != nil || !there {
			return []cluster.Config{first}, err
		}
	}
	return []cluster.Config{first, second}, nil
}

// open makes the clusters, at the same time, and takes them into the hands of backends.
func (r *run) open(ctx context.Context, configs []cluster.Config) error {
	r.benches = make([]*bench, len(configs))
	group, grouped := errgroup.WithContext(ctx)
	for i, config := range configs {
		group.Go(func() error {
			c, err := cluster.Start(grouped, config)
			if err == nil {
				r.benches[i] = &bench{cluster: c}
			}
			return err
		})
	}
	err := group.Wait()
	if err == nil {
		err = r.noteProxy()
	}
	for place, b := range r.benches {
		if err == nil {
			err = b.connect(ctx, place, r.unpredicted())
		}
	}
	if err != nil {
		return errors.Join(err, r.end(ctx, false))
	}
	return nil
}

// noteProxy notes what the clusters are, and which proxy they have.
func (r *run) noteProxy() error {
	first := r.benches[0].cluster
	for _, b := range r.benches[1:] {
		if b.cluster.Mode() != first.Mode() || (b.cluster.Foreign() == nil) != (first.Foreign() == nil) {
			return fmt.Errorf("the cluster %s has another proxy than the one that it is beside: leave it out with -single",
				besideOf(r.options.cluster))
		}
	}
	if first.Foreign() != nil {
		r.proxy = cluster.KubeProxy // the cluster's own, of its own mode
	}
	r.mode = first.Mode()
	r.report.Proxy, r.report.Mode, r.report.Image = r.proxy, r.mode, first.Image()
	return nil
}

// unpredicted says why nothing can be predicted; empty if something can.
func (r *run) unpredicted() string {
	if r.mode == "iptables" || r.mode == "nftables" {
		return ""
	}
	return fmt.Sprintf("%s is in mode %s, which is not simulated", r.proxy, r.mode)
}

// connect takes the cluster into the hands of the backend. Place is the number of the cluster, and none says why nothing can be predicted.
func (b *bench) connect(ctx context.Context, place int, none string) error {
	var err error
	if b.machines, err = beside.MachinesOf(ctx, b.cluster); err != nil {
		return err
	}
	if b.kind, err = kind.New(ctx, b.cluster, kind.Options{Place: place}); err != nil {
		return err
	}
	b.backend = beside.New(b.kind, b.machines, none)
	return nil
}

func (b *bench) export(ctx context.Context, folder string) error {
	return b.cluster.Export(ctx, folder)
}

// close puts back what the backend has changed, and takes the cluster away.
func (b *bench) close(ctx context.Context) error {
	var errs []error
	if b.kind != nil {
		errs = append(errs, b.kind.Close(ctx))
	}
	return errors.Join(append(errs, b.machines.Close(), b.cluster.Close(ctx))...)
}
