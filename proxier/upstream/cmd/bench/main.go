// Command bench measures this project's proxier beside kube-proxy's, in turn
// and in one process, with a sink in place of the tools. It prints ratios with
// their spread and exits with 1 if one is not what it has to be.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/chainwalk/chainwalk/internal/command"
	"github.com/chainwalk/chainwalk/proxier/upstream/cases"
	"github.com/chainwalk/chainwalk/proxier/upstream/peers"
)

func main() {
	klog.SetLogger(logr.Discard())
	b := &bench{}
	c := command.Command{Name: "bench", Flags: b.define, Look: b.look}
	c.Main()
}

// sizes are the numbers of services, of endpointsEach endpoints.
const (
	small         = 1_000
	middle        = 10_000
	big           = 50_000
	endpointsEach = 5
)

// bench is one run.
type bench struct {
	out    io.Writer
	rounds int
	mode   cases.Mode
	goals  goals
	failed bool
}

// goals are what has to be held in a mode.
type goals struct {
	first   float64 // the first full sync, ours to theirs
	sizes   []int   // the clusters of partial syncs
	partial float64 // a partial sync of ours, in ms
	input   float64 // its bytes of input
	memory  float64 // ours to theirs
}

// goalsOf are the goals of each mode.
var goalsOf = map[cases.Mode]goals{
	"":             {first: 0.5, sizes: []int{small, middle, big}, partial: 5, input: 10_000, memory: 1},
	cases.NFTables: {first: 0.3, sizes: []int{small, middle}, partial: 1, input: 2_000, memory: 0.5},
}

func (b *bench) define(flags *flag.FlagSet) {
	flags.IntVar(&b.rounds, "rounds", 9, "how often each side is measured")
	flags.Func("mode", "iptables or nftables", func(text string) (err error) { b.mode, err = cases.ModeNamed(text); return err })
}

// look measures everything, and says whether all goals are held.
func (b *bench) look(_ context.Context, _ []string, out io.Writer) (held bool, err error) {
	b.out, b.goals = out, goalsOf[b.mode]
	fmt.Fprintf(out, "Services of %d endpoints each, one EndpointSlice a service. Times are CPU times of the process, with garbage\n"+
		"collection: median of %d rounds (smallest to largest); the two take turns. kube-proxy is %s, in mode %s.\n\n",
		endpointsEach, b.rounds, peers.Version(), cmp.Or(b.mode, "iptables"))
	err = errors.Join(b.memory(), b.firstSync(), b.fullSync(), b.partialSyncs(), b.realTool())
	return !b.failed, err
}

// goal prints what was reached of what has to be.
func (b *bench) goal(name string, value, most float64) {
	verdict := "held"
	if value > most {
		verdict, b.failed = "NOT HELD", true
	}
	fmt.Fprintf(b.out, "  %-66s %10.4f  goal at most %g: %s\n", name, value, most, verdict)
}
