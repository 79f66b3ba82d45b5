package explain_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/fakekernel"
	"github.com/chainwalk/chainwalk/internal/dumps"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/scenarios/explain/names"
	"github.com/chainwalk/chainwalk/scenarios/explain/provenance"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// recorded are the names of the recorded cluster.
func recorded(t testing.TB) *names.Book {
	file, err := dumps.Kind().Open("objects.yaml")
	require.NoError(t, err)
	defer func() { require.NoError(t, file.Close()) }()
	objects, err := manifest.ReadObjects("objects.yaml", file)
	require.NoError(t, err)
	return names.New(objects)
}

// TestNames runs testdata/texts: names of addresses, destinations and rules, and packets with names, on the recorded cluster or on objects
// that a file gives.
func TestNames(t *testing.T) {
	datadriven.Walk(t, "names/testdata/texts", func(t *testing.T, path string) {
		book := recorded(t)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var out []string
			if d.Cmd == "objects" {
				objects, err := manifest.ReadObjects("objects.yaml", strings.NewReader(d.Input))
				require.NoError(t, err)
				book = names.New(objects)
				return ""
			}
			for line := range strings.Lines(d.Input) {
				out = append(out, answer(t, book, d, strings.TrimSuffix(line, "\n")))
			}
			return strings.Join(out, "\n")
		})
	})
}

// answer is what a Book says of a line.
func answer(t *testing.T, book *names.Book, d *datadriven.TestData, line string) string {
	switch d.Cmd {
	case "address":
		return line + ": " + book.Address(netip.MustParseAddr(line))
	case "destination":
		proto, at, _ := strings.Cut(line, " ")
		var p inet.Proto
		require.NoError(t, p.UnmarshalText([]byte(proto)))
		return line + ": " + book.Destination(p, netip.MustParseAddrPort(at))
	case "rule":
		table, f := factOf(t, line)
		return book.Rule(table, strings.Fields(line)[1], &f)
	case "packet":
		return readNamed(book, line)
	}
	d.Fatalf(t, "unknown command %q", d.Cmd)
	return ""
}

// readNamed reads a packet with names as a command does.
func readNamed(book *names.Book, text string) string {
	p, err := book.Packet(text)
	if err != nil {
		return err.Error()
	}
	if _, err := inet.ParseInput(p.Text); err != nil {
		return p.Error(err).Error()
	}
	if p.Source == nil {
		return p.Text
	}
	return fmt.Sprintf("%s   (%s of %q, host network %t)", p.Text, p.Source.Address, p.Source.Node, p.Source.Host)
}

// factOf is what a rule means, and the table that takes it. The chains that it names are made.
func factOf(t *testing.T, line string) (table string, f netfilter.Fact) {
	words := strings.Fields(line)
	chains := ":" + words[1] + " - [0:0]\n"
	if target := words[slices.Index(words, "-j")+1]; strings.Contains(target, "-") {
		chains += ":" + target + " - [0:0]\n"
	}
	for _, table := range []string{"filter", "nat"} {
		rules, err := fakekernel.ReadSave("rules", "*"+table+"\n"+chains+line+"\nCOMMIT\n", netfilter.IPv4, netfilter.Legacy)
		if err == nil {
			chain, _ := rules.Table(table).Chain(words[1])
			return table, chain.Fact(0)
		}
	}
	t.Fatalf("no table takes %s", line)
	return "", f
}

// TestACommentIsNoTarget has the target of a rule in the comment of another one.
func TestACommentIsNoTarget(t *testing.T) {
	save := "*nat\n:KUBE-SERVICES - [0:0]\n:KUBE-SVC-67NZLRHBNDSAWJRO - [0:0]\n" +
		`-A KUBE-SERVICES -m comment --comment "moved from -j KUBE-SEP-ZEIDTFVL27F4EVRN" -j KUBE-SVC-67NZLRHBNDSAWJRO` + "\nCOMMIT\n"
	rules, err := fakekernel.ReadSave("rules", save, netfilter.IPv4, netfilter.Legacy)
	require.NoError(t, err)
	services, _ := rules.Table("nat").Chain("KUBE-SERVICES")
	f := services.Fact(0)
	assert.Equal(t, "service shop/web:http", recorded(t).Rule("nat", "KUBE-SERVICES", &f))
}

// TestChainsSayTheSameAsComments holds the names by chains to the comments that upstream's kube-proxy wrote on each node of a real cluster.
func TestChainsSayTheSameAsComments(t *testing.T) {
	book := recorded(t)
	compared := 0
	for family, file := range map[netfilter.Family]string{netfilter.IPv4: "iptables-save.txt", netfilter.IPv6: "ip6tables-save.txt"} {
		for _, folder := range []string{"nft/demo-worker/", "legacy/demo-worker2/", "nft/demo-control-plane/"} {
			save, err := fs.ReadFile(dumps.Kind(), folder+file)
			require.NoError(t, err)
			rules, err := fakekernel.ReadSave(file, string(save), family, netfilter.Legacy)
			require.NoError(t, err)
			for _, table := range rules.Tables {
				for chain := range table.Chains() {
					for _, rule := range chain.All() {
						compared += compareWithComment(t, book, table.Name(), chain.Name, rule)
					}
				}
			}
		}
	}
	assert.Greater(t, compared, 300)
}

// compareWithComment is 1 if the rule of a service's chain has a comment that can be compared with.
func compareWithComment(t *testing.T, book *names.Book, table, chain string, rule netfilter.Rule) int {
	service := provenance.ServicePortOf(table, chain, &rule.Fact)
	if !provenance.IsOfServicePort(chain) || service == "" {
		return 0
	}
	bare := rule.Fact
	bare.Comment = ""
	got := book.Rule(table, chain, &bare)
	if at := provenance.EndpointOf(&rule.Fact); at.IsValid() {
		want := book.Address(at.Addr())
		if !strings.HasPrefix(want, "pod ") || got == "endpoint "+at.String()+" of "+string(service) {
			want = "endpoint " + at.String() + " of " + string(service)
		}
		assert.Equal(t, want, got, rule.Text)
	} else if !provenance.IsOfEndpoint(chain) {
		assert.Equal(t, "service "+string(service), got, rule.Text)
	}
	return 1
}

func TestErrorsKeepTheirPlace(t *testing.T) {
	p, err := recorded(t).Packet("tcp pod/echo-77c9b5bcb7-d6rwv:1 > svc/web:http in eth0 flag SYN")
	require.NoError(t, err)
	_, err = inet.ParseInput(p.Text)
	var syntax *inet.SyntaxError
	require.True(t, errors.As(p.Error(err), &syntax))
	assert.Equal(t, "flag", syntax.Token)
	assert.Equal(t, strings.Index("tcp pod/echo-77c9b5bcb7-d6rwv:1 > svc/web:http in eth0 flag SYN", "flag")+1, syntax.Column)
}

func FuzzPacket(f *testing.F) {
	book := recorded(f)
	for _, seed := range []string{
		"tcp pod/shop/one-78b79d6f88-h7zhv:1 > svc/shop/web:http", "udp node/demo-worker:1 > svc/kube-dns:dns local", "icmp pod/a > node/b",
		"icmp 1.1.1.1 > 2.2.2.2 type 3/3 quotes { tcp pod/echo-77c9b5bcb7-d6rwv:1 > svc/web:http }", "> > >", "svc/ > pod/ > node/",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := book.Packet(text)
		if err != nil {
			return
		}
		if !names.IsNamed(text) && p.Text != text {
			t.Errorf("%q has no names and became %q", text, p.Text)
		}
		if _, err := inet.ParseInput(p.Text); err != nil && p.Error(err).Error() == "" {
			t.Errorf("%q: no error text", text)
		}
	})
}
