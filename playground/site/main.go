// Command site writes what the playground's page loads beside its script: site [-programs rules,cluster] [-quick] OUT. It compiles the
// programs to WebAssembly and packs them, and makes the examples. It fails if the program of the first tab is larger than its limit.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// The programs, by the packages that they are.
var programs = []string{"rules", "cluster"}

// root is where the packages of programs stand, and web the page's own files.
const (
	root = "./playground/"
	web  = "playground/web"
)

func main() {
	chosen := flag.String("programs", strings.Join(programs, ","), "the programs to compile; empty leaves those that are there")
	quick := flag.Bool("quick", false, "pack programs that have no limit of size in less time, a sixth larger")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: site [-programs rules,cluster] [-quick] OUT")
		os.Exit(2)
	}
	names := strings.FieldsFunc(*chosen, func(r rune) bool { return r == ',' })
	if err := write(context.Background(), flag.Arg(0), names, *quick); err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
}

// write writes all files, and prints the size of each program that it compiles.
func write(ctx context.Context, out string, chosen []string, quick bool) error {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	for _, program := range chosen {
		if err := compile(ctx, program, out, quick); err != nil {
			return err
		}
	}
	goroot, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return fmt.Errorf("go env GOROOT: %w", err)
	}
	if err := writePage(ctx, out); err != nil {
		return err
	}
	for _, file := range []string{
		filepath.Join(strings.TrimSpace(string(goroot)), "lib/wasm/wasm_exec.js"), "docs/scenario.schema.json", kindObjects,
	} {
		if err := copyFile(file, filepath.Join(out, filepath.Base(file))); err != nil {
			return err
		}
	}
	return writeExamples(out)
}

// small compiles what reads and prints rules of nft without functions copied into their callers: a program has a fourteenth less then,
// packed, and BenchmarkKey of playground/rules shows no other times.
const small = "-gcflags=github.com/chainwalk/chainwalk/fakenft/...=-l"

// limits are how many bytes a program may have, packed: that of the first tab is what everybody waits for.
var limits = map[string]int{"rules": 3_000_000}

// compile writes a program, packed.
func compile(ctx context.Context, program, out string, quick bool) error {
	plain := filepath.Join(out, program+".wasm")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", small, "-o", plain, root+program+"/wasm")
	build.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("compile %s: %w", program, err)
	}
	text, err := os.ReadFile(plain)
	if err != nil {
		return err
	}
	level := "-19"
	if _, limited := limits[program]; quick && !limited {
		level = "-9"
	}
	packed, err := pack(ctx, text, level)
	if err != nil {
		return fmt.Errorf("pack %s: %w", program, err)
	}
	fmt.Printf("%-8s %9d bytes, packed %8d\n", program, len(text), len(packed))
	if err := withinLimit(program, len(packed)); err != nil {
		return err
	}
	return errors.Join(os.WriteFile(plain+".zst", packed, 0o644), os.Remove(plain))
}

// withinLimit refuses a program that has more bytes, packed, than its limit.
func withinLimit(program string, packed int) error {
	if limit, has := limits[program]; has && packed > limit {
		return fmt.Errorf("%s has %d bytes packed, and its limit is %d: leave out what it does not need (go list -deps %s%s/wasm)", program,
			packed, limit, root, program)
	}
	return nil
}

// pack packs by the program zstd, which at its level -19 takes a quarter less than gzip and a sixth less than what is written in Go. The
// page unpacks it, so that any server of files will do.
func pack(ctx context.Context, text []byte, level string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "zstd", "--quiet", "--stdout", level)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(text), os.Stderr
	packed, err := cmd.Output()
	if errors.Is(err, exec.ErrNotFound) {
		return nil, fmt.Errorf("%w: install zstd, a package of that name in most distributions", err)
	}
	return packed, err
}

// writePage writes the page, which says in its footer of which commit it is.
func writePage(ctx context.Context, out string) error {
	text, err := os.ReadFile(filepath.Join(web, "index.html"))
	if err != nil {
		return err
	}
	commit, err := exec.CommandContext(ctx, "git", "rev-parse", "--short=12", "HEAD").Output()
	version := "of an unknown commit"
	if err == nil {
		version = "at commit " + strings.TrimSpace(string(commit))
	}
	return os.WriteFile(filepath.Join(out, "index.html"), bytes.Replace(text, []byte("VERSION"), []byte(version), 1), 0o644)
}

func copyFile(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o644)
}
