package kind

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// still are the nodes whose proxies hold still: they are stopped, and write nothing until they go on. Then they hear of all that came
// meanwhile, in order.
type still struct {
	backend *Backend
	nodes   map[string]bool
	held    map[string]bool     // those that go on by no sync
	flushed map[string][]string // the tables that somebody has flushed, "TOOL TABLE"
	// zones are the nodes whose proxies have not heard of their zone.
	zones map[string]zoneChange
}

// zoneChange is another zone of a node; now is nil where it has none any more.
type zoneChange struct {
	before string
	now    *string
}

func newStill(b *Backend) *still {
	return &still{backend: b, nodes: map[string]bool{}, held: map[string]bool{}, flushed: map[string][]string{},
		zones: map[string]zoneChange{}}
}

// ofProxy is how the command line of a proxy ends, whichever proxy it is (package cluster).
const ofProxy = `-- '--config /config.yaml$'`

// running lists the processes that have a name and run: one that has come to its end has it still, for as long as who began it takes no
// notice, as one who is stopped cannot.
const running = "pgrep -r D,R,S"

// stopProxy stops a node's proxy, and waits for a tool that it may have begun: that one would write still.
const stopProxy = `pkill -STOP -f ` + ofProxy + ` || exit 1
left=100
while [ "$left" -gt 0 ] && ` + running + ` '^(nft|ip6?tables.*)$' >/dev/null; do left=$((left - 1)); sleep 0.05; done`

// goOnProxy lets it go on.
const goOnProxy = `pkill -CONT -f ` + ofProxy

// stop stops the proxies of nodes.
func (t *still) stop(ctx context.Context, nodes []string) error {
	nodes = slices.DeleteFunc(slices.Clone(nodes), func(node string) bool { return t.nodes[node] })
	for _, node := range nodes {
		t.nodes[node] = true
	}
	return t.signal(ctx, nodes, stopProxy)
}

// goOn lets the proxies of nodes go on, but for those that are held.
func (t *still) goOn(ctx context.Context, nodes []string) error {
	nodes = slices.DeleteFunc(slices.Clone(nodes), func(node string) bool { return !t.nodes[node] || t.held[node] })
	for _, node := range nodes {
		delete(t.nodes, node)
	}
	defer func() {
		for _, node := range nodes {
			delete(t.flushed, node)
		}
	}()
	if err := t.signal(ctx, nodes, goOnProxy); err != nil {
		return err
	}
	if err := t.noticed(ctx, nodes); err != nil {
		return err
	}
	for _, node := range nodes {
		change, changed := t.zones[node]
		delete(t.zones, node)
		if !changed {
			continue
		}
		if err := t.backend.sentinel.zone(ctx, node, change.before, change.now); err != nil {
			return err
		}
	}
	return nil
}

// noticing is how long a proxy may take to notice that tables were flushed: it waits five seconds for the other ones to be flushed as
// well. One that does not notice is no error here, as kube-proxy does not unless mangle is flushed, too: what comes of it is looked at.
const noticing = 5*time.Second + 10*flushedSyncPeriod

// noticed waits until the proxies of nodes have noticed that tables were flushed: the jumps to their chains are there again, or in
// mangle, where they have none, the chain by which they notice.
func (t *still) noticed(ctx context.Context, nodes []string) error {
	const script = `while [ $# -gt 0 ]; do
	case $2 in mangle) sign='-N KUBE-PROXY-CANARY' ;; *) sign='-j KUBE-SERVICES' ;; esac
	"$1" -w -t "$2" -S 2>/dev/null | grep -q -e "$sign" || exit 1
	shift 2
done`
	waiting, cancel := context.WithTimeout(ctx, noticing)
	defer cancel()
	return together(nodes, func(node string) error {
		if len(t.flushed[node]) == 0 {
			return nil
		}
		argv := append([]string{"sh", "-c", script, "noticed"}, strings.Fields(strings.Join(t.flushed[node], " "))...)
		again := time.NewTicker(lookAgain)
		defer again.Stop()
		for {
			done, err := t.backend.relays[node].Exec(ctx, command(argv...))
			if err != nil || done.Status == 0 {
				return err
			}
			select {
			case <-waiting.Done():
				return nil
			case <-again.C:
			}
		}
	})
}

func (t *still) signal(ctx context.Context, nodes []string, script string) error {
	return together(nodes, func(node string) error {
		if _, err := run(ctx, t.backend.relays[node], "", "sh", "-c", script); err != nil {
			return fmt.Errorf("%s: the proxy: %w", node, err)
		}
		return nil
	})
}

// stale reports whether a proxy holds still that has not heard of all objects.
func (t *still) stale() bool {
	for node := range t.nodes {
		if _, flushed := t.flushed[node]; !flushed {
			return true
		}
	}
	return false
}

// hold holds these nodes from here on, and lets others go on that were held.
func (t *still) hold(ctx context.Context, nodes []string) error {
	before := slices.Collect(maps.Keys(t.held))
	clear(t.held)
	for _, node := range nodes {
		t.held[node] = true
	}
	if err := t.stop(ctx, nodes); err != nil {
		return err
	}
	return t.goOn(ctx, before)
}

// end lets all go on.
func (t *still) end(ctx context.Context) error {
	clear(t.held)
	return t.goOn(ctx, sorted(t.nodes))
}

// zone waits until a node's proxy knows that its zone has changed; one that holds still is waited for when it goes on.
func (t *still) zone(ctx context.Context, node, before string, now *string) error {
	if !t.nodes[node] {
		return t.backend.sentinel.zone(ctx, node, before, now)
	}
	if earlier, known := t.zones[node]; known {
		before = earlier.before
	}
	t.zones[node] = zoneChange{before, now}
	return nil
}

// wakeProxies lets the proxies go on that an earlier run, which was killed, has left stopped or with tools that fail.
func (b *Backend) wakeProxies(ctx context.Context) error {
	if b.facts.Foreign != nil {
		return nil
	}
	if err := newFailing(b, nil).heal(ctx, b.nodeNames()); err != nil {
		return err
	}
	return newStill(b).signal(ctx, b.nodeNames(), goOnProxy+" || true")
}
