package nftdiffer

import (
	"bytes"
	"os"
	"path/filepath"
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

func (m *fakeMachine) run(args []string, stdin string) (toolrun.Run, error) {
	var stdout, stderr bytes.Buffer
	status := m.tools.Run(slices.Concat([]string{"nft"}, args), strings.NewReader(stdin), &stdout, &stderr)
	return toolrun.Run{Stdout: stdout.String(), Stderr: stderr.String(), Status: status}, nil
}
