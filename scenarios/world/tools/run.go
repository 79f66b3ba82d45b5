package tools

import (
	"bytes"
	"fmt"
	"strings"

	"k8s.io/utils/exec"
)

// Run runs a tool and returns what it prints. The error of one that fails holds
// its arguments, its exit status and what it says.
func Run(e exec.Interface, stdin string, argv ...string) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd := e.Command(argv[0], argv[1:]...)
	cmd.SetStdin(strings.NewReader(stdin))
	cmd.SetStdout(&stdout)
	cmd.SetStderr(&stderr)
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), nil
}
