package kind

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/chainwalk/chainwalk/internal/lazyregexp"
)

// affinitySets are the sets of nftables by which kube-proxy's mode nftables remembers clients: affinity-..., one for each endpoint, in the
// table kube-proxy of the family. Their elements end by themselves, after the time that their set has.
type affinitySets struct{}

// setListing prints how long a node's kernel is up, before and after all sets. JSON would have only the seconds of the times.
const setListing = `cut -d' ' -f1 /proc/uptime && nft list sets && cut -d' ' -f1 /proc/uptime`

var (
	tablePattern   = lazyregexp.New(`^table (ip6?) kube-proxy \{`)
	setPattern     = lazyregexp.New(`^\s*set (affinity-\S+) \{`)
	timeoutPattern = lazyregexp.New(`^\s*timeout (\S+)`)
	elementPattern = lazyregexp.New(`([0-9a-fA-F.:]+)(?: timeout \S+)? expires (\w+)`)
	spanPattern    = lazyregexp.New(`(\d+)(ms|d|h|m|s)`)
)

// affinitySet is one as nft prints it, with when each client is forgotten.
type affinitySet struct {
	name    string
	timeout time.Duration
	clients map[string]time.Duration // from now on
}

// readSets reads what nft list sets prints.
func readSets(text string) []affinitySet {
	var out []affinitySet
	ours, current := false, -1
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "table "):
			ours, current = tablePattern().MatchString(line), -1
		case !ours:
		case strings.HasPrefix(strings.TrimSpace(line), "set "):
			current = -1
			if found := setPattern().FindStringSubmatch(line); found != nil {
				out = append(out, affinitySet{name: found[1], clients: map[string]time.Duration{}})
				current = len(out) - 1
			}
		case current < 0:
		default:
			if found := timeoutPattern().FindStringSubmatch(line); found != nil {
				out[current].timeout = spanOf(found[1])
			}
			for _, found := range elementPattern().FindAllStringSubmatch(line, -1) {
				out[current].clients[found[1]] = spanOf(found[2])
			}
		}
	}
	return out
}

// spanOf reads a time as nft prints it, such as 1d2h59m58s996ms.
func spanOf(text string) time.Duration {
	units := map[string]time.Duration{"d": 24 * time.Hour, "h": time.Hour, "m": time.Minute, "s": time.Second, "ms": time.Millisecond}
	var sum time.Duration
	for _, found := range spanPattern().FindAllStringSubmatch(text, -1) {
		n, _ := strconv.Atoi(found[1]) // digits
		sum += time.Duration(n) * units[found[2]]
	}
	return sum
}

// rounded is how much of the times is not printed, in milliseconds: those of the kernel have hundredths of a second.
const rounded = 10 + 1

// read takes the end of an element for its renewal: the one is always as long after the other. The kernel said how long an element still
// lives at some time between the two looks at the clock.
func (affinitySets) read(ctx context.Context, r relay) (map[listed]moment, error) {
	text, err := run(ctx, r, "", "sh", "-c", setListing)
	if err != nil {
		return nil, err
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	before, err := strconv.ParseFloat(strings.TrimSpace(lines[0]), 64)
	after, err2 := strconv.ParseFloat(strings.TrimSpace(lines[len(lines)-1]), 64)
	if err := errors.Join(err, err2); err != nil {
		return nil, fmt.Errorf("read the sets of nftables: %w", err)
	}
	sets, vague := strings.Join(lines[1:max(1, len(lines)-1)], "\n"), int64((after-before)*1000)+rounded
	out := map[listed]moment{}
	for _, set := range readSets(sets) {
		for client, left := range set.clients {
			out[listed{set.name, client}] = moment{at: int64(before*1000) + left.Milliseconds(), vague: vague}
		}
	}
	return out, nil
}

func (a affinitySets) keepOnly(ctx context.Context, r relay, these []listed) error {
	now, err := a.read(ctx, r)
	if err != nil {
		return err
	}
	for _, entry := range these {
		delete(now, entry)
	}
	var others []listed
	for entry := range now {
		others = append(others, entry)
	}
	if len(others) == 0 {
		return nil
	}
	return a.remove(ctx, r, others)
}

// remove takes clients out one by one: one that has ended by itself meanwhile is no error.
func (affinitySets) remove(ctx context.Context, r relay, these []listed) error {
	var script strings.Builder
	script.WriteString("set -e\n")
	for _, e := range slices.SortedFunc(slices.Values(these),
		func(a, b listed) int { return strings.Compare(a.list+a.client, b.list+b.client) }) {
		family := "ip"
		if strings.Contains(e.client, ":") {
			family = "ip6"
		}
		element := fmt.Sprintf("element %s kube-proxy %s '{ %s }'", family, e.list, e.client)
		fmt.Fprintf(&script, "nft delete %[1]s 2>/dev/null || ! nft get %[1]s >/dev/null 2>&1 || { echo 'cannot delete %[2]s' >&2; exit 1; }\n",
			element, e.client)
	}
	_, err := run(ctx, r, script.String(), "sh", "-s")
	return err
}

func (affinitySets) lasts(ctx context.Context, r relay) (map[string]time.Duration, error) {
	text, err := run(ctx, r, "", "nft", "list", "sets")
	out := map[string]time.Duration{}
	for _, set := range readSets(text) {
		out[set.name] = set.timeout
	}
	return out, err
}
