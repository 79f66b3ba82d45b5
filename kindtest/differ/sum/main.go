// Command sum reads the events of the kernel tests ("go test -json") and adds up what they compared: the numbers of both differentials for
// each dialect and family, and the tests' results. It shows the output of tests that did not pass. Its exit status is 1 if a test failed or
// was skipped, or if nothing was compared.
package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/chainwalk/chainwalk/kindtest/differ"
)

func main() {
	held, err := run(os.Stdin, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	if !held {
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer) (held bool, err error) {
	start := time.Now()
	s := differ.Summary{Out: out}
	lines := bufio.NewReader(in)
	for err == nil {
		var line string
		if line, err = lines.ReadString('\n'); line == "" {
			break
		}
		if err := s.Add(strings.TrimSuffix(line, "\n")); err != nil {
			return false, err
		}
	}
	if err != io.EOF {
		return false, err
	}
	s.Print(time.Since(start))
	return s.Held(), nil
}
