package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
)

// result says who noticed a mutant.
type result struct {
	number  int
	noticed bool
	// by is who noticed it, or what a comparison of all packets says of a mutant that nobody has noticed.
	by string
	// passed says that some program came by it.
	passed bool
}

// meet lets each mutant meet the programs that come by it, several mutants at once, but for those that the journal knows. Cases
// are not asked of what is in the list: that a mutant is equivalent is held to the tests, and what cases do not look at they cannot see.
func meet(ctx context.Context, s *schemata, programs []*program, j *journal, list *argued, o options, out io.Writer) ([]result, error) {
	numbers := make(chan int)
	results, failures := make([]result, len(s.mutants)), make([]error, len(s.mutants))
	var workers sync.WaitGroup
	for range o.jobs {
		workers.Go(func() {
			for number := range numbers {
				r, err := meetOne(ctx, number, s.mutants[number-1].file, programs, o.prove)
				if err == nil {
					err = j.note(s.mutants[number-1].name, r)
				}
				results[number-1], failures[number-1] = r, err
			}
		})
	}
	last := time.Now()
	for number := range s.mutants {
		name := s.mutants[number].name
		switch known, ok := j.known[name]; {
		case !strings.Contains(name, o.only) || number%o.every != 0 || ctx.Err() != nil:
		case o.with == withFuzz && (has(list.Survivors, name) || has(list.Unjudged, name)):
			results[number] = result{number: number + 1}
		case ok:
			known.number = number + 1
			results[number] = known
		default:
			numbers <- number + 1
		}
		if time.Since(last) > 30*time.Second {
			last = time.Now()
			fmt.Fprintf(out, "%d of %d mutants\n", number, len(s.mutants))
		}
	}
	close(numbers)
	workers.Wait()
	results = slices.DeleteFunc(results, func(r result) bool { return r.number == 0 })
	return results, errors.Join(append(failures, ctx.Err())...)
}

// writeUnreached prints the mutants that no program comes by, without those that meet would not ask it of.
func (s *schemata) writeUnreached(out io.Writer, programs []*program, list *argued, o options) {
	for number, m := range s.mutants {
		asked := strings.Contains(m.name, o.only) && number%o.every == 0 &&
			!(o.with == withFuzz && (has(list.Survivors, m.name) || has(list.Unjudged, m.name)))
		if asked && len(inOrder(number+1, path.Dir(m.file), programs)) == 0 {
			fmt.Fprintln(out, m.name)
		}
	}
}

// meetOne asks the tests of the mutant's own package first: they are made to notice. Then those that cost least.
func meetOne(ctx context.Context, number int, file string, programs []*program, prove int) (result, error) {
	r := result{number: number}
	passing := inOrder(number, path.Dir(file), programs)
	for _, p := range passing {
		r.passed = true
		noticed, by, err := p.notices(ctx, number)
		if err != nil {
			return result{}, err
		}
		if noticed {
			r.noticed, r.by = true, by
			return r, nil
		}
	}
	var found proof
	for _, p := range passing[:min(prove, len(passing))] {
		if err := p.compare(ctx, number, &found); err != nil {
			return result{}, err
		}
	}
	if found.rulesets > 0 {
		r.by = found.String()
	}
	return r, nil
}

// inOrder returns the programs that come by the mutant.
func inOrder(number int, folder string, programs []*program) []*program {
	costs := map[*program]time.Duration{}
	var passing []*program
	for _, p := range programs {
		if took, comesBy := p.cost(number); comesBy {
			costs[p] = took.cpu
			if p.folder == folder {
				costs[p] /= 10
			}
			passing = append(passing, p)
		}
	}
	slices.SortStableFunc(passing, func(a, b *program) int { return cmp.Compare(costs[a], costs[b]) })
	return passing
}
