package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
)

// result says who noticed a mutant.
type result struct {
	number  int
	noticed bool
	by      string
	// passed says that some program came by it.
	passed bool
}

// meet lets each mutant meet the programs that come by it, several mutants at once.
func meet(ctx context.Context, s *schemata, programs []*program, o options, out io.Writer) []result {
	slices.SortStableFunc(programs, func(a, b *program) int { return int(a.took - b.took) })
	numbers := make(chan int)
	results := make([]result, len(s.mutants))
	var workers sync.WaitGroup
	for range o.jobs {
		workers.Go(func() {
			for number := range numbers {
				results[number-1] = meetOne(ctx, number, s.mutants[number-1].file, programs)
			}
		})
	}
	last := time.Now()
	for number := range len(s.mutants) {
		if strings.Contains(s.mutants[number].name, o.only) {
			numbers <- number + 1
		}
		if time.Since(last) > 30*time.Second {
			last = time.Now()
			fmt.Fprintf(out, "%d of %d mutants\n", number, len(s.mutants))
		}
	}
	close(numbers)
	workers.Wait()
	return slices.DeleteFunc(results, func(r result) bool { return r.number == 0 })
}

// meetOne asks the tests of the mutant's own package first: they are made to notice.
func meetOne(ctx context.Context, number int, file string, programs []*program) result {
	r := result{number: number}
	own := func(p *program) bool { return p.name == file[:strings.LastIndex(file, "/")] }
	for _, first := range []bool{true, false} {
		for _, p := range programs {
			if own(p) != first || !p.passes[number] {
				continue
			}
			r.passed = true
			if noticed, err := p.notices(ctx, number); err != nil {
				return result{}
			} else if noticed {
				r.noticed, r.by = true, p.name
				return r
			}
		}
	}
	return r
}
