package trial

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/chainwalk/chainwalk/scenarios"
)

// TestAKernelHoldsWhatItsTransitionsLeave has events in the order of a play, and what the kernel may hold after the last one. A sync is
// named by a letter, which stands for what it was made of.
func TestAKernelHoldsWhatItsTransitionsLeave(t *testing.T) {
	for _, row := range []struct{ events, holds string }{
		{"", "0, fresh"},
		{"succeeded A", "A, first of its proxier"},
		{"succeeded A, succeeded B", "B"},
		{"failed A", "0, fresh, or A"},
		{"failed A, failed B", "0, fresh, or A or B"},
		{"failed A, succeeded B", "B, first of its proxier"},
		{"succeeded A, failed B, succeeded C", "C"},
		{"succeeded A, doubted B", "A, first of its proxier, or B, in doubt"},
		{"succeeded A, doubted B, failed C", "A, first of its proxier, or B or C, in doubt"},
		{"succeeded A, doubted B, succeeded C", "C"},
		{"lied A", "A, on its word of step 7"},
		{"lied A, succeeded B", "B"},
		{"lied A, failed B", "A, or B"},
		{"succeeded A, begins B", "A, first of its proxier, or B"},
		{"lied A, begins B", "A, or B"},
		{"succeeded A, restarted", "A, fresh"},
		{"succeeded A, failed B, restarted", "A, fresh, or B"},
		{"succeeded A, restarted, succeeded B", "B, first of its proxier"},
		{"restarted, lied A", "A, on its word of step 7"},
		{"succeeded A, flushed", "A, first of its proxier, damaged"},
		{"succeeded A, flushed, failed B", "A, first of its proxier, or B, damaged"},
		{"succeeded A, flushed, succeeded B", "B"},
		{"succeeded A, flushed filter, succeeded B", "B, unfiltered"},
		{"succeeded A, edited, succeeded B", "B, damaged"},
		{"succeeded A, edited, restarted, succeeded B", "B, first of its proxier"},
		{"succeeded A, restarted, edited, succeeded B", "B, first of its proxier"},
		{"succeeded A, restarted, failed B, edited, succeeded C", "C, first of its proxier, damaged"},
		{"succeeded A, edited, an hour, succeeded B", "B"},
		{"succeeded A, foreign, an hour, restarted, succeeded B", "B, first of its proxier, damaged"},
		{"succeeded A, others flushed, an hour, succeeded B", "B, damaged"},
	} {
		t.Run(row.events, func(t *testing.T) {
			k := &kernel{ruled: &view{}}
			names := map[*view]string{k.ruled: "0"}
			now := time.Duration(0)
			for event := range strings.SplitSeq(row.events, ", ") {
				now += happen(k, event, now, names)
			}
			assert.Equal(t, row.holds, toldOf(k, names))
		})
	}
}

func cond(is bool, text string) string {
	if is {
		return text
	}
	return ""
}

// happen lets an event happen, and says how long it takes.
func happen(k *kernel, event string, now time.Duration, names map[*view]string) time.Duration {
	what, of, _ := strings.Cut(event, " ")
	faults := map[string]*scenarios.Fault{
		"flushed": {Flush: []string{"nat"}}, "flushed filter": {Flush: []string{"filter"}}, "others flushed": {Flush: []string{"nat"}},
		"edited": {Run: []string{"iptables -t nat -F KUBE-SERVICES"}}, "foreign": {Run: []string{"iptables -P FORWARD DROP"}},
	}
	if f := faults[event]; f != nil {
		k.damaged(f, event != "others flushed", now)
		return 0
	}
	switch what {
	case "an":
		return time.Hour
	case "restarted":
		k.restarted()
		return 0
	case "":
		return 0
	}
	k.next = &view{}
	names[k.next] = of
	k.begins()
	switch what {
	case "succeeded":
		k.succeeded(k.ends(), now)
	case "failed":
		k.failed(k.ends(), errors.New("exit status 4"))
	case "doubted":
		k.failed(k.ends(), nil)
	case "lied":
		k.lied(k.ends(), 7)
	}
	return time.Second
}

func toldOf(k *kernel, names map[*view]string) string {
	out := names[k.ruled]
	for _, is := range []struct {
		so   bool
		text string
	}{
		{k.fresh(), ", fresh"}, {k.first(), ", first of its proxier"}, {k.word > 0, fmt.Sprintf(", on its word of step %d", k.word)},
	} {
		out += cond(is.so, is.text)
	}
	var tried []string
	for _, v := range k.allTried() {
		tried = append(tried, names[v])
	}
	out += cond(len(tried) > 0, ", or ") + strings.Join(tried, " or ")
	return out + cond(k.doubtful, ", in doubt") + cond(k.damage.any(), ", damaged") + cond(k.damage.unfiltered, ", unfiltered")
}
