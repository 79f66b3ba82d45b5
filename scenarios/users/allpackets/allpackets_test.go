package allpackets

import (
	"html"
	"io/fs"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/forall"
	"github.com/chainwalk/chainwalk/internal/dom"
	"github.com/chainwalk/chainwalk/internal/dumps"
	_ "github.com/chainwalk/chainwalk/internal/garbage"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios/explain/names"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// objectsOnce are the objects of the recorded cluster, read once. Nobody changes them.
var objectsOnce = sync.OnceValues(func() ([]manifest.Object, error) {
	file, err := dumps.Kind().Open("objects.yaml")
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // only read
	return manifest.ReadObjects("objects.yaml", file)
})

// recordedObjects are those of the recorded cluster.
func recordedObjects(t *testing.T) []manifest.Object {
	t.Helper()
	objects, err := objectsOnce()
	require.NoError(t, err)
	return objects
}

// recorded is a node of the recorded cluster, with some texts of its snapshot replaced.
func recorded(t *testing.T, objects []manifest.Object, name string, replace ...string) Side {
	t.Helper()
	text, err := fs.ReadFile(dumps.Kind(), "nft/"+name+".yaml")
	require.NoError(t, err)
	edited := strings.NewReplacer(replace...).Replace(string(text))
	if len(replace) > 0 {
		require.NotEqual(t, string(text), edited)
	}
	taken, err := snapshot.Read(name, strings.NewReader(edited))
	require.NoError(t, err)
	host, err := snapshot.NewHost(taken, snapshot.HostOptions{})
	require.NoError(t, err)
	side := Side{Name: name, Host: host, Families: []netfilter.Family{netfilter.IPv4, netfilter.IPv6}}
	if objects != nil {
		side.Names = names.New(objects)
	}
	return side
}

// edits are changes of a node that show in most of what a page has: several fates, a device, a policy.
var edits = []string{"--to-destination 10.244.1.2:8080", "--to-destination 10.244.1.9:8080", ":FORWARD ACCEPT", ":FORWARD DROP"}

// comparison is of a node before and after edits.
func comparison(t *testing.T) *Diff {
	t.Helper()
	objects := recordedObjects(t)
	d, err := Compare([2]Side{recorded(t, objects, "demo-worker"), recorded(t, objects, "demo-worker", edits...)}, forall.Options{})
	require.NoError(t, err)
	require.NotEmpty(t, d.Differences)
	return d
}

// oddNode is a comparison of the recorded nodes of which one was edited.
func oddNode(t *testing.T) *Nodes {
	t.Helper()
	objects := recordedObjects(t)
	n, err := Across([]Side{
		recorded(t, objects, "demo-control-plane"), recorded(t, objects, "demo-worker", edits...), recorded(t, objects, "demo-worker2"),
	}, objects, forall.Options{})
	require.NoError(t, err)
	return n
}

// answers are to a question about two of the recorded nodes.
func answers(t *testing.T) *Answers {
	t.Helper()
	objects := recordedObjects(t)
	nodes := []Side{recorded(t, objects, "demo-worker"), recorded(t, objects, "demo-worker2")}
	r, err := Ask(nodes, "what can reach 10.244.1.2:8080 tcp to svc/shop/web from outside", false)
	require.NoError(t, err)
	require.NotEmpty(t, r.Kinds)
	return r
}

func TestPageOfAnswersHasWhatTheTextHas(t *testing.T) {
	r := answers(t)
	var page, text strings.Builder
	require.NoError(t, r.WriteHTML(&page))
	require.NoError(t, r.WriteText(&text))
	shown := html.UnescapeString(page.String())
	for i := range r.Kinds {
		one := &r.Kinds[i]
		for _, want := range append([]string{r.Question, one.Packet, one.Ends, one.Fates[0].Fate.String(), one.where()}, one.Decided...) {
			assert.Contains(t, shown, want)
		}
		assert.Contains(t, text.String(), one.Packets)
	}
	assert.Contains(t, shown, "The way through demo-worker")
}

func TestPagesHaveWhatTheTextHas(t *testing.T) {
	d, n := comparison(t), oddNode(t)
	assert.Equal(t, [][]string{{"demo-control-plane", "demo-worker2"}, {"demo-worker"}}, n.Groups)
	var page, text strings.Builder
	require.NoError(t, d.WriteHTML(&page))
	d.All = true
	require.NoError(t, d.WriteText(&text))
	for i := range d.Differences {
		one := &d.Differences[i]
		for _, want := range append([]string{one.Ends, one.Before[0].Fate.String(), one.After[0].Fate.String()}, one.If...) {
			assert.Contains(t, html.UnescapeString(page.String()), want)
			assert.Contains(t, text.String(), want)
		}
		assert.NotNil(t, one.witness)
		assert.NotEmpty(t, one.DecidedBefore)
	}
	assert.Contains(t, page.String(), "The way before")
	page.Reset()
	text.Reset()
	require.NoError(t, n.WriteHTML(&page))
	n.All = true
	require.NoError(t, n.WriteText(&text))
	for i := range n.Odd {
		for _, want := range []string{n.Odd[i].From, n.Odd[i].Most, "demo-worker"} {
			assert.Contains(t, html.UnescapeString(page.String()), want)
			assert.Contains(t, text.String(), want)
		}
	}
	assert.Contains(t, page.String(), "The way on demo-worker<")
	assert.Equal(t, "1 of 3 nodes is odd: demo-worker", n.Answer)
	for _, what := range append(n.LeftOut, n.Compared...) {
		assert.Contains(t, strings.Join(strings.Fields(text.String()), " "), what)
	}
}

// TestKindsAreGroupedByTheRulesThatDecide: what one rule stops is told once, and every kind is told or counted.
func TestKindsAreGroupedByTheRulesThatDecide(t *testing.T) {
	rule := `-A FORWARD -m comment --comment "kubernetes forwarding rules" -j KUBE-FORWARD`
	objects := recordedObjects(t)
	d, err := Compare([2]Side{
		recorded(t, objects, "demo-worker"), recorded(t, objects, "demo-worker", rule, "-A FORWARD -p tcp -m tcp --dport 8080 -j DROP"),
	}, forall.Options{})
	require.NoError(t, err)
	var grouped, all strings.Builder
	require.NoError(t, d.WriteText(&grouped))
	d.All = true
	require.NoError(t, d.WriteText(&all))
	const by = "-A FORWARD -p tcp -m tcp --dport 8080 -j DROP"
	// One of a connection that the node itself stops in part is apart: what stops it is not that rule alone.
	assert.Equal(t, 2, strings.Count(grouped.String(), by), grouped.String())
	assert.Greater(t, strings.Count(all.String(), by), 2)
	kinds := strings.Count(grouped.String(), "\n  packet ")
	for _, also := range regexp.MustCompile(`(\d+) kinds? more, decided alike`).FindAllStringSubmatch(grouped.String(), -1) {
		n, err := strconv.Atoi(also[1])
		require.NoError(t, err)
		kinds += n
	}
	assert.Len(t, d.Differences, kinds)
	assert.NotContains(t, all.String(), "also")
}

// TestPodsThatFareOtherwise: a policy for one of two pods of a node is no oddity of the node, and is told.
func TestPodsThatFareOtherwise(t *testing.T) {
	objects := recordedObjects(t)
	before := `[1:60] -A FORWARD -m conntrack --ctstate NEW -m comment --comment "kubernetes service portals" -j KUBE-SERVICES`
	for _, pod := range []string{"10.244.2.2", "10.244.2.3"} {
		policy := "[0:0] -A FORWARD -s " + pod + "/32 -p tcp -m tcp --dport 8443 -j DROP"
		n, err := Across([]Side{
			recorded(t, objects, "demo-worker", before, policy+"\n      "+before), recorded(t, objects, "demo-control-plane"),
			recorded(t, objects, "demo-worker2"),
		}, objects, forall.Options{})
		require.NoError(t, err)
		isAlike, open := n.State()
		assert.True(t, isAlike, n.Answer)
		assert.False(t, open)
		assert.Contains(t, n.LeftOut, "packets of pods of 1 of 2 pods of demo-worker that are treated differently from others there (IPv4)")
	}
}

// TestAPageSaysWhichWaysItLeavesOut gives a page no room for a way.
func TestAPageSaysWhichWaysItLeavesOut(t *testing.T) {
	d := comparison(t)
	for room, left := range map[int]bool{0: true, roomLines: false} {
		var page strings.Builder
		draw := drawing{room}
		require.NoError(t, writePage(&page, d.Answer, "diff", dom.Text(""), []dom.Part{draw.difference(d, 0)}, nil, nil))
		assert.Equal(t, left, strings.Contains(page.String(), "The way before is left out"), "room for %d lines", room)
	}
}
