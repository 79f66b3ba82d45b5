//go:build linux

package upstream

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/coreos/go-iptables/iptables"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/fakeipt/goiptables"
	"github.com/chainwalk/chainwalk/internal/kerneltest"
	"github.com/chainwalk/chainwalk/internal/namespace"
	"github.com/chainwalk/chainwalk/netfilter"
)

// methods are the library's methods that name none of its types: a program's own interface would have some of them.
type methods interface {
	Exists(table, chain string, rulespec ...string) (bool, error)
	Insert(table, chain string, pos int, rulespec ...string) error
	Replace(table, chain string, pos int, rulespec ...string) error
	InsertUnique(table, chain string, pos int, rulespec ...string) error
	Append(table, chain string, rulespec ...string) error
	AppendUnique(table, chain string, rulespec ...string) error
	Delete(table, chain string, rulespec ...string) error
	DeleteIfExists(table, chain string, rulespec ...string) error
	DeleteById(table, chain string, id int) error
	ListById(table, chain string, id int) (string, error)
	List(table, chain string) ([]string, error)
	ListWithCounters(table, chain string) ([]string, error)
	ListChains(table string) ([]string, error)
	ChainExists(table, chain string) (bool, error)
	Stats(table, chain string) ([][]string, error)
	NewChain(table, chain string) error
	ClearChain(table, chain string) error
	RenameChain(table, oldChain, newChain string) error
	DeleteChain(table, chain string) error
	ClearAndDeleteChain(table, chain string) error
	ClearAll() error
	DeleteAll() error
	ChangePolicy(table, chain, target string) error
	HasRandomFully() bool
	GetIptablesVersion() (int, int, int)
}

var _, _ methods = (*iptables.IPTables)(nil), (*goiptables.IPTables)(nil)

// failure is what both errors say of themselves.
type failure interface {
	error
	ExitStatus() int
	IsNotExist() bool
}

// answer is what a call gave, as a text.
func answer(values ...any) string {
	var out []string
	for _, v := range values {
		err, is := v.(error)
		var of failure
		switch {
		case v == nil:
			out = append(out, "no error")
		case is && errors.As(err, &of):
			out = append(out, fmt.Sprintf("%s (status %d, not exist %t)", of, of.ExitStatus(), of.IsNotExist()))
		case is:
			out = append(out, "another error: "+err.Error())
		default:
			text, _ := json.Marshal(v) // what is compared can be written
			out = append(out, string(text))
		}
	}
	return strings.Join(out, ", ")
}

// call is one call, made of what was drawn.
type call struct {
	method, table, chain, other string
	place                       int
	rule                        []string
}

func (c call) String() string {
	return fmt.Sprintf("%s %s %s %s %d %q", c.method, c.table, c.chain, c.other, c.place, c.rule)
}

// on makes the call.
func (c call) on(m methods) string {
	switch c.method {
	case "Exists":
		return answer(m.Exists(c.table, c.chain, c.rule...))
	case "Insert":
		return answer(m.Insert(c.table, c.chain, c.place, c.rule...))
	case "Replace":
		return answer(m.Replace(c.table, c.chain, c.place, c.rule...))
	case "InsertUnique":
		return answer(m.InsertUnique(c.table, c.chain, c.place, c.rule...))
	case "Append":
		return answer(m.Append(c.table, c.chain, c.rule...))
	case "AppendUnique":
		return answer(m.AppendUnique(c.table, c.chain, c.rule...))
	case "Delete":
		return answer(m.Delete(c.table, c.chain, c.rule...))
	case "DeleteIfExists":
		return answer(m.DeleteIfExists(c.table, c.chain, c.rule...))
	case "DeleteById":
		return answer(m.DeleteById(c.table, c.chain, c.place))
	case "ListById":
		return c.listByID(m)
	case "List":
		return answer(m.List(c.table, c.chain))
	case "ListWithCounters":
		return answer(m.ListWithCounters(c.table, c.chain))
	}
	return c.onChains(m)
}

func (c call) onChains(m methods) string {
	switch c.method {
	case "ListChains":
		return answer(m.ListChains(c.table))
	case "ChainExists":
		return answer(m.ChainExists(c.table, c.chain))
	case "Stats":
		return answer(m.Stats(c.table, c.chain))
	case "StructuredStats":
		return structured(m, c.table, c.chain)
	case "NewChain":
		return answer(m.NewChain(c.table, c.chain))
	case "ClearChain":
		return answer(m.ClearChain(c.table, c.chain))
	case "RenameChain":
		return answer(m.RenameChain(c.table, c.chain, c.other))
	case "DeleteChain":
		return answer(m.DeleteChain(c.table, c.chain))
	case "ClearAndDeleteChain":
		return answer(m.ClearAndDeleteChain(c.table, c.chain))
	case "ClearAll":
		return answer(m.ClearAll())
	case "DeleteAll":
		return answer(m.DeleteAll())
	case "ChangePolicy":
		return answer(m.ChangePolicy(c.table, c.chain, c.other))
	}
	return "no such method: " + c.method
}

// listByID lists a rule that is there: of one that is not the library panics.
func (c call) listByID(m methods) string {
	rules, err := m.List(c.table, c.chain)
	if err != nil || c.place >= len(rules) {
		return answer(rules, err)
	}
	return answer(m.ListById(c.table, c.chain, c.place))
}

func structured(m methods, table, chain string) string {
	if fake, is := m.(*goiptables.IPTables); is {
		return answer(fake.StructuredStats(table, chain))
	}
	return answer(m.(*iptables.IPTables).StructuredStats(table, chain)) //nolint:forcetypeassert // there are two
}

// all are the methods that are drawn, those that add rules several times.
func all() []string {
	return strings.Fields(`Exists Insert Insert Replace InsertUnique Append Append Append AppendUnique Delete DeleteIfExists DeleteById
		ListById List List ListWithCounters ListChains ChainExists Stats StructuredStats NewChain NewChain ClearChain RenameChain DeleteChain
		ClearAndDeleteChain ClearAll DeleteAll ChangePolicy`)
}

// rulesOf are rules of a family, each with a target, and some that the tools refuse.
func rulesOf(proto goiptables.Protocol) [][]string {
	address, network := "192.0.2.1", "198.51.100.0/24"
	if proto == goiptables.ProtocolIPv6 {
		address, network = "2001:db8::1", "2001:db8:1::/64"
	}
	var out [][]string
	for _, rule := range []string{
		"-j ACCEPT", "-p tcp --dport 80 -j ACCEPT", "-s " + address + " -j DROP", "-d " + network + " -i eth0 -p udp -j RETURN",
		"-m comment --comment two@words -o lo -j ACCEPT", "-p tcp -m multiport --dports 1,2 -j WEB",
		"-m mark --mark 0x1/0xff -j LOG --log-prefix a",
		"-j NOWHERE", "-p nothing -j ACCEPT", "--colour red", "-j REJECT", "-g WEB",
	} {
		words := strings.Fields(rule)
		for i := range words {
			words[i] = strings.ReplaceAll(words[i], "@", " ")
		}
		out = append(out, words)
	}
	return out
}

func drawCall(t *rapid.T, rules [][]string) call {
	chains := []string{"INPUT", "FORWARD", "WEB", "WEB", "OTHER", "-", "a-name-that-is-longer-than-any-chain-may-have"}
	return call{
		method: rapid.SampledFrom(all()).Draw(t, "method"),
		table:  rapid.SampledFrom([]string{"filter", "filter", "filter", "mangle", "nowhere"}).Draw(t, "table"),
		chain:  rapid.SampledFrom(chains).Draw(t, "chain"),
		other:  rapid.SampledFrom([]string{"OTHER", "WEB", "DROP", "ACCEPT"}).Draw(t, "other"),
		place:  rapid.IntRange(1, 4).Draw(t, "place"),
		rule:   rapid.SampledFrom(rules).Draw(t, "rule"),
	}
}

// TestSameAsTheLibraryOnTheRealKernel makes drawn calls on both, and compares what each gives.
func TestSameAsTheLibraryOnTheRealKernel(t *testing.T) {
	for _, dialect := range []netfilter.Dialect{netfilter.Legacy, netfilter.NFT} {
		for _, tool := range []string{"iptables", "ip6tables"} {
			t.Run(tool+"-"+string(dialect), func(t *testing.T) {
				path := "/usr/sbin/" + tool + "-" + string(dialect)
				kerneltest.Need(t, path)
				proto := goiptables.ProtocolIPv4
				if tool == "ip6tables" {
					proto = goiptables.ProtocolIPv6
				}
				made := map[string]int{}
				rapid.Check(t, func(rt *rapid.T) {
					var calls []call
					for range 20 {
						calls = append(calls, drawCall(rt, rulesOf(proto)))
						made[calls[len(calls)-1].method]++
					}
					if wrong := compare(t, calls, dialect, proto, path); wrong != "" {
						rt.Fatal(wrong)
					}
				})
				t.Logf("calls: %v", made)
			})
		}
	}
}

// compare makes calls on both, each on a kernel that has no rules yet, and says what the first is that gives something else.
func compare(t *testing.T, calls []call, dialect netfilter.Dialect, proto goiptables.Protocol, path string) (wrong string) {
	kernel := fakeipt.New(fakeipt.Options{Dialect: dialect})
	fake, err := goiptables.New(kernel, goiptables.IPFamily(proto), goiptables.Path(path), goiptables.Timeout(5))
	require.NoError(t, err)
	ns, err := namespace.New()
	require.NoError(t, err)
	t.Setenv("XTABLES_LOCKFILE", ns.LockFile())
	require.NoError(t, ns.Do(func() error {
		real, err := iptables.New(iptables.IPFamily(iptables.Protocol(proto)), iptables.Path(path), iptables.Timeout(5))
		if err != nil {
			return err
		}
		assertSameVersion(t, real, fake)
		for _, c := range calls {
			is := c.on(fake)
			if c.method == "RenameChain" && strings.Contains(is, "not supported: renaming") {
				break // the fake refuses it and says so (package fakeipt); the real tools do it, and can then not list the table
			}
			if want := c.on(real); is != want {
				wrong = fmt.Sprintf("%s\n the library: %s\n the fake: %s", c, want, is)
				break
			}
		}
		return nil
	}))
	require.NoError(t, ns.Close())
	return wrong
}

func assertSameVersion(t *testing.T, real, fake methods) {
	a, b, c := real.GetIptablesVersion()
	d, e, f := fake.GetIptablesVersion()
	assert.Equal(t, []int{a, b, c}, []int{d, e, f})
	assert.Equal(t, real.HasRandomFully(), fake.HasRandomFully())
}
