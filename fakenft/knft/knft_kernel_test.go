package knft_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/utils/exec"
	"sigs.k8s.io/knftables"

	"github.com/chainwalk/chainwalk/fakenft"
	"github.com/chainwalk/chainwalk/fakenft/knft"
	"github.com/chainwalk/chainwalk/internal/kerneltest"
)

func ptr[T any](v T) *T { return &v }

// fillTable writes one object of each kind.
func fillTable(tx *knftables.Transaction) {
	tx.Add(&knftables.Table{Comment: ptr("a table")})
	tx.Add(&knftables.Chain{Name: "in", Comment: ptr("of packets"), Type: ptr(knftables.FilterType), Hook: ptr(knftables.InputHook),
		Priority: ptr(knftables.FilterPriority + "+5"), Policy: ptr(knftables.AcceptPolicy)})
	tx.Add(&knftables.Chain{Name: "web"})
	tx.Add(&knftables.Set{Name: "hosts", Type: "ipv4_addr", Flags: []knftables.SetFlag{knftables.IntervalFlag}, AutoMerge: ptr(true)})
	tx.Add(&knftables.Set{Name: "recent", TypeOf: "ip saddr . tcp dport", Size: ptr(uint64(100)), Timeout: ptr(time.Hour),
		Flags: []knftables.SetFlag{knftables.DynamicFlag, knftables.TimeoutFlag}})
	tx.Add(&knftables.Map{Name: "services", Type: "ipv4_addr . inet_proto . inet_service : verdict", Comment: ptr("a map")})
	tx.Add(&knftables.Map{Name: "backends", Type: "inet_service : ipv4_addr . inet_service"})
	tx.Add(&knftables.Map{Name: "ranges", Type: "ipv4_addr . inet_service : mark", Flags: []knftables.SetFlag{knftables.IntervalFlag}})
	tx.Add(&knftables.Counter{Name: "seen", Packets: ptr(uint64(7)), Bytes: ptr(uint64(420)), Comment: ptr("what was seen")})
	tx.Add(&knftables.Counter{Name: "another"})
	tx.Add(&knftables.Rule{Chain: "in", Rule: "ip daddr . meta l4proto . th dport vmap @services", Comment: ptr("services")})
	tx.Add(&knftables.Rule{Chain: "in", Rule: "counter name seen"})
	tx.Insert(&knftables.Rule{Chain: "in", Rule: "iifname lo accept"})
	tx.Add(&knftables.Rule{Chain: "web", Rule: "ip saddr @hosts drop", Comment: ptr("these")})
	for _, key := range []string{"10.0.0.0/8", "192.168.1.1", "192.168.1.5-192.168.1.9", "172.16.0.0/12"} {
		tx.Add(&knftables.Element{Set: "hosts", Key: []string{key}, Comment: ptr("of " + key)})
	}
	tx.Add(&knftables.Element{Set: "recent", Key: []string{"10.0.0.1", "http"}})
	for i, verdict := range []string{"goto web", "drop", "accept", "jump web"} {
		tx.Add(&knftables.Element{Map: "services", Key: []string{fmt.Sprintf("10.96.0.%d", i+1), "tcp", "443"}, Value: []string{verdict}})
	}
	tx.Add(&knftables.Element{Map: "services", Key: []string{"10.96.0.9", "17", "53"}, Value: []string{"goto web"}, Comment: ptr("dns")})
	tx.Add(&knftables.Element{Map: "backends", Key: []string{"80"}, Value: []string{"10.244.0.1", "8080"}})
	tx.Add(&knftables.Element{Map: "ranges", Key: []string{"10.0.0.0/24", "80-90"}, Value: []string{"0x4000"}})
}

// steps calls all methods, with success and with errors. The kernel gives the handles.
func steps() []asked {
	all := []asked{listAll, list("chain"), list("nothing"), listCounters, listRules(""), listRules("in"),
		listElements("set", "hosts"), listElements("chain", "in"),
		check("the first", fillTable), listAll, run("the first", fillTable)}
	names := everything([]string{"in", "web", "none"}, []string{"hosts", "recent", "services", "none"},
		[]string{"services", "backends", "ranges", "hosts"})
	all = append(all, names...)
	for _, objects := range []func(tx *knftables.Transaction){
		fillTable,
		func(tx *knftables.Transaction) { tx.Create(&knftables.Table{}) },
		func(tx *knftables.Transaction) { tx.Create(&knftables.Chain{Name: "web"}) },
		func(tx *knftables.Transaction) { tx.Create(&knftables.Counter{Name: "seen"}) },
		func(tx *knftables.Transaction) {
			tx.Create(&knftables.Element{Set: "hosts", Key: []string{"10.0.0.0/8"}})
		},
		func(tx *knftables.Transaction) { tx.Delete(&knftables.Chain{Name: "web"}) },
		func(tx *knftables.Transaction) { tx.Delete(&knftables.Chain{Name: "none"}) },
		func(tx *knftables.Transaction) { tx.Delete(&knftables.Set{Name: "hosts"}) },
		func(tx *knftables.Transaction) {
			tx.Delete(&knftables.Element{Map: "services", Key: []string{"10.96.0.1", "tcp", "444"}})
		},
		func(tx *knftables.Transaction) { tx.Delete(&knftables.Rule{Chain: "in", Handle: ptr(999)}) },
		func(tx *knftables.Transaction) { tx.Add(&knftables.Rule{Chain: "in", Rule: "tcp dport {"}) },
		func(tx *knftables.Transaction) { tx.Add(&knftables.Rule{Chain: "in", Rule: "jump nowhere"}) },
		func(tx *knftables.Transaction) { tx.Add(&knftables.Rule{Chain: "in", Rule: "ip saddr @nothing"}) },
		func(tx *knftables.Transaction) { tx.Add(&knftables.Rule{Chain: "web", Rule: "drop", Index: ptr(9)}) },
		func(tx *knftables.Transaction) { tx.Add(&knftables.Chain{}) },
		func(tx *knftables.Transaction) {
			tx.Add(&knftables.Chain{Name: "new"})
			tx.Delete(&knftables.Rule{Chain: "web"})
		},
		func(tx *knftables.Transaction) { tx.Add(&knftables.Chain{Family: knftables.IPv6Family, Name: "new"}) },
		func(tx *knftables.Transaction) { tx.Destroy(&knftables.Chain{Name: "web"}) },
		func(tx *knftables.Transaction) {},
		func(tx *knftables.Transaction) {
			for i := range 2000 {
				tx.Delete(&knftables.Chain{Name: fmt.Sprint("none", i)})
			}
		},
	} {
		all = append(all, check("odd", objects), run("odd", objects))
	}
	all = append(all, names...)
	for _, objects := range []func(tx *knftables.Transaction){
		func(tx *knftables.Transaction) {
			tx.Add(&knftables.Rule{Chain: "in", Rule: "tcp dport 1", Index: ptr(0), Comment: ptr("behind the first")})
			tx.Insert(&knftables.Rule{Chain: "in", Rule: "tcp dport 2", Index: ptr(1)})
		},
		func(tx *knftables.Transaction) { tx.Reset(&knftables.Counter{Name: "seen"}) },
		func(tx *knftables.Transaction) {
			tx.Flush(&knftables.Map{Name: "services"})
			tx.Flush(&knftables.Chain{Name: "web"})
			tx.Delete(&knftables.Element{Set: "hosts", Key: []string{"10.0.0.0/8"}})
		},
		func(tx *knftables.Transaction) {
			tx.Delete(&knftables.Chain{Name: "web"})
			tx.Delete(&knftables.Set{Name: "recent"})
			tx.Delete(&knftables.Counter{Name: "another"})
			tx.Flush(&knftables.Set{Name: "hosts"})
		},
		func(tx *knftables.Transaction) { tx.Flush(&knftables.Table{}) },
		func(tx *knftables.Transaction) { tx.Delete(&knftables.Table{}) },
	} {
		all = append(all, run("later", objects))
		all = append(all, names...)
	}
	return all
}

func TestMethodsAsOnKernel(t *testing.T) {
	ns := kerneltest.Enter(t, "nft")
	for _, family := range []knftables.Family{knftables.IPv4Family, knftables.InetFamily} {
		ns.Must("nft flush ruleset")
		p := newPair(t, family, "demo")
		// The adapter alone: knft on the real nft lists what the library does.
		beside, err := knft.New(exec.New(), family, "demo")
		require.NoError(t, err)
		for _, a := range steps() {
			p.same(t, a)
			if strings.HasPrefix(a.what, "list") {
				assert.Equal(t, answerOf(p.real, a), answerOf(beside, a), "the library, and knft on the real nft: %s", a.what)
			}
		}
	}
}

// TestHandlesAsOnKernel works with the handles that were listed.
func TestHandlesAsOnKernel(t *testing.T) {
	kerneltest.Enter(t, "nft")
	p := newPair(t, knftables.IPv4Family, "demo")
	p.same(t, run("the first", fillTable))
	for range 3 {
		p.same(t, asked{"delete the first, replace the last", func(ctx context.Context, nft knftables.Interface) (any, error) {
			rules, err := nft.ListRules(ctx, "in")
			if err != nil {
				return nil, err
			}
			tx := nft.NewTransaction()
			for i, r := range rules {
				switch i {
				case 0:
					tx.Delete(r)
				case len(rules) - 1:
					r.Rule = "tcp dport 99 drop"
					tx.Replace(r)
				}
			}
			counters, err := nft.ListCounters(ctx)
			if err != nil {
				return nil, err
			}
			if len(counters) > 0 {
				tx.Delete(counters[0])
			}
			return nil, nft.Run(ctx, tx)
		}})
		p.same(t, listRules("in"))
		p.same(t, listCounters)
	}
}

// TestAllTablesAsOnKernel has an interface without a family and a table.
func TestAllTablesAsOnKernel(t *testing.T) {
	kerneltest.Enter(t, "nft")
	p := newPair(t, "", "")
	for _, tx := range []func(tx *knftables.Transaction){
		func(tx *knftables.Transaction) {
			tx.Add(&knftables.Table{Family: knftables.IPv4Family, Name: "a"})
			tx.Add(&knftables.Table{Family: knftables.IPv6Family, Name: "b"})
			tx.Create(&knftables.Chain{Family: knftables.IPv6Family, Table: "b", Name: "c"})
		},
		func(tx *knftables.Transaction) {
			tx.Create(&knftables.Chain{Family: knftables.IPv6Family, Table: "b", Name: "c"})
		},
		func(tx *knftables.Transaction) { tx.Add(&knftables.Table{}) },
		func(tx *knftables.Transaction) { tx.Add(&knftables.Chain{Name: "c"}) },
	} {
		p.same(t, check("all tables", tx))
		p.same(t, run("all tables", tx))
	}
	p.same(t, listAll)
	for _, a := range []asked{list("chain"), listRules(""), listElements("set", "s"), listCounters} {
		_, theirs := a.ask(t.Context(), p.real)
		_, ours := a.ask(t.Context(), p.fake)
		require.Error(t, theirs)
		require.Error(t, ours)
	}
}

// TestConstructorAsOnKernel asks for what cannot be.
func TestConstructorAsOnKernel(t *testing.T) {
	kerneltest.Enter(t, "nft")
	for _, c := range []struct {
		family  knftables.Family
		table   string
		options []knftables.Option
	}{
		{"ipx", "demo", nil},
		{"ipx", "demo", []knftables.Option{knftables.NoObjectCommentEmulation}},
		{"ip", "no name", nil},
		{"ip", "demo", []knftables.Option{knftables.RequireDestroy}},
		{"", "", []knftables.Option{knftables.RequireDestroy}},
	} {
		_, theirs := knftables.New(c.family, c.table, c.options...)
		_, ours := knft.New(fakenft.New(fakenft.Options{}).Exec(), c.family, c.table, c.options...)
		require.Error(t, theirs)
		assert.EqualError(t, ours, theirs.Error(), "%v", c)
	}
}
