// Command trace prints what becomes of a packet on the node whose snapshot it reads: trace PACKET < SNAPSHOT.
package main

import (
	"fmt"
	"os"

	"github.com/chainwalk/chainwalk/scenarios/explain/browser"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: trace PACKET < SNAPSHOT")
		os.Exit(2)
	}
	told, err := browser.Story(os.Stdin, os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "trace:", err)
		os.Exit(1)
	}
	fmt.Println(told.Sentence)
}
