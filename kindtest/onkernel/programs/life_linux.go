package programs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/chainwalk/chainwalk/kindtest/onkind/nodeimage"
	"github.com/chainwalk/chainwalk/netfilter"
)

// lifetime bounds a life. Nothing waits for its end unless it hangs.
const lifetime = 15 * time.Minute

// Run has the programs live on the tools of each dialect, prints what came of it, and says whether all lives came to their end without a
// difference that nothing explains.
func Run(ctx context.Context, o Options) (held bool, err error) {
	if err := o.valid(); err != nil {
		return false, err
	}
	root, err := nodeimage.InstallDebian(ctx, nodeimage.Options{Cache: o.Cache, Mirror: o.Mirror, Out: o.Out}, packages)
	if err != nil {
		return false, err
	}
	recorder := filepath.Join(o.Keep, "recorder")
	if err := buildRecorder(ctx, o.Source, recorder); err != nil {
		return false, err
	}
	var sum total
	for _, program := range o.Programs {
		for _, dialect := range o.Dialects {
			l := &life{program: program, dialect: dialect, folder: filepath.Join(o.Keep, program+"-"+string(dialect)), options: &o}
			n, err := l.live(ctx, root, recorder)
			if ctx.Err() != nil {
				return false, ctx.Err()
			}
			if n != nil {
				n.print(o.Out, program+" "+string(dialect), o.Show)
			}
			sum.add(n, err)
			if err != nil {
				fmt.Fprintf(o.Out, "%s %s: %v\n", program, dialect, err)
			}
		}
	}
	sum.print(o.Out)
	return sum.held(), nil
}

// buildRecorder builds the recorder for an installation whose C library is another one.
func buildRecorder(ctx context.Context, source, path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	build := exec.CommandContext(ctx, "go", "build", "-ldflags=-s -w", "-o", absolute, "./kindtest/onkernel/programs/recorder")
	build.Dir = source
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if said, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the recorder: %w\n%s", err, said)
	}
	return nil
}

// life is one program on the tools of one dialect.
type life struct {
	program string
	dialect netfilter.Dialect
	folder  string
	options *Options
}

// live runs the life and compares its calls. Without numbers it did not come to a call.
func (l *life) live(ctx context.Context, root, recorder string) (*numbers, error) {
	stage, err := l.prepare(recorder)
	if err != nil {
		return nil, err
	}
	ended := l.run(ctx, stage, root)
	calls, err := os.Open(filepath.Join(l.folder, "shared", callsFile))
	if err != nil {
		return nil, errors.Join(ended, err)
	}
	defer func() { _ = calls.Close() }()
	all, err := readCalls(calls)
	if err != nil {
		return nil, errors.Join(ended, err)
	}
	return judge(all), ended
}

// prepare fills the folder of the life anew, and returns where the script of its first process is.
func (l *life) prepare(recorder string) (stage string, err error) {
	script, err := scriptOf(l.program)
	if err != nil {
		return "", err
	}
	first, err := scripts.ReadFile("stage.sh")
	if err != nil {
		return "", err
	}
	if err := os.RemoveAll(l.folder); err != nil {
		return "", err
	}
	shared := filepath.Join(l.folder, "shared")
	for _, folder := range []string{filepath.Join(l.folder, "mnt"), filepath.Join(shared, realFolder)} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return "", err
		}
	}
	stage = filepath.Join(l.folder, "stage.sh")
	for path, text := range map[string][]byte{
		stage: first, filepath.Join(shared, "life"): []byte(script), filepath.Join(shared, dialectFile): []byte(string(l.dialect)),
	} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return "", err
		}
	}
	if slices.Contains(natives, l.program) {
		if err := os.WriteFile(filepath.Join(shared, nativeFile), nil, 0o600); err != nil {
			return "", err
		}
	}
	return stage, os.Link(recorder, filepath.Join(shared, "recorder"))
}

// run runs the life in namespaces of its own, which end with its first process.
func (l *life) run(ctx context.Context, stage, root string) error {
	out, err := os.Create(filepath.Join(l.folder, "out"))
	if err != nil {
		return err
	}
	defer func() { _ = out.Close() }()
	folder, err := filepath.Abs(l.folder)
	if err != nil {
		return err
	}
	bounded, stop := context.WithTimeout(ctx, lifetime)
	defer stop()
	first := exec.CommandContext(bounded, "sh", stage, root, folder, l.options.Kubernetes)
	first.Stdout, first.Stderr = out, out
	first.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS,
		Pdeathsig:  syscall.SIGKILL,
	}
	if err := first.Run(); err != nil {
		return fmt.Errorf("the life did not come to its end: %w\n%s", err, lastLines(out.Name(), 20))
	}
	return nil
}

// lastLines are the last lines of a file.
func lastLines(path string, count int) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-count):], "\n")
}
