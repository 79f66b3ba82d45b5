package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strconv"

	"github.com/chainwalk/chainwalk/internal/overlay"
)

// switches is the package that the mutants use. It is in the overlay only.
const switches = `// Package mutant says which mutant this process has.
package mutant

import (
	"cmp"
	"os"
	"strconv"
	"sync"
)

var (
	active, _ = strconv.Atoi(os.Getenv("CHAINWALK_MUTANT"))
	passed    = Open(os.Getenv("CHAINWALK_MUTANTS_PASSED"))

	lock sync.Mutex
	seen = map[int]bool{}
)

// Open is for the whole run: a test may forbid to open files.
func Open(name string) *os.File {
	if name == "" {
		return nil
	}
	file, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		panic(err)
	}
	return file
}

// On says whether the mutant is switched on, and notes that somebody asked if that is wanted.
func On(number int) bool { return number == active || passed != nil && note(number) }

// Without runs something with the mutant off. No other goroutine may be in mutated code.
func Without(do func() error) error {
	was := active
	active = 0
	defer func() { active = was }()
	return do()
}

func note(number int) bool {
	lock.Lock()
	defer lock.Unlock()
	if seen[number] {
		return false
	}
	seen[number] = true
	if _, err := passed.WriteString(strconv.Itoa(number) + "\n"); err != nil {
		panic(err)
	}
	return false
}

func And(on, x bool, y func() bool) bool {
	if on {
		return x || y()
	}
	return x && y()
}

func Or(on, x bool, y func() bool) bool {
	if on {
		return x && y()
	}
	return x || y()
}

func Less[T cmp.Ordered](on bool, x, y T) bool         { return x < y || on && x == y }
func LessEqual[T cmp.Ordered](on bool, x, y T) bool    { return x < y || !on && x == y }
func Greater[T cmp.Ordered](on bool, x, y T) bool      { return x > y || on && x == y }
func GreaterEqual[T cmp.Ordered](on bool, x, y T) bool { return x > y || !on && x == y }

func Pick[T any](on bool, changed, original func() T) T {
	if on {
		return changed()
	}
	return original()
}

func Value[T any](on bool, changed, original T) T {
	if on {
		return changed
	}
	return original
}
`

// comparison has the cases of chainwalk fuzz compare what becomes of all packets with and without the mutant, and writes how that ended
// into a file, a line for each node of a case.
const comparison = `package trial

import (
	"os"

	"` + module + `/internal/mutant"
)

func init() {
	file := mutant.Open(os.Getenv("` + compared + `"))
	if file == nil {
		return
	}
	mutated = &mutation{without: mutant.Without, tell: func(end string) {
		if _, err := file.WriteString(end + "\n"); err != nil {
			panic(err)
		}
	}}
}
`

// compared is the variable of the environment with the name of that file; empty: nothing is compared.
const compared = "CHAINWALK_MUTANT_COMPARED"

// schemata is the source with all mutants.
type schemata struct {
	overlay *overlay.Overlay
	mutants []mutant // the number of a mutant is its place plus one
	// dropped counts those that did not compile.
	dropped int
}

// grow makes the schemata of the module in the folder root, without the mutants that do not compile.
func grow(ctx context.Context, root, dir string) (*schemata, error) {
	sources, err := load(root)
	if err != nil {
		return nil, err
	}
	dropped := map[string]bool{}
	for {
		s, err := rewriteAll(root, sources, dropped)
		if err != nil {
			return nil, err
		}
		file, err := s.overlay.Write(dir)
		if err != nil {
			return nil, err
		}
		args := []string{"build", "-gcflags=-e", "-overlay", file}
		for _, folder := range mutated {
			args = append(args, "./"+folder)
		}
		command := exec.CommandContext(ctx, "go", args...)
		command.Dir = root
		output, err := command.CombinedOutput()
		if err == nil {
			s.dropped = len(dropped)
			return s, nil
		}
		if !s.blame(output, dropped) {
			return nil, fmt.Errorf("the mutants do not compile: %w\n%s", err, output)
		}
	}
}

func rewriteAll(root string, sources []*source, dropped map[string]bool) (*schemata, error) {
	s := &schemata{overlay: overlay.New(root)}
	if err := s.overlay.Put("internal/mutant/mutant.go", []byte(switches)); err != nil {
		return nil, err
	}
	if err := s.overlay.Put("scenarios/search/trial/mutant.go", []byte(comparison)); err != nil {
		return nil, err
	}
	for _, source := range sources {
		for _, file := range slices.Sorted(maps.Keys(source.files)) {
			r := &rewriter{source: source, file: file, dropped: dropped, mutants: &s.mutants, names: map[string]int{}}
			before := len(s.mutants)
			text := []byte(r.rewrite())
			if len(s.mutants) == before {
				continue
			}
			text, err := overlay.Import(text, module+"/internal/mutant")
			if err == nil {
				err = s.overlay.Put(file, text)
			}
			if err != nil {
				return nil, fmt.Errorf("%w\n%s", err, text)
			}
		}
	}
	return s, nil
}

var (
	compileError = regexp.MustCompile(`(?m)^([^\s:]+\.go):(\d+):`)
	switchNumber = regexp.MustCompile(`mutant\.On\((\d+)\)`)
)

// blame drops the mutants in the lines, or in the next ones above, that the compiler complains of.
func (s *schemata) blame(output []byte, dropped map[string]bool) bool {
	found := false
	for _, match := range compileError.FindAllSubmatch(output, -1) {
		source, err := s.overlay.Source(string(match[1]))
		if err != nil {
			continue
		}
		lines := bytes.Split(source, []byte("\n"))
		line, _ := strconv.Atoi(string(match[2]))
		for at := min(line, len(lines)) - 1; at >= 0; at-- {
			numbers := switchNumber.FindAllSubmatch(lines[at], -1)
			for _, number := range numbers {
				n, _ := strconv.Atoi(string(number[1]))
				found = found || !dropped[s.mutants[n-1].name]
				dropped[s.mutants[n-1].name] = true
			}
			if len(numbers) > 0 {
				break
			}
		}
	}
	return found
}
