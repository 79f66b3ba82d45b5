package proxier_test

import (
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"

	"github.com/chainwalk/chainwalk/proxier"
)

// TestNFTablesRules reads testdata/nftables. Its commands are those of TestRules, apart from these:
//
//	ranges CIDR...     cluster IPs come from these ranges
//	sync               syncs and prints what nft was given, without the lines that a cluster without Services has
//	sync all           prints all of it
//	restart [OPTION]...
//	                   another proxier takes over, which is told the same objects
//	list               prints what nft lists of the table
func TestNFTablesRules(t *testing.T) {
	datadriven.Walk(t, "testdata/nftables", func(t *testing.T, path string) {
		var b *nftBench
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "new":
				b = &nftBench{}
				b.start(t, d)
				b.base = strings.SplitAfter(b.machine.written(), "\n")
			case "restart":
				services, slices := b.services, b.slices
				b.start(t, d)
				for _, service := range services {
					b.proxier.OnServiceAdd(service)
				}
				for _, slice := range slices {
					b.proxier.OnEndpointSliceAdd(slice)
				}
				b.services, b.slices = services, slices
			case "service":
				b.putService(t, d.Input)
			case "delete":
				b.delete(d.CmdArgs[0].Key)
			case "endpoints":
				b.putEndpoints(t, d)
			case "ranges":
				var ranges []string
				for _, arg := range d.CmdArgs {
					ranges = append(ranges, arg.Key)
				}
				b.proxier.OnServiceCIDRsChanged(ranges)
			case "advance":
				step, err := time.ParseDuration(d.CmdArgs[0].Key)
				require.NoError(t, err)
				b.clock.Step(step)
			case "sync":
				return b.sync(t, d.HasArg("all"))
			case "list":
				return b.machine.nft(t, "list ruleset")
			default:
				d.Fatalf(t, "unknown command")
			}
			return ""
		})
	})
}

// nftBench is a bench in mode nftables.
type nftBench struct {
	bench
	machine *nftMachine
}

// start starts a proxier, on a new machine if there is none.
func (b *nftBench) start(t *testing.T, d *datadriven.TestData) {
	config, h := testConfig(v1.IPv4Protocol)
	for _, arg := range d.CmdArgs {
		setOption(t, d, arg, &config, h)
	}
	if b.machine == nil {
		_, b.machine, b.clock = nftConfig(t, config.Family)
	}
	config.Clock, config.Rules = b.clock, proxier.NFTables{Tools: b.machine.tools(t, config.Family)}
	b.machine.take()
	var err error
	b.proxier, err = proxier.New(config)
	require.NoError(t, err)
	b.host, b.family = h, config.Family
	b.services, b.slices = map[string]*v1.Service{}, map[string]*discovery.EndpointSlice{}
	b.proxier.OnServiceSynced()
	b.proxier.OnEndpointSlicesSynced()
	if d.Cmd == "new" {
		require.NoError(t, b.proxier.Sync())
	}
}

// sync returns what nft was given, each run with a line in front if there are several or if there is a question.
func (b *nftBench) sync(t *testing.T, all bool) string {
	require.NoError(t, b.proxier.Sync())
	var out strings.Builder
	for _, run := range b.machine.take() {
		if run.args != "-f -" {
			out.WriteString("# nft " + run.args + "\n")
			continue
		}
		for line := range strings.Lines(run.stdin) {
			if all || !b.inBase(line) {
				out.WriteString(line)
			}
		}
	}
	if out.Len() == 0 {
		return "nothing\n"
	}
	return out.String()
}

func (b *nftBench) inBase(line string) bool {
	for _, known := range b.base {
		if line == known {
			return true
		}
	}
	return false
}
