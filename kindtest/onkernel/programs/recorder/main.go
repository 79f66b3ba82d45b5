//go:build linux

// Command recorder stands in the place of the iptables tools and of ipset while a program runs: each call is made on the real kernel and on
// the fake, and written into the folder in which the recorder is. It is called by links with the names of the tools; by the name "phase" it
// compares what both kernels hold.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/chainwalk/chainwalk/kindtest/onkernel/programs"
)

func main() {
	own, err := os.Executable()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(programs.Recorder{Folder: filepath.Dir(own)}.Run(os.Args, os.Stdin, os.Stdout, os.Stderr))
}
