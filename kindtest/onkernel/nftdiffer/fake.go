package nftdiffer

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/fakenft"
	"github.com/chainwalk/chainwalk/kindtest/internal/toolrun"
)

// fakeMachine runs the fake in a namespace of its own.
type fakeMachine struct {
	tools  *fakenft.Tools
	folder string
}

// newFakeMachine makes a namespace where no tool has run.
func newFakeMachine() (machine, error) {
	folder, err := os.MkdirTemp("", "chainwalk-nft")
	if err != nil {
		return nil, err
	}
	return &fakeMachine{fakenft.New(fakenft.Options{Files: os.DirFS("/"), Dir: folder, Etc: os.DirFS("/etc")}), folder}, nil
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
	var stdout, stderr bytes.Buffer
	status := m.tools.Run(slices.Concat([]string{"nft"}, args), strings.NewReader(stdin), &stdout, &stderr)
	return toolrun.Run{Stdout: stdout.String(), Stderr: stderr.String(), Status: status}, nil
}

// origin are the lines of a stack that say where a panic began.
func origin(stack []byte) string {
	_, behind, _ := bytes.Cut(stack, []byte("panic("))
	lines := bytes.SplitN(behind, []byte("\n"), 10)
	return string(bytes.Join(lines[2:min(8, len(lines))], []byte("\n"))) + "\n"
}
