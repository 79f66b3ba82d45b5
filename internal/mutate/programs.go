package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// program is what may notice a mutant: a test binary, or chainwalk fuzz.
type program struct {
	name string
	dir  string
	argv []string
	// took is how long it runs without a mutant.
	took time.Duration
	// passes are the mutants that it comes by.
	passes map[int]bool
}

// testPrograms builds the test binaries of all packages that the proxier is linked into, in the folders that begin with by.
func testPrograms(ctx context.Context, root, dir, overlayFile, by string) ([]*program, error) {
	packages, err := list(root, "-test", "./...")
	if err != nil {
		return nil, err
	}
	var programs []*program
	for _, p := range packages {
		name, isTest := strings.CutSuffix(p.ImportPath, ".test")
		if !isTest || !slices.ContainsFunc(p.Deps, isMutated) {
			continue
		}
		folder := strings.TrimPrefix(name, module+"/")
		if !strings.HasPrefix(folder, by) {
			continue
		}
		// By the name that it has in go test: client-go tells the API server which program asks.
		binary := filepath.Join(dir, strings.ReplaceAll(folder, "/", "_"), path.Base(folder)+".test")
		command := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-overlay", overlayFile, "-o", binary, "./"+folder)
		command.Dir = root
		if output, err := command.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("building the tests of %s: %w\n%s", folder, err, output)
		}
		argv := []string{binary, "-test.failfast", "-test.paniconexit0=false"}
		if slices.Contains(p.Deps, "pgregory.net/rapid") {
			argv = append(argv, "-rapid.nofailfile")
		}
		programs = append(programs, &program{name: folder, dir: filepath.Join(root, folder), argv: argv})
	}
	return programs, nil
}

func isMutated(importPath string) bool {
	importPath, _, _ = strings.Cut(importPath, " ") // "package [package.test]"
	folder, ok := strings.CutPrefix(importPath, module+"/")
	return ok && slices.Contains(mutated, folder)
}

// fuzzProgram builds chainwalk.
func fuzzProgram(ctx context.Context, root, dir, overlayFile string, args []string) (*program, error) {
	binary := filepath.Join(dir, "chainwalk")
	command := exec.CommandContext(ctx, "go", "build", "-overlay", overlayFile, "-o", binary, "./cmd/chainwalk")
	command.Dir = root
	if output, err := command.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building chainwalk: %w\n%s", err, output)
	}
	return &program{name: "chainwalk fuzz", dir: dir, argv: append([]string{binary, "fuzz"}, args...)}, nil
}

// measure runs a program without a mutant, for so long at most: it must hold, and says what mutants it comes by.
func (p *program) measure(ctx context.Context, slowest time.Duration) error {
	file := p.argv[0] + ".passed"
	start := time.Now()
	output, err := p.run(ctx, slowest, "CHAINWALK_MUTANTS_PASSED="+file)
	p.took = time.Since(start)
	if errors.Is(err, errTime) {
		return err
	} else if err != nil {
		return fmt.Errorf("%s fails without a mutant: %w\n%s", p.name, err, output)
	}
	p.passes, err = readNumbers(file)
	return err
}

func readNumbers(file string) (map[int]bool, error) {
	numbers := map[int]bool{}
	f, err := os.Open(file)
	if errors.Is(err, os.ErrNotExist) {
		return numbers, nil
	} else if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		number, err := strconv.Atoi(lines.Text())
		if err != nil {
			return nil, err
		}
		numbers[number] = true
	}
	return numbers, lines.Err()
}

// errTime says that a program took too long.
var errTime = errors.New("takes too long")

// run runs the program for so long at most.
func (p *program) run(ctx context.Context, limit time.Duration, environment string) ([]byte, error) {
	limited, cancel := context.WithTimeoutCause(ctx, limit, errTime)
	defer cancel()
	command := exec.CommandContext(limited, p.argv[0], p.argv[1:]...)
	command.Dir = p.dir
	command.Env = append(os.Environ(), environment)
	command.WaitDelay = time.Second
	output, err := command.CombinedOutput()
	if err != nil && limited.Err() != nil {
		err = context.Cause(limited)
	}
	return output, err
}

// notices says whether the program ends in another way with the mutant than without.
func (p *program) notices(ctx context.Context, number int) (bool, error) {
	_, err := p.run(ctx, 5*time.Second+5*p.took, "CHAINWALK_MUTANT="+strconv.Itoa(number))
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	return err != nil, nil
}
