package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
)

// journal is a file of what came of mutants, a line for each: how it ended, who noticed, the mutant's name. A run that is begun
// again with the same file goes on where it ended.
type journal struct {
	known map[string]result // by name

	mu  sync.Mutex
	out io.WriteCloser // nil: nothing is kept
}

// How mutants end, as the lines of a journal begin.
const (
	endNoticed  = "noticed"
	endSurvived = "survived"
	endNotMet   = "not met"
)

// openJournal reads what the file holds, if there is one, and will append to it. Survivors are left out if they are to be tried again.
func openJournal(file string, again bool) (*journal, error) {
	j := &journal{known: map[string]result{}}
	if file == "" {
		return j, nil
	}
	f, err := os.OpenFile(file, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	j.out = f
	lines := bufio.NewScanner(f)
	for number := 1; lines.Scan(); number++ {
		words := strings.SplitN(lines.Text(), "\t", 3)
		if len(words) != 3 {
			return nil, errors.Join(fmt.Errorf("%s:%d: not a line of a journal", file, number), f.Close())
		}
		r := result{noticed: words[0] == endNoticed, by: words[1], passed: words[0] != endNotMet}
		if again && !r.noticed {
			delete(j.known, words[2])
			continue
		}
		j.known[words[2]] = r
	}
	return j, lines.Err()
}

// note writes what came of a mutant.
func (j *journal) note(name string, r result) error {
	if j.out == nil {
		return nil
	}
	end := endNotMet
	switch {
	case r.noticed:
		end = endNoticed
	case r.passed:
		end = endSurvived
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	_, err := fmt.Fprintf(j.out, "%s\t%s\t%s\n", end, r.by, name)
	return err
}

func (j *journal) close() error {
	if j.out == nil {
		return nil
	}
	return j.out.Close()
}
