package nftdiffer

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/chainwalk/chainwalk/fakenft"
	"github.com/chainwalk/chainwalk/fakenft/nftstate"
	"github.com/chainwalk/chainwalk/internal/toolexec"
	"github.com/chainwalk/chainwalk/kindtest/internal/toolrun"
)

// fakeMachine runs the fake in a namespace of its own. Each run is also made as a program that keeps its state in a folder, and
// must give the same; but for a machine that stores nothing.
type fakeMachine struct {
	tools  *fakenft.Tools
	stored *nftstate.Store // nil: nothing is stored
	folder string
}

// newFakeMachine makes a namespace where no tool has run, of a kernel without flowtables, as the one is that has answered the sessions.
func newFakeMachine() (machine, error) {
	folder, err := os.MkdirTemp("", "chainwalk-nft")
	if err != nil {
		return nil, err
	}
	clock := clocktesting.NewFakePassiveClock(time.Now())
	return &fakeMachine{
		fakenft.New(fakenft.Options{Files: os.DirFS("/"), Dir: folder, Etc: os.DirFS("/etc"), Clock: clock,
			NoFlowtables: true}),
		&nftstate.Store{Dir: filepath.Join(folder, ".state"), Files: os.DirFS("/"), WorkDir: folder, Etc: os.DirFS("/etc"), Clock: clock,
			NoFlowtables: true},
		folder,
	}, nil
}

func (m *fakeMachine) close() { _ = os.RemoveAll(m.folder) }

func (m *fakeMachine) write(name, text string) error {
	path := filepath.Join(m.folder, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o600)
}

func (m *fakeMachine) run(args []string, stdin string) (run toolrun.Run, err error) {
	defer func() {
		if why := recover(); why != nil {
			run.Stderr = fmt.Sprintf("panic: %v\n%s", why, origin(debug.Stack()))
		}
	}()
	run = runTools(m.tools, args, stdin)
	if m.stored == nil {
		return run, nil
	}
	if stored := runTools(m.stored, args, stdin); stored != run {
		run.Stderr += "(with its state in a folder the tool says something else)\n" + strings.Join(stored.Lines(), "\n")
	}
	return run, nil
}

func runTools(tools toolexec.Tools, args []string, stdin string) toolrun.Run {
	var stdout, stderr bytes.Buffer
	status := tools.Run(slices.Concat([]string{"nft"}, args), strings.NewReader(stdin), &stdout, &stderr)
	return toolrun.Run{Stdout: stdout.String(), Stderr: stderr.String(), Status: status}
}

// origin are the lines of a stack that say where a panic began.
func origin(stack []byte) string {
	_, behind, _ := bytes.Cut(stack, []byte("panic("))
	lines := bytes.SplitN(behind, []byte("\n"), 10)
	return string(bytes.Join(lines[2:min(8, len(lines))], []byte("\n"))) + "\n"
}
