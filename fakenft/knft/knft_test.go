package knft_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/knftables"

	"github.com/chainwalk/chainwalk/fakenft"
	"github.com/chainwalk/chainwalk/fakenft/knft"
	"github.com/chainwalk/chainwalk/internal/dumps/nftcalls"
)

func newNFT(t testing.TB, family knftables.Family, table string) *knft.NFTables {
	nft, err := knft.New(fakenft.New(fakenft.Options{}).Exec(), family, table)
	require.NoError(t, err)
	return nft
}

// filled is a table with one object of each kind.
func filled(t testing.TB) *knft.NFTables {
	nft := newNFT(t, knftables.IPv4Family, "demo")
	tx := nft.NewTransaction()
	fillTable(tx)
	require.NoError(t, nft.Run(t.Context(), tx))
	return nft
}

// TestLists has what the library lists of the same table on the real nft (TestMethodsAsOnKernel compares them).
func TestLists(t *testing.T) {
	nft, ctx := filled(t), t.Context()
	all, err := nft.ListAll(ctx)
	require.NoError(t, err)
	assert.Equal(t, map[string][]string{
		"table": {"demo"}, "chain": {"in", "web"}, "set": {"hosts", "recent"}, "map": {"services", "backends", "ranges"},
		"counter": {"seen", "another"},
	}, all)
	for objectType, want := range map[string][]string{"chain": {"in", "web"}, "maps": {"services", "backends", "ranges"}, "flowtable": nil} {
		names, err := nft.List(ctx, objectType)
		require.NoError(t, err)
		assert.Equal(t, want, names)
	}
	rules, err := nft.ListRules(ctx, "in")
	require.NoError(t, err)
	require.Len(t, rules, 3)
	assert.Equal(t, &knftables.Rule{Family: "ip", Table: "demo", Chain: "in", Handle: ptr(10), Comment: ptr("services")}, rules[1])
	elements, err := nft.ListElements(ctx, "set", "hosts")
	require.NoError(t, err)
	var lines []string
	for _, e := range elements {
		lines = append(lines, fmt.Sprintf("%q of %q", e.Key, *e.Comment))
	}
	assert.Equal(t, []string{
		`["10.0.0.0/8"] of "of 10.0.0.0/8"`, `["172.16.0.0/12"] of "of 172.16.0.0/12"`, `["192.168.1.1"] of "of 192.168.1.1"`,
		`[""] of "of 192.168.1.5-192.168.1.9"`,
	}, lines)
	elements, err = nft.ListElements(ctx, "map", "backends")
	require.NoError(t, err)
	assert.Equal(t, []*knftables.Element{{Map: "backends", Key: []string{"80"}, Value: []string{"10.244.0.1", "8080"}}}, elements)
	elements, err = nft.ListElements(ctx, "map", "services")
	require.NoError(t, err)
	values := map[string]string{}
	for _, e := range elements {
		values[strings.Join(e.Key, " ")] = strings.Join(e.Value, " ")
	}
	assert.Equal(t, map[string]string{
		"10.96.0.1 tcp 443": "goto web", "10.96.0.2 tcp 443": "drop", "10.96.0.3 tcp 443": "accept", "10.96.0.4 tcp 443": "jump web",
		"10.96.0.9 udp 53": "goto web",
	}, values)
	counters, err := nft.ListCounters(ctx)
	require.NoError(t, err)
	require.Len(t, counters, 2)
	assert.Equal(t, []uint64{7, 420}, []uint64{*counters[0].Packets, *counters[0].Bytes})
	assert.Equal(t, "what was seen", *counters[0].Comment)
}

func TestErrorsHaveTheirKind(t *testing.T) {
	nft, ctx := filled(t), t.Context()
	for _, c := range []struct {
		fill   func(tx *knftables.Transaction)
		kind   string
		starts string
	}{
		{func(tx *knftables.Transaction) { tx.Delete(&knftables.Chain{Name: "none"}) }, "not found",
			"/dev/stdin:1:22-25: Error: No such file or directory; did you mean chain ‘in’ in table ip ‘demo’?\ndelete chain ip demo none\n"},
		{func(tx *knftables.Transaction) { tx.Create(&knftables.Chain{Name: "web"}) }, "exists",
			"/dev/stdin:1:22-24: Error: Could not process rule: File exists\ncreate chain ip demo web\n"},
		{func(tx *knftables.Transaction) { tx.Delete(&knftables.Chain{Name: "web"}) }, "",
			"/dev/stdin:1:22-24: Error: Could not process rule: Device or resource busy\n"},
		{func(tx *knftables.Transaction) { tx.Add(&knftables.Rule{Chain: "in", Rule: "tcp dport {"}) }, "",
			"/dev/stdin:2:1-1: Error: syntax error, unexpected end of file\n"},
		{func(tx *knftables.Transaction) { tx.Add(&knftables.Chain{}) }, "", "no name specified for chain"},
		{func(tx *knftables.Transaction) {
			tx.Add(&knftables.Rule{Chain: "in", Rule: "drop", Comment: ptr("# ERROR: no name specified for chain")})
			tx.Add(&knftables.Chain{})
		}, "", "no name specified for chain"},
	} {
		tx := nft.NewTransaction()
		c.fill(tx)
		for _, err := range []error{nft.Check(ctx, tx), nft.Run(ctx, tx)} {
			require.Error(t, err)
			assert.Equal(t, c.starts, err.Error()[:min(len(c.starts), len(err.Error()))])
			assert.Equal(t, c.kind == "not found", knftables.IsNotFound(err))
			assert.Equal(t, c.kind == "exists", knftables.IsAlreadyExists(err))
		}
	}
	_, err := nft.ListRules(ctx, "none")
	assert.True(t, knftables.IsNotFound(err))
	_, err = newNFT(t, knftables.IPv6Family, "demo").ListAll(ctx)
	assert.True(t, knftables.IsNotFound(err))
	_, err = nft.List(ctx, "rules")
	require.EqualError(t, err, `can't List() type "rule"`)
	_, err = nft.ListElements(ctx, "chain", "in")
	require.EqualError(t, err, `invalid objectType "chain"`)
	_, err = newNFT(t, "", "").List(ctx, "chain")
	require.ErrorContains(t, err, "a family and a table")
}

// TestWordsOfErrorsInComments: a comment that looks like the library's mark of an error is none.
func TestWordsOfErrorsInComments(t *testing.T) {
	nft := filled(t)
	tx := nft.NewTransaction()
	tx.Add(&knftables.Rule{Chain: "in", Rule: "drop", Comment: ptr("# ERROR: no")})
	require.NoError(t, nft.Run(t.Context(), tx))
}

func TestContextThatIsDone(t *testing.T) {
	nft := filled(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	tx := nft.NewTransaction()
	tx.Add(&knftables.Chain{Name: "late"})
	err := nft.Run(ctx, tx)
	require.ErrorIs(t, err, context.Canceled)
	names, err := nft.List(t.Context(), "chain")
	require.NoError(t, err)
	assert.NotContains(t, names, "late")
}

func TestWhatNewRefuses(t *testing.T) {
	tools := fakenft.New(fakenft.Options{}).Exec()
	for _, c := range []struct {
		family  knftables.Family
		table   string
		options []knftables.Option
		want    string
	}{
		{"ip", "", nil, `knft: the family is "ip" and the table "": name both or neither`},
		{"ip", "demo", []knftables.Option{knftables.EmulateDestroy}, "knft: chainwalk does not support the option EmulateDestroy"},
		{"ip", "demo", []knftables.Option{"UseNetlink"}, "knft: chainwalk does not support the option UseNetlink"},
	} {
		_, err := knft.New(tools, c.family, c.table, c.options...)
		require.EqualError(t, err, c.want)
	}
	_, err := knft.New(absent{tools}, "ip", "demo")
	require.ErrorIs(t, err, errAbsent)
}

// TestCallsOfKubeProxy compares what is run at the beginning with what kube-proxy's library ran.
func TestCallsOfKubeProxy(t *testing.T) {
	files, err := nftcalls.Files()
	require.NoError(t, err)
	recorded, err := fs.Glob(files, "00-start/calls/*.argv")
	require.NoError(t, err)
	require.NotEmpty(t, recorded)
	r := &recorder{Interface: fakenft.New(fakenft.Options{}).Exec()}
	for _, family := range []knftables.Family{knftables.IPv4Family, knftables.IPv6Family} {
		_, err := knft.New(r, family, "kube-proxy")
		require.NoError(t, err)
	}
	require.Len(t, r.calls, len(recorded))
	for i, name := range recorded {
		argv, err := fs.ReadFile(files, name)
		require.NoError(t, err)
		assert.Equal(t, strings.TrimSpace(string(argv)), r.calls[i], name)
		input, err := fs.ReadFile(files, strings.TrimSuffix(name, ".argv")+".stdin")
		if !errors.Is(err, fs.ErrNotExist) {
			require.NoError(t, err)
		}
		assert.Equal(t, string(input), r.inputs[i], name)
	}
}

// TestAtOnce has writers and readers of one table.
func TestAtOnce(t *testing.T) {
	nft, ctx := filled(t), t.Context()
	const writers, each = 8, 20
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := range each {
				tx := nft.NewTransaction()
				tx.Add(&knftables.Element{Map: "backends", Key: []string{fmt.Sprint(1000 + 100*w + i)}, Value: []string{"10.244.0.9", "80"}})
				tx.Add(&knftables.Rule{Chain: "web", Rule: "tcp dport 80", Comment: ptr(fmt.Sprint(w))})
				assert.NoError(t, nft.Run(ctx, tx))
			}
		})
		all.Go(func() {
			for range each {
				elements, err := nft.ListElements(ctx, "map", "backends")
				assert.NoError(t, err)
				rules, err := nft.ListRules(ctx, "web")
				assert.NoError(t, err)
				assert.LessOrEqual(t, len(elements), len(rules), "elements and rules are written together, and the rules listed later")
			}
		})
	}
	all.Wait()
	elements, err := nft.ListElements(ctx, "map", "backends")
	require.NoError(t, err)
	assert.Len(t, elements, writers*each+1)
}
