package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// program is what may notice a mutant: a test binary, or chainwalk fuzz.
type program struct {
	// folder is the package that it tests, empty if it is no test.
	folder string
	name   string
	dir    string
	argv   []string
	parts  []part
}

// part is a part of what a program does, which can be run alone: a test. Chainwalk fuzz is one part, without a name.
type part struct {
	name string
	// took is what it costs without a mutant.
	took cost
	// passes are the mutants that it comes by.
	passes map[int]bool
}

// buildTests builds the test binaries of all packages that the proxier is linked into, in the folders that begin with by.
func buildTests(ctx context.Context, root, dir, overlayFile, by string) ([]*program, error) {
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
			// the same cases each time, and no time lost on small ones
			argv = append(argv, "-rapid.nofailfile", "-rapid.seed=1", "-rapid.shrinktime=0s")
		}
		programs = append(programs, &program{folder: folder, name: folder, dir: filepath.Join(root, folder), argv: argv})
	}
	return programs, nil
}

func isMutated(importPath string) bool {
	importPath, _, _ = strings.Cut(importPath, " ") // "package [package.test]"
	folder, ok := strings.CutPrefix(importPath, module+"/")
	return ok && slices.Contains(mutated, folder)
}

// listTests makes each test a part of the program.
func (p *program) listTests(ctx context.Context) error {
	command := exec.CommandContext(ctx, p.argv[0], "-test.list", "^(Test|Example|Fuzz)")
	command.Dir = p.dir
	output, err := command.Output()
	if err != nil {
		return fmt.Errorf("listing the tests of %s: %w", p.name, err)
	}
	for name := range strings.FieldsSeq(string(output)) {
		p.parts = append(p.parts, part{name: name})
	}
	return nil
}

// buildFuzz builds chainwalk, and has its cases judged in small shards: a mutant then meets only the cases that come by it.
func buildFuzz(ctx context.Context, root, dir, overlayFile string, o options) ([]*program, error) {
	binary := filepath.Join(dir, "chainwalk")
	command := exec.CommandContext(ctx, "go", "build", "-overlay", overlayFile, "-o", binary, "./cmd/chainwalk")
	command.Dir = root
	if output, err := command.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building chainwalk: %w\n%s", err, output)
	}
	shards := max(o.cases/casesPerShard, 1)
	var programs []*program
	for shard := range shards {
		argv := []string{binary, "fuzz", "--mode", o.mode, "--seed", strconv.Itoa(o.seed), "--shard", fmt.Sprintf("%d/%d", shard+1, shards),
			"--runs", strconv.Itoa(casesPerShard), "--workers", "1", "--until-found", "--shrinks", "-1"}
		programs = append(programs, &program{name: fmt.Sprintf("shard %d/%d", shard+1, shards), dir: dir, argv: argv, parts: []part{{}}})
	}
	return programs, nil
}

// casesPerShard are so many that most shards have of everything that chainwalk fuzz does with cases.
const casesPerShard = 16

// measure runs each part without a mutant: it must hold, and says what mutants it comes by. Those that take more time of
// processors than the slowest may are left out, and returned.
func (p *program) measure(ctx context.Context, slowest time.Duration) (slow []string, err error) {
	var kept []part
	for _, part := range p.parts {
		file := filepath.Join(filepath.Dir(p.argv[0]), "passed")
		environment := []string{"CHAINWALK_MUTANTS_PASSED=" + file}
		output, took, err := limited(ctx, p.arguments(part.name), p.dir, environment, limits{cpu: slowest, idle: slowest})
		if errors.Is(err, errTime) {
			slow = append(slow, part.name)
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s %s fails without a mutant: %w\n%s", p.name, part.name, err, output)
		}
		part.took = took
		if part.passes, err = takeNumbers(file); err != nil {
			return nil, err
		}
		kept = append(kept, part)
	}
	p.parts = kept
	return slow, nil
}

// quick is what a test costs at most that is run together with others.
const quick = 300 * time.Millisecond

// split makes the slow tests programs of their own, to be asked when the quick ones did not notice.
func (p *program) split() []*program {
	together := *p
	together.parts = nil
	programs := []*program{&together}
	for _, t := range p.parts {
		if t.took.cpu <= quick || len(p.parts) == 1 {
			together.parts = append(together.parts, t)
			continue
		}
		alone := *p
		alone.parts = []part{t}
		programs = append(programs, &alone)
	}
	return programs
}

// cost sums up what the parts cost that come by a mutant.
func (p *program) cost(number int) (sum cost, comesBy bool) {
	for _, part := range p.parts {
		if part.passes[number] {
			comesBy = true
			sum.cpu += part.took.cpu
			sum.wall += part.took.wall
		}
	}
	return sum, comesBy
}

// String says what it costs.
func (p *program) String() string {
	var cpu time.Duration
	passes := map[int]bool{}
	for _, part := range p.parts {
		cpu += part.took.cpu
		maps.Copy(passes, part.passes)
	}
	return fmt.Sprintf("%-32s %6.1f s, comes by %d mutants", p.name, cpu.Seconds(), len(passes))
}

// arguments runs these parts alone.
func (p *program) arguments(parts ...string) []string {
	if p.folder == "" {
		return p.argv
	}
	return append(slices.Clone(p.argv), "-test.run=^("+strings.Join(parts, "|")+")$")
}

// takeNumbers reads the file and removes it.
func takeNumbers(file string) (map[int]bool, error) {
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
	return numbers, errors.Join(lines.Err(), os.Remove(file))
}

// notices says whether the program ends in another way with the mutant than without, and what it says of it. A test that fails
// once may have failed by chance: it must fail again, alone.
func (p *program) notices(ctx context.Context, number int) (noticed bool, by string, err error) {
	took, _ := p.cost(number)
	most := limits{cpu: spareCPU + tooLong*took.cpu, idle: spareIdle + tooLong*took.wall}
	var parts []string
	for _, part := range p.parts {
		if part.passes[number] {
			parts = append(parts, part.name)
		}
	}
	environment := having(number)
	output, _, failure := limited(ctx, p.arguments(parts...), p.dir, environment, most)
	by = p.name + " " + cause(output, failure)
	if test := failedTest.FindSubmatch(output); failure != nil && test != nil && !errors.Is(failure, errTime) {
		_, _, failure = limited(ctx, p.arguments(string(test[1])), p.dir, environment, most)
	}
	return failure != nil, by, ctx.Err()
}

// having is the environment of a process that has a mutant.
func having(number int) []string { return []string{"CHAINWALK_MUTANT=" + strconv.Itoa(number)} }

var (
	failedTest   = regexp.MustCompile(`(?m)^--- FAIL: (\S+)`)
	failedClause = regexp.MustCompile(`(?m)^FAIL {2}(\S+)`)
)

// cause is the test that fails, or the clause that is broken, or how the program ends.
func cause(output []byte, err error) string {
	if err == nil {
		return ""
	}
	for _, pattern := range []*regexp.Regexp{failedTest, failedClause} {
		if match := pattern.FindSubmatch(output); match != nil {
			return string(match[1])
		}
	}
	if bytes.Contains(output, []byte("panic: ")) {
		return "panics"
	}
	return strings.ReplaceAll(err.Error(), "\n", " ")
}
