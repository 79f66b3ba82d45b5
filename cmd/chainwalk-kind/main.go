// Command chainwalk-kind makes the containers of a kind cluster's nodes, for "chainwalk run --on kind".
//
//	chainwalk-kind <CLUSTER.yaml
//
// It reads kind's configuration of a cluster (kind.x-k8s.io/v1alpha4, YAML or JSON), and stops before it starts Kubernetes. kind's
// warnings go to standard error. chainwalk itself does not link this part of kind's library: package kindtest/onkind/provision says why.
//
// Exit status: 0 the containers run, 1 kind could not make them and standard output says why, 2 bad usage.
package main

import (
	"fmt"
	"io"
	"os"

	"sigs.k8s.io/kind/pkg/log"

	"github.com/chainwalk/chainwalk/kindtest/onkind/provision"
)

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

func run(args []string, in io.Reader, out, errOut io.Writer) (status int) {
	if len(args) > 0 {
		fmt.Fprintln(errOut, "chainwalk-kind: makes the nodes of the kind cluster that standard input describes, and takes no arguments")
		return 2
	}
	config, err := io.ReadAll(in)
	if err == nil {
		err = provision.Nodes(config, warnings{errOut})
	}
	if err != nil {
		fmt.Fprintln(out, err)
		return 1
	}
	return 0
}

// warnings is a logger of kind that prints warnings and errors, a line each.
type warnings struct{ out io.Writer }

func (w warnings) Warn(message string)                 { fmt.Fprintln(w.out, message) }
func (w warnings) Warnf(format string, values ...any)  { fmt.Fprintf(w.out, format+"\n", values...) }
func (w warnings) Error(message string)                { fmt.Fprintln(w.out, message) }
func (w warnings) Errorf(format string, values ...any) { fmt.Fprintf(w.out, format+"\n", values...) }
func (w warnings) V(log.Level) log.InfoLogger          { return log.NoopInfoLogger{} }
