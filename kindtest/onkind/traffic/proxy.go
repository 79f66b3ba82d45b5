package traffic

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"

	"github.com/chainwalk/chainwalk/kindtest/probe"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// lasting is how many connections stay open while the proxier is replaced.
const lasting = 20

// proxierReplaced kills the proxier of a node, whose pod is replaced. The rules stay, so connections go on, and new ones are made all the
// while.
func proxierReplaced(ctx context.Context, s *stage) (told string, err error) {
	if s.Cluster.Foreign() != nil {
		return "not tried: the cluster's own kube-proxy is left as it is", nil
	}
	client, servers, to, err := s.webService(ctx, "traffic-replaced", false)
	if err != nil {
		return "", err
	}
	if err := s.answers(ctx, client, inet.TCP, to, servers[0].name, servers[1].name); err != nil {
		return "", err
	}
	old, err := s.begin(ctx, client, probe.Load{
		Name: "lasting", Kind: probe.Lasting, Proto: inet.TCP, To: to, Every: 100 * time.Millisecond, Connections: lasting,
	})
	if err != nil {
		return "", err
	}
	fresh, err := s.begin(ctx, client, probe.Load{Name: "short", Kind: probe.Short, Proto: inet.TCP, To: to, Every: 50 * time.Millisecond})
	if err != nil {
		return "", err
	}
	if err := s.Cluster.ReplaceProxy(ctx, []string{client.machine}); err != nil {
		return "", err
	}
	var errs []error
	asked, err := old.stop(ctx)
	errs = append(errs, err, all(asked))
	made, err := fresh.stop(ctx)
	errs = append(errs, err, all(made))
	return fmt.Sprintf("%d questions on %d connections that were there, %d new connections", len(asked), lasting, len(made)),
		errors.Join(errs...)
}

// syncPeriod is how often the proxier looks for its canary chains while rules are flushed.
const syncPeriod = 5 * time.Second

// rulesFlushed takes all rules of the proxier away on one node, with its canary chains; those of others stay. The proxier finds that
// within a sync period, and writes them again.
func rulesFlushed(ctx context.Context, s *stage) (told string, err error) {
	if s.Mode != "iptables" {
		return "nothing to flush in mode " + s.Mode, nil
	}
	client, servers, to, err := s.webService(ctx, "traffic-flushed", false)
	if err != nil {
		return "", err
	}
	if err := s.lookEvery(ctx, client.machine, syncPeriod); err != nil {
		return "", err
	}
	if err := s.answers(ctx, client, inet.TCP, to, servers[0].name, servers[1].name); err != nil {
		return "", err
	}
	tool := "iptables"
	if s.v6() {
		tool = "ip6tables"
	}
	flush := fmt.Sprintf(`%[1]s-save -t nat | grep -q KUBE-SVC- || { echo there are no rules to flush >&2; exit 1; }
for table in nat filter mangle; do %[1]s-save -t $table | grep -v KUBE- | %[1]s-restore -T $table || exit 1; done`, tool)
	if _, err := s.exec(ctx, client.machine, "sh", "-c", flush); err != nil {
		return "", err
	}
	began := time.Now()
	if err := s.answers(ctx, client, inet.TCP, to, servers[0].name, servers[1].name); err != nil {
		return "", err
	}
	took := time.Since(began)
	if took > syncPeriod+recovers {
		return "", fmt.Errorf("the rules were there again only after %.1f s, with a sync period of %s", took.Seconds(), syncPeriod)
	}
	return fmt.Sprintf("repaired after %.1f s, with a sync period of %s", took.Seconds(), syncPeriod), nil
}

// lookEvery gives the proxier of a node a sync period, until the end of the change.
func (s *stage) lookEvery(ctx context.Context, node string, period time.Duration) error {
	if s.Cluster.Foreign() != nil {
		return nil // an existing cluster's proxy keeps its own
	}
	configure := func(ctx context.Context, period time.Duration) error {
		config := &kubeproxyconfig.KubeProxyConfiguration{DetectLocalMode: "InterfaceNamePrefix"}
		config.DetectLocal.InterfaceNamePrefix = "veth"
		config.IPTables.SyncPeriod = metav1.Duration{Duration: period}
		return s.Cluster.Configure(ctx, map[string]*kubeproxyconfig.KubeProxyConfiguration{node: config})
	}
	s.later(func(ctx context.Context) error { return configure(ctx, 0) })
	return configure(ctx, period)
}

// otherZone is the zone that a node moves to.
const otherZone = "chainwalk-elsewhere"

// zoneChanges moves a node to another zone. Its clients use the endpoint that is hinted for the zone of before, and then the other one;
// not one connection fails in between.
func zoneChanges(ctx context.Context, s *stage) (told string, err error) {
	client, servers, to, err := s.webService(ctx, "traffic-zone", true)
	if err != nil {
		return "", err
	}
	if err := s.answers(ctx, client, inet.TCP, to, servers[0].name); err != nil {
		return "", err
	}
	l, err := s.begin(ctx, client, probe.Load{Name: "zone", Kind: probe.Short, Proto: inet.TCP, To: to, Every: 50 * time.Millisecond})
	if err != nil {
		return "", err
	}
	zone := s.workers()[0].Zone
	s.later(func(ctx context.Context) error { return s.label(ctx, client.machine, zone) })
	if err := s.label(ctx, client.machine, otherZone); err != nil {
		return "", err
	}
	if err := s.answers(ctx, client, inet.TCP, to, servers[1].name); err != nil {
		return "", err
	}
	if err := l.goOn(ctx); err != nil {
		return "", err
	}
	asked, err := l.stop(ctx)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d connections, first to %s, then to %s", len(asked), servers[0].name, servers[1].name), all(asked)
}

// label gives a node its zone.
func (s *stage) label(ctx context.Context, node, zone string) error {
	patch := fmt.Sprintf(`{"metadata": {"labels": {%q: %q}}}`, corev1.LabelTopologyZone, zone)
	_, err := s.Cluster.Client().Nodes().Patch(ctx, node, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}
