package differ

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/internal/race"
	"github.com/chainwalk/chainwalk/internal/sample"
	"github.com/chainwalk/chainwalk/netfilter"
)

// TestObjectsAreReadAsTheyWereWritten makes the sessions that are compared with the real tools, once in one kernel and once in kernels of
// which each reads what the last one has written. The tools must say the same: no input that they accept makes a state that cannot be read.
func TestObjectsAreReadAsTheyWereWritten(t *testing.T) {
	race.OneGoroutine(t)
	for seed := range uint64(30) {
		if !sample.Takes(t, int(seed), 4) {
			continue
		}
		for _, tool := range []string{"ipset", "nfacct"} {
			t.Run(fmt.Sprint(tool, " ", seed), func(t *testing.T) {
				steps := drawnSession(seed, tool)
				require.NotEmpty(t, steps)
				kept, written := objectsKernel(), objectsKernel()
				for i := range steps {
					s := &steps[i]
					want := runFake(kept, slices.Clone(s.Argv), s.Stdin)
					require.Equal(t, want, runFake(written, slices.Clone(s.Argv), s.Stdin), s.String())
					text := written.AppendObjects(nil)
					if len(text) > mostWritten && i < len(steps)-1 {
						continue
					}
					written = objectsKernel()
					require.NoError(t, written.ReadObjects(text), s.String())
					require.Equal(t, text, written.AppendObjects(nil), s.String())
				}
			})
		}
	}
}

// mostWritten is the size in bytes of a state that is read again after each step; a greater one is after the last.
const mostWritten = 1 << 13

func objectsKernel() *fakeipt.Kernel {
	return fakeipt.New(fakeipt.Options{Dialect: netfilter.Legacy, Clock: clocktesting.NewFakePassiveClock(time.Unix(1000, 0))})
}

// drawnSession is a session of one tool. Rules are no part of it.
func drawnSession(seed uint64, tool string) []textStep {
	g := newTextGen(seed, netfilter.Legacy, netfilter.IPv4)
	g.help = drawnHelp()
	steps := g.nfacctSession
	if tool == "ipset" {
		steps = g.setSession
	}
	return slices.DeleteFunc(steps(), func(s textStep) bool { return s.Argv[0] != tool })
}

// drawnHelp is what a kernel differential asks the real ipset for.
func drawnHelp() *setHelp {
	extensions := []string{"timeout VALUE", "counters", "comment", "skbinfo"}
	hashes := append([]string{"family inet|inet6", "hashsize VALUE", "maxelem VALUE", "forceadd", "bucketsize VALUE", "initval VALUE"},
		extensions...)
	entry := []string{"timeout VALUE", "packets VALUE", "bytes VALUE", `comment "string"`, "skbmark VALUE", "skbprio VALUE", "skbqueue VALUE"}
	h := &setHelp{options: []string{"-q", "-!", "-n", "-t", "-s", "-o plain|save|xml"}}
	add := func(name, create string, options, more []string, parts ...string) {
		forms := map[string]setForm{"create": {parts: []string{create}, options: options}}
		for _, command := range []string{"add", "del", "test"} {
			forms[command] = setForm{parts: parts, options: append(slices.Clone(entry), more...)}
		}
		h.types = append(h.types, setTypeHelp{name, forms})
	}
	add("bitmap:ip", "range IP/CIDR|FROM-TO", append([]string{"netmask CIDR"}, extensions...), nil, "IP|IP/CIDR|FROM-TO")
	add("bitmap:ip,mac", "range IP/CIDR|FROM-TO", extensions, nil, "IP", "MAC")
	add("bitmap:port", "range [PROTO:]FROM-TO", extensions, nil, "[PROTO:]PORT|FROM-TO")
	add("list:set", "", append([]string{"size VALUE"}, extensions...), []string{"before|after NAME"}, "NAME")
	masks := append([]string{"netmask CIDR", "bitmask MASK"}, hashes...)
	add("hash:ip", "", masks, nil, "IP[/CIDR]|FROM-TO")
	add("hash:ip,port", "", masks, nil, "IP[/CIDR]|FROM-TO", "[PROTO:]PORT")
	add("hash:ip,port,ip", "", hashes, nil, "IP[/CIDR]|FROM-TO", "[PROTO:]PORT", "IP")
	nomatch := []string{"nomatch"}
	add("hash:net", "", hashes, nomatch, "IP[/CIDR]|FROM-TO")
	add("hash:net,port", "", hashes, nomatch, "IP[/CIDR]|FROM-TO", "[PROTO:]PORT")
	add("hash:ip,port,net", "", hashes, nomatch, "IP[/CIDR]|FROM-TO", "[PROTO:]PORT", "IP[/CIDR]|FROM-TO")
	add("hash:net,iface", "", hashes, []string{"nomatch", "wildcard"}, "IP[/CIDR]|FROM-TO", "[physdev:]IFACE")
	return h
}
