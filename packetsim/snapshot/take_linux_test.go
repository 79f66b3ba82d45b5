package snapshot

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
	"k8s.io/utils/exec"
	testingexec "k8s.io/utils/exec/testing"

	"github.com/chainwalk/chainwalk/internal/nlattr"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
)

// cannedTools are programs by their command line; what is not there is not installed.
type cannedTools map[string]string

// exec is an exec.Interface over the tools, which notes what was run.
func (c cannedTools) exec(ran *[]string) exec.Interface {
	run := func(name string, args ...string) exec.Cmd {
		line := strings.Join(append([]string{name}, args...), " ")
		*ran = append(*ran, line)
		cmd := &testingexec.FakeCmd{}
		cmd.RunScript = []testingexec.FakeAction{func() ([]byte, []byte, error) {
			output, ok := c[line]
			if !ok {
				return nil, []byte(name + ": no permission"), testingexec.FakeExitError{Status: 4}
			}
			return []byte(output), nil, nil
		}}
		return &stdoutCmd{cmd}
	}
	fake := &testingexec.FakeExec{LookPathFunc: func(name string) (string, error) {
		for line := range c {
			if strings.Fields(line)[0] == name {
				return "/sbin/" + name, nil
			}
		}
		return "", errors.New("executable file not found in $PATH")
	}}
	for range 20 {
		fake.CommandScript = append(fake.CommandScript, run)
	}
	return fake
}

// stdoutCmd writes what the fake command gives to the writers that were set.
type stdoutCmd struct{ *testingexec.FakeCmd }

func (c *stdoutCmd) Run() error {
	stdout, stderr, err := c.RunScript[0]()
	for _, out := range []struct {
		w    io.Writer
		data []byte
	}{{c.Stdout, stdout}, {c.Stderr, stderr}} {
		if _, err := out.w.Write(out.data); err != nil {
			return err
		}
	}
	return err
}

// fakeTaker reads files from a folder of the test and runs canned tools. It has no netlink.
func fakeTaker(t *testing.T, files map[string]string, tools cannedTools) (*taker, *[]string) {
	root := t.TempDir()
	machine := map[string]string{"proc/modules": ""}
	maps.Copy(machine, files)
	for name, content := range machine {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
	}
	ran := &[]string{}
	return &taker{
		ctx: context.Background(), exec: tools.exec(ran), proc: filepath.Join(root, "proc"), sys: filepath.Join(root, "sys"),
		lib:      filepath.Join(root, "lib"),
		snapshot: &NodeSnapshot{Version: Version},
	}, ran
}

const (
	someRules = "*filter\n:INPUT ACCEPT [0:0]\n[0:0] -A INPUT -j ACCEPT\nCOMMIT\n"
	noRules   = "# Generated\n"
)

func TestTakeRules(t *testing.T) {
	loaded := map[string]string{"proc/thread-self/net/ip_tables_names": "filter\n", "proc/thread-self/net/ip6_tables_names": ""}
	for _, tc := range []struct {
		name   string
		files  map[string]string
		tools  cannedTools
		want   []string // backend and family of the rules read
		unread []string
		// unshown are the tables of nf_tables that no tool shows.
		unshown map[nftTableID]string
		ran     []string
	}{
		{
			name: "each backend by its own tool, and legacy only where tables are loaded", files: loaded,
			tools: cannedTools{"iptables-legacy-save -c": someRules, "iptables-nft-save -c": someRules, "ip6tables-legacy-save -c": someRules,
				"ip6tables-nft-save -c": someRules},
			want: []string{"legacy 4", "nft 4", "nft 6"},
			ran:  []string{"iptables-legacy-save -c", "iptables-nft-save -c", "ip6tables-nft-save -c"},
		},
		{
			name: "a backend without tables is left out", files: nil,
			tools: cannedTools{"iptables-nft-save -c": noRules, "ip6tables-nft-save -c": noRules},
			ran:   []string{"iptables-nft-save -c", "ip6tables-nft-save -c"},
		},
		{
			name: "the plain tool stands for its own backend", files: loaded,
			tools: cannedTools{"iptables-save -V": "iptables-save v1.8.9 (nf_tables)\n", "iptables-save -c": someRules,
				"ip6tables-nft-save -c": noRules},
			want: []string{"nft 4"},
			unread: []string{"IPv4 rules of the legacy backend: iptables-legacy-save is not installed, " +
				"and iptables-save is of the other backend (iptables-save v1.8.9 (nf_tables))"},
			ran: []string{"iptables-save -V", "iptables-save -V", "iptables-save -c", "ip6tables-nft-save -c"},
		},
		{
			name: "a tool of before the backends is legacy", files: loaded,
			tools: cannedTools{"iptables-save -V": "iptables-save v1.6.1\n", "iptables-save -c": someRules},
			want:  []string{"legacy 4"},
			ran:   []string{"iptables-save -V", "iptables-save -c", "iptables-save -V"},
		},
		{
			name: "no tool at all", files: map[string]string{"sys/module/nf_tables/refcnt": "", "proc/thread-self/net/ip6_tables_names": "nat\n"},
			unread: []string{
				"IPv4 rules of the nft backend: neither iptables-nft-save nor iptables-save is installed: executable file not found in $PATH",
				"IPv6 rules of the legacy backend: neither ip6tables-legacy-save nor ip6tables-save is installed: executable file not found in $PATH",
				"IPv6 rules of the nft backend: neither ip6tables-nft-save nor ip6tables-save is installed: executable file not found in $PATH",
			},
			unshown: allUnshown(unix.NFPROTO_IPV4, unix.NFPROTO_IPV6),
		},
		{
			name: "a tool that fails", files: loaded,
			tools:   cannedTools{"iptables-legacy-save -c": someRules, "iptables-nft-save -V": "", "ip6tables-nft-save -c": noRules},
			want:    []string{"legacy 4"},
			unread:  []string{"IPv4 rules of the nft backend: iptables-nft-save -c: exit 4: iptables-nft-save: no permission"},
			unshown: allUnshown(unix.NFPROTO_IPV4),
			ran:     []string{"iptables-legacy-save -c", "iptables-nft-save -c", "ip6tables-nft-save -c"},
		},
		{
			name: "chains that iptables does not understand",
			tools: cannedTools{"iptables-nft-save -c": "# Table `filter' contains incompatible base-chains, use 'nft' tool to list them.\n" +
				someRules,
				"ip6tables-nft-save -c": noRules},
			want: []string{"nft 4"},
		},
		{
			name:    "a table that iptables does not understand",
			tools:   cannedTools{"iptables-nft-save -c": "# Table `filter' is incompatible, use 'nft' tool.\n", "ip6tables-nft-save -c": noRules},
			unshown: map[nftTableID]string{{unix.NFPROTO_IPV4, "filter"}: "Table `filter' is incompatible, use 'nft' tool."},
			ran:     []string{"iptables-nft-save -c", "ip6tables-nft-save -c"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			taker, ran := fakeTaker(t, tc.files, tc.tools)
			for _, family := range bothFamilies() {
				taker.rulesOfFamily(family)
			}
			var got, unread []string
			for _, r := range taker.snapshot.IPTables {
				got = append(got, fmt.Sprintf("%s %d", r.Dialect, r.Family))
			}
			for _, u := range taker.snapshot.Unread {
				unread = append(unread, u.What+": "+u.Why)
			}
			assert.Equal(t, tc.want, got)
			assert.Equal(t, tc.unread, unread)
			assert.Equal(t, tc.unshown, taker.unshown)
			if tc.ran != nil {
				assert.Equal(t, tc.ran, *ran)
			}
		})
	}
}

// allUnshown are the tables of families of which no tool shows anything.
func allUnshown(families ...uint8) map[nftTableID]string {
	all := map[nftTableID]string{}
	for _, f := range families {
		for _, name := range []string{"raw", "mangle", "nat", "filter", "security"} {
			all[nftTableID{f, name}] = "iptables-nft-save does not show it"
		}
	}
	return all
}

func TestMadeWithNFT(t *testing.T) {
	expression := func(name string, data ...byte) []byte {
		return nlattr.Append(nil, 1,
			append(nlattr.Append(nil, nftExprName, append([]byte(name), 0)...), nlattr.Append(nil, nftExprData, data...)...)...)
	}
	load, write := nlattr.Append(nil, 1, 0, 0, 0, 1), nlattr.Append(nil, nftPayloadSreg, 0, 0, 0, 1)
	for _, row := range []struct {
		name        string
		expressions [][]byte
		want        bool
	}{
		{"a rule of iptables-nft", [][]byte{expression("payload", load...), expression("cmp"), expression("counter"), expression("immediate")},
			false},
		{"no counter", [][]byte{expression("payload", load...), expression("cmp"), expression("immediate")}, true},
		{"a set", [][]byte{expression("payload", load...), expression("lookup"), expression("counter")}, true},
		{"what writes", [][]byte{expression("counter"), expression("immediate"), expression("payload", write...)}, true},
		{"what cannot be read", [][]byte{expression("counter"), {1}}, true},
	} {
		assert.Equal(t, row.want, madeWithNFT(slices.Concat(row.expressions...)), row.name)
	}
}

func TestTakeObjects(t *testing.T) {
	const list = "{ pkts = 00000000000000000003, bytes = 00000000000000000180 } = ct_state_invalid_dropped_pkts;\n" +
		"{ pkts = 00000000000000000000, bytes = 00000000000000000000, quota = 00000000000000001000, mode = byte, overquota = yes } = q;\n"
	rules := []Rules{{Save: "*filter\n-A INPUT -m nfacct --nfacct-name a -m set --match-set s src -j DROP\nCOMMIT\n"}}

	t.Run("objects that rules name are read", func(t *testing.T) {
		taker, _ := fakeTaker(t, nil, cannedTools{"nfacct list": list, "ipset save": "create s hash:ip\n"})
		taker.snapshot.IPTables = rules
		taker.ipsets()
		taker.nfacct()
		assert.Equal(t, "create s hash:ip\n", taker.snapshot.IPSets)
		assert.Equal(t, []NFAcct{{Name: "ct_state_invalid_dropped_pkts", Packets: 3, Bytes: 180},
			{Name: "q", Mode: "byte", Quota: 1000, Over: true}}, taker.snapshot.NFAcct)
		assert.Empty(t, taker.snapshot.Unread)
	})
	for _, tc := range []struct {
		name  string
		files map[string]string
		ran   []string
	}{
		{"a kernel without the modules", nil, []string{}},
		{"a module is loaded", map[string]string{"sys/module/nfnetlink_acct/refcnt": ""}, []string{"nfacct list"}},
		{"a module is built in", map[string]string{
			"proc/sys/kernel/osrelease":         "6.1.0\n",
			"lib/modules/6.1.0/modules.builtin": "kernel/net/netfilter/nfnetlink_acct.ko\n",
		}, []string{"nfacct list"}},
	} {
		t.Run("objects that no rule names: "+tc.name, func(t *testing.T) {
			taker, ran := fakeTaker(t, tc.files, cannedTools{"nfacct list": list, "ipset save": ""})
			taker.ipsets()
			taker.nfacct()
			assert.Equal(t, tc.ran, *ran)
		})
	}
	t.Run("a kernel that cannot load modules has all it can do built in", func(t *testing.T) {
		taker, ran := fakeTaker(t, nil, cannedTools{"nfacct list": list, "ipset save": ""})
		require.NoError(t, os.Remove(filepath.Join(taker.proc, "modules")))
		taker.ipsets()
		taker.nfacct()
		assert.Equal(t, []string{"ipset save", "nfacct list"}, *ran)
	})
	t.Run("missing tools are said", func(t *testing.T) {
		taker, _ := fakeTaker(t, nil, nil)
		taker.snapshot.IPTables = rules
		taker.ipsets()
		taker.nfacct()
		assert.Equal(t, []Unread{
			{"ipsets", "ipset is not installed: executable file not found in $PATH"},
			{"nfacct objects", "nfacct is not installed: executable file not found in $PATH"},
		}, taker.snapshot.Unread)
	})
	t.Run("a list of another form is said", func(t *testing.T) {
		taker, _ := fakeTaker(t, nil, cannedTools{"nfacct list": "pkts 3\n"})
		taker.snapshot.IPTables = rules
		taker.nfacct()
		require.Len(t, taker.snapshot.Unread, 1)
		assert.Contains(t, taker.snapshot.Unread[0].Why, `nfacct list: "pkts 3"`)
	})
}

func TestTakeSysctls(t *testing.T) {
	taker, _ := fakeTaker(t, map[string]string{
		"proc/sys/net/ipv4/ip_forward":                       "1\n",
		"proc/sys/net/ipv4/ip_local_port_range":              "32768\t60999\n",
		"proc/sys/net/ipv4/conf/eth0.100/rp_filter":          "2\n",
		"proc/sys/net/ipv4/conf/all/log_martians":            "1\n",
		"proc/sys/net/netfilter/nf_conntrack_count":          "17\n",
		"proc/sys/net/netfilter/nf_conntrack_tcp_be_liberal": "0\n",
		"proc/sys/net/bridge/bridge-nf-call-iptables":        "1\n",
	}, nil)
	taker.sysctls()
	assert.Equal(t, map[string]string{
		"net.ipv4.ip_forward":                       "1",
		"net.ipv4.ip_local_port_range":              "32768 60999",
		"net.ipv4.conf.eth0.100.rp_filter":          "2",
		"net.netfilter.nf_conntrack_tcp_be_liberal": "0",
		"net.bridge.bridge-nf-call-iptables":        "1",
	}, taker.snapshot.Sysctls)
	assert.Empty(t, taker.snapshot.Unread)
}

func TestTakeRecentLists(t *testing.T) {
	taker, _ := fakeTaker(t, map[string]string{
		"proc/thread-self/net/xt_recent/EMPTY":      "",
		"proc/thread-self/net/xt_recent/KUBE-SEP-X": "src=10.0.0.1 ttl: 64 last_seen: 4295 oldest_pkt: 1 4295\n",
	}, nil)
	taker.recentLists()
	assert.Equal(t, []Unread{{"recent list KUBE-SEP-X", "not supported: a snapshot does not hold its 1 addresses"}}, taker.snapshot.Unread)
}

// TestTakeOfThisMachine takes what anybody may read, with no tool installed.
func TestTakeOfThisMachine(t *testing.T) {
	ran := &[]string{}
	s, err := Take(context.Background(), cannedTools{}.exec(ran))
	require.NoError(t, err)
	assert.True(t, slices.ContainsFunc(s.Devices, func(d Device) bool { return d.Kind == "loopback" }))
	assert.Contains(t, s.Sysctls, "net.ipv4.ip_forward")
	assert.Empty(t, *ran)

	var b bytes.Buffer
	require.NoError(t, s.Write(&b, JSON))
	again, err := Read("snapshot", &b)
	require.NoError(t, err)
	assert.Equal(t, s, again)
}

func TestTakeEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := Take(ctx, cannedTools{}.exec(&[]string{}))
	assert.ErrorIs(t, err, context.Canceled)
}

func TestRouteFromNetlink(t *testing.T) {
	names := map[int]string{2: "eth0", 3: "eth1"}
	gateway := net.IPv4(10, 0, 0, 254)
	for _, tc := range []struct {
		name  string
		route netlink.Route
		want  Route
		err   string
	}{
		{"a default route without destination", netlink.Route{LinkIndex: 2, Gw: gateway, Type: unix.RTN_UNICAST, Table: 254,
			Protocol: unix.RTPROT_STATIC},
			Route{Dst: netip.MustParsePrefix("0.0.0.0/0"), Type: packetsim.RouteUnicast, Via: netip.MustParseAddr("10.0.0.254"), Dev: "eth0",
				Table: packetsim.TableMain, Scope: packetsim.ScopeGlobal, Protocol: "static"}, ""},
		{"several next hops", netlink.Route{LinkIndex: 2, Type: unix.RTN_UNICAST, Table: 254,
			MultiPath: []*netlink.NexthopInfo{{LinkIndex: 2, Gw: gateway}, {LinkIndex: 3, Hops: 4}}},
			Route{Dst: netip.MustParsePrefix("0.0.0.0/0"), Type: packetsim.RouteUnicast, Table: packetsim.TableMain, Scope: packetsim.ScopeGlobal,
				Protocol: "unspec",
				NextHops: []NextHop{{Via: netip.MustParseAddr("10.0.0.254"), Dev: "eth0", Weight: 1}, {Dev: "eth1", Weight: 5}}}, ""},
		{"a route for one TOS", netlink.Route{Type: unix.RTN_UNICAST, Tos: 8}, Route{}, "not supported: a route for TOS 0x8 only"},
		{"a tunnel", netlink.Route{Type: unix.RTN_UNICAST, Encap: &netlink.MPLSEncap{}}, Route{}, "not supported: a route with an encapsulation"},
		{"a gateway of the other family", netlink.Route{Type: unix.RTN_UNICAST, Via: &netlink.Via{}}, Route{},
			"not supported: a gateway of the other address family"},
		{"a dead route", netlink.Route{Type: unix.RTN_UNICAST, Flags: unix.RTNH_F_DEAD}, Route{}, "dead: the kernel does not use it"},
		{"a scope of its own", netlink.Route{Type: unix.RTN_UNICAST, Scope: 100}, Route{}, "not supported: scope 100"},
		{"NAT by route", netlink.Route{Type: unix.RTN_NAT}, Route{}, "not supported: route type 10"},
		{"a next hop with a tunnel", netlink.Route{Type: unix.RTN_UNICAST, MultiPath: []*netlink.NexthopInfo{{Encap: &netlink.MPLSEncap{}}}},
			Route{}, "not supported: a next hop with an encapsulation"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := routeFromNetlink(&tc.route, netfilter.IPv4, names)
			if tc.err != "" {
				require.ErrorContains(t, err, tc.err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tc.want, got)
		})
	}
}

func attr(typ uint16, value []byte) []byte { return nlattr.Append(nil, typ, value...) }

// policyRuleSample is a rule as the kernel sends it: not from 10.0.0.0/8 fwmark 0x10/0xff lookup 100.
func policyRuleSample(more ...[]byte) []byte {
	native := func(n uint32) []byte { return binary.NativeEndian.AppendUint32(nil, n) }
	message := []byte{unix.AF_INET, 0, 8, 0, 100, 0, 0, unix.FR_ACT_TO_TBL}
	message = append(message, native(2)...)
	for _, a := range append([][]byte{
		attr(unix.FRA_PRIORITY, native(90)), attr(unix.FRA_SRC, []byte{10, 0, 0, 0}), attr(unix.FRA_FWMARK, native(0x10)),
		attr(unix.FRA_FWMASK, native(0xff)),
		attr(unix.FRA_IIFNAME, []byte("eth0\x00")), attr(unix.FRA_TABLE, native(100)), attr(unix.FRA_SUPPRESS_PREFIXLEN, native(1<<32-1)),
	}, more...) {
		message = append(message, a...)
	}
	return message
}

func TestParsePolicyRule(t *testing.T) {
	got, err := parsePolicyRule(policyRuleSample(), netfilter.IPv4)
	require.NoError(t, err)
	assert.Equal(t, PolicyRule{
		Family: netfilter.IPv4, Priority: 90, Invert: true, From: netip.MustParsePrefix("10.0.0.0/8"), Mark: 0x10, MarkMask: 0xff, In: "eth0",
		Action: packetsim.RuleLookup, Table: 100,
	}, got)

	withByte := func(i int, b byte) []byte {
		message := policyRuleSample()
		message[i] = b
		return message
	}
	for _, tc := range []struct {
		name    string
		message []byte
		want    string
	}{
		{"a selector that a Host does not have", policyRuleSample(attr(unix.FRA_IP_PROTO, []byte{6})), "not supported: selector or option 22"},
		{"a suppressed prefix length", policyRuleSample(attr(unix.FRA_SUPPRESS_IFGROUP, []byte{0, 0, 0, 0})),
			"not supported: selector or option 13"},
		{"a TOS", withByte(3, 8), "not supported: a rule for TOS 0x8 only"},
		{"an action that a Host does not have", withByte(7, unix.FR_ACT_GOTO), "not supported: action 2"},
		{"a cut header", policyRuleSample()[:11], "unknown netlink message: 11 bytes"},
		{"a cut attribute", policyRuleSample()[:26], "unknown netlink message"},
		{"no table", policyRuleSample()[:20], "not supported: a look-up that names no table"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := parsePolicyRule(tc.message, netfilter.IPv4)
			assert.ErrorContains(t, err, tc.want)
		})
	}
}

func FuzzParsePolicyRule(f *testing.F) {
	f.Add(policyRuleSample())
	f.Fuzz(func(t *testing.T, message []byte) {
		rule, err := parsePolicyRule(message, netfilter.IPv4)
		if err == nil {
			require.NotEmpty(t, rule.Action)
		}
	})
}

func FuzzParseNFAcct(f *testing.F) {
	f.Add("{ pkts = 00000000000000000003, bytes = 00000000000000000180 } = name;\n")
	f.Fuzz(func(t *testing.T, list string) {
		objects, err := ParseNFAcct(list)
		if err == nil {
			require.LessOrEqual(t, len(objects), strings.Count(list, "\n")+1)
		}
	})
}
