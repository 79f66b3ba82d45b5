package kind

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/tools"
)

// memory are the lists by which the nodes remember clients (session affinity). What a connection that is not kept leaves in them is taken
// back, and what is too old by the scenario's clock is taken out: the kernel's own cannot be moved.
type memory struct {
	backend *Backend
	now     time.Duration
	seen    map[remembered]time.Duration // when a kept connection was remembered last
}

// remembered is an entry of a list.
type remembered struct{ node, list, client string }

func newMemory(b *Backend) *memory { return &memory{backend: b, seen: map[remembered]time.Duration{}} }

// lists has a shell print the lists of a node. Without any it prints nothing.
const lists = `cd /proc/net/xt_recent 2>/dev/null && grep -H . * 2>/dev/null; true`

// forgetting has a shell take out of the lists of a node what is not among its arguments, which are LIST:src=CLIENT.
const forgetting = `cd /proc/net/xt_recent 2>/dev/null || exit 0
for entry in $(grep -Ho 'src=[^ ]*' * 2>/dev/null); do
	case " $* " in
	*" $entry "*) ;;
	*) echo "-${entry#*src=}" > "${entry%%:src=*}" ;;
	esac
done`

// entryPattern reads "KUBE-SEP-X:src=10.244.1.2 ttl: 64 last_seen: 4295 oldest_pkt: 1 4295".
var entryPattern = regexp.MustCompile(`^([^:]+):src=(\S+) .*last_seen: (\d+)`)

// entries are those of nodes, with when they were renewed, in the kernel's own time.
func (m *memory) entries(ctx context.Context, nodes []string) (map[remembered]string, error) {
	out := map[remembered]string{}
	var mu sync.Mutex
	err := together(nodes, func(node string) error {
		text, err := run(ctx, m.backend.relays[node], "", "sh", "-c", lists)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		for line := range strings.Lines(text) {
			if found := entryPattern.FindStringSubmatch(line); found != nil {
				out[remembered{node, found[1], found[2]}] = found[3]
			}
		}
		return nil
	})
	return out, err
}

// forget takes out of the lists of nodes what was not there before.
func (m *memory) forget(ctx context.Context, nodes []string, before map[remembered]string) error {
	return together(nodes, func(node string) error {
		argv := []string{"sh", "-c", forgetting, "forget"}
		for entry := range before {
			if entry.node == node {
				argv = append(argv, entry.list+":src="+entry.client)
			}
		}
		_, err := run(ctx, m.backend.relays[node], "", argv...)
		return err
	})
}

// remove takes entries out of the lists.
func (m *memory) remove(ctx context.Context, entries []remembered) error {
	scripts := map[string]string{}
	for _, e := range entries {
		delete(m.seen, e)
		scripts[e.node] += fmt.Sprintf("echo -%s > /proc/net/xt_recent/%s\n", e.client, e.list)
	}
	return together(sorted(scripts), func(node string) error {
		_, err := run(ctx, m.backend.relays[node], scripts[node], "sh", "-s")
		return err
	})
}

// note remembers which entries a kept connection has made or renewed on nodes.
func (m *memory) note(ctx context.Context, nodes []string, before map[remembered]string) error {
	now, err := m.entries(ctx, nodes)
	if err != nil {
		return err
	}
	for entry, renewed := range now {
		if before[entry] != renewed {
			m.seen[entry] = m.now
		}
	}
	return nil
}

// secondsPattern reads how long a rule looks back in a list.
var secondsPattern = regexp.MustCompile(`--seconds (\d+) .*--name (\S+)`)

// advance moves the scenario's clock, and takes out what rules would not find any more.
func (m *memory) advance(ctx context.Context, d time.Duration) error {
	m.now += d
	if len(m.seen) == 0 {
		return nil
	}
	lasts := map[string]time.Duration{}
	var mu sync.Mutex
	err := together(m.backend.nodeNames(), func(node string) error {
		for _, family := range tools.Families(scenarios.FamilyDual) {
			text, err := run(ctx, m.backend.relays[node], "", tools.Name(family, "-save"), "-t", "nat")
			if err != nil {
				return err
			}
			for line := range strings.Lines(text) {
				found := secondsPattern.FindStringSubmatch(line)
				if found == nil {
					continue
				}
				seconds, _ := strconv.Atoi(found[1]) // digits
				mu.Lock()
				lasts[found[2]] = time.Duration(seconds) * time.Second
				mu.Unlock()
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	var old []remembered
	for entry, at := range m.seen {
		if last, known := lasts[entry.list]; known && m.now-at >= last {
			old = append(old, entry)
		}
	}
	return m.remove(ctx, old)
}
