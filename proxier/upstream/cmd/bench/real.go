package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/chainwalk/chainwalk/internal/namespace"
	"github.com/chainwalk/chainwalk/proxier/upstream/cases"
)

// realTool measures what the real nft takes for the first transaction of each side, in a namespace, by the clock. The figures are shown and
// not judged: the tool is the same, and the text nearly so.
func (b *bench) realTool() error {
	if b.mode != cases.NFTables {
		return nil
	}
	if lacks := namespace.Lacks("nft"); len(lacks) > 0 {
		fmt.Fprintf(b.out, "The real nft was not measured: %s\n", strings.Join(lacks, ", "))
		return nil
	}
	fmt.Fprintf(b.out, "The first transaction with the real nft, %d services, by the clock\n", middle)
	ours, theirs := makers()
	for _, m := range []maker{theirs, ours} {
		s, err := newCluster(b.mode, middle).deliver(m, nil)
		if err != nil {
			return err
		}
		s.sink.Keep = true
		if err := s.Start(); err != nil {
			return err
		}
		took, err := applied(string(s.sink.Saved))
		if err != nil {
			return err
		}
		fmt.Fprintf(b.out, "  %-10s %6.2f s for %d bytes\n", m.name, took.Seconds(), s.sink.Bytes)
	}
	return nil
}

// applied gives the real nft a transaction, and says how long it took.
func applied(transaction string) (took time.Duration, err error) {
	n, err := namespace.New()
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, n.Close()) }()
	start := time.Now()
	_, err = n.Output([]string{"nft", "-f", "-"}, transaction)
	return time.Since(start), err
}
