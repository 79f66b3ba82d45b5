// Command page writes the page of a packet's way through the node whose snapshot it reads: page PACKET < SNAPSHOT.
package main

import (
	"fmt"
	"os"

	"github.com/chainwalk/chainwalk/scenarios/explain/browser"
	"github.com/chainwalk/chainwalk/scenarios/explain/page"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: page PACKET < SNAPSHOT")
		os.Exit(2)
	}
	told, err := browser.Story(os.Stdin, os.Args[1])
	if err == nil {
		err = page.Trace(os.Stdout, told)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "page:", err)
		os.Exit(1)
	}
}
