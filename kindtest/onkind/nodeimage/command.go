package nodeimage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// command is a program that is run to its end.
type command struct {
	argv  []string
	dir   string   // the current folder if empty
	env   []string // beyond the environment
	stdin io.Reader
	// private keeps what it mounts out of everybody else's sight, so that nothing stays mounted however it ends.
	private bool
}

// run returns what the command printed. Its error has the command line and the end of what it said.
func (c command) run(ctx context.Context) (string, error) {
	program := exec.CommandContext(ctx, c.argv[0], c.argv[1:]...)
	program.Dir, program.Stdin = c.dir, c.stdin
	program.Env = append(os.Environ(), c.env...)
	ownGroup(program, c.private)
	var out, errOut bytes.Buffer
	program.Stdout, program.Stderr = &out, &errOut
	err := program.Run()
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.Is(err, exec.ErrNotFound):
		return "", err
	case err != nil:
		said := errOut.String()
		if strings.TrimSpace(said) == "" {
			said = out.String()
		}
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(c.argv, " "), err, lastLines(said, 20))
	}
	return out.String(), nil
}

// docker runs a command of Docker's client and returns what it printed without the line's end.
func docker(ctx context.Context, stdin io.Reader, args ...string) (string, error) {
	out, err := command{argv: append([]string{"docker"}, args...), stdin: stdin}.run(ctx)
	return strings.TrimSpace(out), err
}

// lastLines are the last lines of text, without empty ones at its end.
func lastLines(text string, count int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-count):], "\n")
}
