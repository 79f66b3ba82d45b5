package kind

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/chainwalk/chainwalk/internal/lazyregexp"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/world/tools"
)

// recentLists are the lists of the match recent, in which mode iptables remembers clients.
type recentLists struct{}

// listing has a shell print the lists of a node, each entry after the name of its list, also where there is one alone. Without any it
// prints nothing.
const listing = `cd /proc/net/xt_recent 2>/dev/null && grep -H . * 2>/dev/null; true`

// forgetting is a shell script. Its arguments name entries as LIST:src=CLIENT; it deletes all other entries from a node's lists. It runs
// between any two of many connections, so it starts no other program.
const forgetting = `cd /proc/net/xt_recent 2>/dev/null || exit 0
these=
for list in *; do
	[ -f "$list" ] || continue
	while read -r source rest; do these="$these $list:$source"; done <"$list"
done
for entry in $these; do
	case " $* " in
	*" $entry "*) ;;
	*) echo "-${entry#*:src=}" >"${entry%%:src=*}" ;;
	esac
done`

// entryPattern reads "KUBE-SEP-X:src=10.244.1.2 ttl: 64 last_seen: 4295 oldest_pkt: 1 4295".
var entryPattern = lazyregexp.New(`^([^:]+):src=(\S+) .*last_seen: (\d+)`)

func (recentLists) read(ctx context.Context, r relay) (map[listed]moment, error) {
	text, err := run(ctx, r, "", "sh", "-c", listing)
	out := map[listed]moment{}
	for line := range strings.Lines(text) {
		if found := entryPattern().FindStringSubmatch(line); found != nil {
			jiffies, _ := strconv.ParseInt(found[3], 10, 64) // digits
			out[listed{found[1], found[2]}] = moment{at: jiffies}
		}
	}
	return out, err
}

func (recentLists) keepOnly(ctx context.Context, r relay, these []listed) error {
	argv := []string{"sh", "-c", forgetting, "forget"}
	for _, entry := range these {
		argv = append(argv, entry.list+":src="+entry.client)
	}
	_, err := run(ctx, r, "", argv...)
	return err
}

func (recentLists) remove(ctx context.Context, r relay, these []listed) error {
	var script strings.Builder
	for _, e := range these {
		fmt.Fprintf(&script, "echo -%s > /proc/net/xt_recent/%s\n", e.client, e.list)
	}
	_, err := run(ctx, r, script.String(), "sh", "-s")
	return err
}

// secondsPattern reads how long a rule looks back in a list.
var secondsPattern = lazyregexp.New(`--seconds (\d+) .*--name (\S+)`)

func (recentLists) lasts(ctx context.Context, r relay) (map[string]time.Duration, error) {
	out := map[string]time.Duration{}
	for _, family := range tools.Families(scenarios.FamilyDual) {
		text, err := run(ctx, r, "", tools.Name(family, "-save"), "-t", "nat")
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(text) {
			if found := secondsPattern().FindStringSubmatch(line); found != nil {
				seconds, _ := strconv.Atoi(found[1]) // digits
				out[found[2]] = time.Duration(seconds) * time.Second
			}
		}
	}
	return out, nil
}
