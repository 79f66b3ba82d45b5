package toolstate

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// crashRules is the number of rules of each generation, enough for its file to be written in many pages.
const crashRules = 1000

// generation is restore input whose every rule names the generation.
func generation(n int) string {
	var b strings.Builder
	b.WriteString("*filter\n")
	for i := range crashRules {
		fmt.Fprintf(&b, "-A INPUT -s 10.0.%d.%d/32 -m comment --comment generation-%d -j ACCEPT\n", i/250, i%250, n)
	}
	b.WriteString("COMMIT\n")
	return b.String()
}

// writeForEver is the program that gets killed: it writes one generation after the other and prints the number of
// each that is written.
func writeForEver() {
	store, err := FromEnvironment()
	if err != nil {
		panic(err)
	}
	first, err := strconv.Atoi(os.Args[1])
	if err != nil {
		panic(err)
	}
	for n := first; ; n++ {
		if status := store.Run([]string{"iptables-restore"}, strings.NewReader(generation(n)), os.Stdout, os.Stderr); status != 0 {
			os.Exit(status)
		}
		fmt.Println(n)
	}
}
