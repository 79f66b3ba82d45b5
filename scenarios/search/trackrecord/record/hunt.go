package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/search/fuzz"
	"github.com/chainwalk/chainwalk/scenarios/search/trackrecord"
)

// hunt is what came of looking for a fault.
type hunt struct {
	fault trackrecord.Fault
	tries []try
	// kept is the path of the scenario file below the module, empty if there is none that fails with the fault only.
	kept     string
	services int
	steps    int
	// trouble says why the fault is not as it should be.
	trouble []error
}

// try is a hunt with one seed.
type try struct {
	seed    int
	cases   int
	took    time.Duration
	failure *fuzz.Failure // nil if nothing was found
}

// huntAll looks for all faults, several at once.
func (b *binary) huntAll(ctx context.Context, o options, faults []trackrecord.Fault, out io.Writer) []hunt {
	hunts := make([]hunt, len(faults))
	places := make(chan int)
	var workers sync.WaitGroup
	var printing sync.Mutex
	for range o.jobs {
		workers.Go(func() {
			for place := range places {
				hunts[place] = hunt{fault: faults[place]}
				if !o.replay {
					hunts[place] = b.hunt(ctx, faults[place], o)
				}
				if o.write {
					hunts[place].keep(ctx, b)
				} else {
					hunts[place].replayKept(ctx, b)
				}
				printing.Lock()
				fmt.Fprintln(out, hunts[place].line())
				printing.Unlock()
			}
		})
	}
	for place := range faults {
		places <- place
	}
	close(places)
	workers.Wait()
	return hunts
}

// hunt looks for one fault with each seed.
func (b *binary) hunt(ctx context.Context, fault trackrecord.Fault, o options) hunt {
	h := hunt{fault: fault}
	for seed := 1; seed <= o.seeds && ctx.Err() == nil; seed++ {
		result, took, err := b.fuzz(ctx, &fault, seed, o)
		if err != nil {
			h.trouble = append(h.trouble, fmt.Errorf("seed %d: %w", seed, err))
			continue
		}
		t := try{seed: seed, cases: result.Cases, took: took}
		if len(result.Failures) > 0 {
			t.failure = &result.Failures[0]
		} else {
			h.trouble = append(h.trouble, fmt.Errorf("seed %d: not found in %d cases", seed, result.Cases))
		}
		h.tries = append(h.tries, t)
	}
	return h
}

func (h *hunt) good() bool { return len(h.trouble) == 0 }

// median returns the cases and the time that half of the seeds needed at most.
func (h *hunt) median() (cases int, took time.Duration) {
	if len(h.tries) == 0 {
		return 0, 0
	}
	sorted := slices.Clone(h.tries)
	slices.SortFunc(sorted, func(a, b try) int { return a.cases - b.cases })
	middle := sorted[len(sorted)/2]
	return middle.cases, middle.took
}

// clauses returns those that showed the fault, each once.
func (h *hunt) clauses() []string {
	var names []string
	for _, t := range h.tries {
		if t.failure != nil && !slices.Contains(names, t.failure.Clause) {
			names = append(names, t.failure.Clause)
		}
	}
	slices.Sort(names)
	return names
}

// file is where the scenario that shows a fault is kept, below the module.
func file(f *trackrecord.Fault) string {
	number := "none"
	if len(f.Issues) > 0 {
		number = fmt.Sprint(f.Issues[0])
	}
	return filepath.Join("scenarios", "testdata", "regress", number+"-"+f.Name+".yaml")
}

// isKept says whether there is a file that shows the fault.
func isKept(root string, f *trackrecord.Fault) bool {
	_, err := os.Stat(filepath.Join(root, file(f)))
	return err == nil
}

// keep makes the failing cases small, beginning with the one that was found first, until one is a scenario that fails with the fault and
// holds without, and keeps that.
func (h *hunt) keep(ctx context.Context, b *binary) {
	found := slices.DeleteFunc(slices.Clone(h.tries), func(t try) bool { return t.failure == nil })
	slices.SortStableFunc(found, func(a, b try) int { return a.cases - b.cases })
	for _, t := range found {
		failures, err := b.small(ctx, &h.fault, t.seed, t.failure.Case)
		if err != nil {
			h.trouble = append(h.trouble, err)
			return
		}
		slices.SortStableFunc(failures, func(a, b fuzz.Failure) int { return len(a.File) - len(b.File) })
		for i := range failures {
			if h.keepFile(ctx, b, failures[i].File); h.kept != "" {
				return
			}
		}
	}
	if len(found) > 0 {
		_ = os.Remove(filepath.Join(b.root, file(&h.fault)))
	}
}

// keepFile keeps a scenario if it fails with the fault and holds without.
func (h *hunt) keepFile(ctx context.Context, b *binary, text string) {
	path := filepath.Join(b.root, file(&h.fault))
	err := os.WriteFile(path, h.headed(text), 0o644)
	if err == nil {
		err = reduce(ctx, b, h.fault.Name, path)
	}
	h.trouble = slices.DeleteFunc(h.trouble, func(err error) bool { return errors.Is(err, errReplay) })
	if err != nil {
		h.trouble = append(h.trouble, fmt.Errorf("%w of %s: %w", errReplay, file(&h.fault), err))
		return
	}
	h.replayKept(ctx, b)
}

// headed puts what the fault is before the head of the file.
func (h *hunt) headed(text string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# The fault %s%s: %s.\n#\n", h.fault.Name, references(&h.fault), h.fault.What)
	b.WriteString(text)
	return b.Bytes()
}

func references(f *trackrecord.Fault) string {
	var words []string
	for _, issue := range f.Issues {
		words = append(words, fmt.Sprintf("kubernetes#%d", issue))
	}
	if len(words) == 0 {
		return ""
	}
	return " (" + strings.Join(words, ", ") + ")"
}

// errReplay says that a kept file does not do what it must.
var errReplay = errors.New("replay")

// replayKept runs the kept file with the fault and without.
func (h *hunt) replayKept(ctx context.Context, b *binary) {
	path := filepath.Join(b.root, file(&h.fault))
	err := h.measure(path)
	if err == nil {
		err = replayBoth(ctx, b, h.fault.Name, path)
	}
	if err != nil {
		h.trouble = append(h.trouble, fmt.Errorf("%w of %s: %w", errReplay, file(&h.fault), err))
		return
	}
	h.kept = file(&h.fault)
}

func replayBoth(ctx context.Context, b *binary, fault, path string) error {
	switch _, held, err := b.replay(ctx, fault, path); {
	case err != nil:
		return err
	case held:
		return errors.New("it holds with the fault")
	}
	switch checks, held, err := b.replay(ctx, "", path); {
	case err != nil:
		return err
	case checks == 0:
		return errors.New("it checks nothing")
	case !held:
		return errors.New("it fails without the fault")
	}
	return nil
}

// measure reads how large the kept scenario is.
func (h *hunt) measure(path string) error {
	list, err := scenarios.Load(path)
	if err != nil {
		return err
	}
	if len(list) != 1 {
		return fmt.Errorf("%d scenarios, must be one", len(list))
	}
	h.services, h.steps = sizeOf(list[0])
	return nil
}
