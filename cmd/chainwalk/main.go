package main

import (
	"fmt"
	"os"

	"github.com/go-logr/logr/funcr"
	"k8s.io/klog/v2"

	"github.com/chainwalk/chainwalk/cmd/chainwalk/internal/early"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "proxy" {
		early.ProfileMemory() // only the proxy has somebody who can ask for the profile (--profiling)
	}
	// What the proxier logs (an address it skips, say) is for people here, not for log files.
	klog.SetLogger(funcr.New(func(_, args string) {
		fmt.Fprintf(os.Stderr, "chainwalk: %s\n", args)
	}, funcr.Options{}))
	os.Exit(runCalled(calledAs(os.Args[0]), toolArgs(os.Args), os.Stdin, os.Stdout, os.Stderr))
}
