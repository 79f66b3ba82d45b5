package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/race"
	"github.com/chainwalk/chainwalk/internal/sample"
)

var update = flag.Bool("update", false, "write what commands print into the pages of docs")

// transcripts are the blocks of a page that show what is typed and what is printed.
var transcripts = regexp.MustCompile("(?ms)^```console\n(.*?)^```$")

// TestPagesShowWhatIsPrinted types what the README and docs/*.md show in blocks of "console", page by page in one shell, and compares
// what is printed. A line "..." of a page stands for any lines. The shell is in an empty folder that has what the clone has. With -update
// all pages are written.
func TestPagesShowWhatIsPrinted(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	require.NoError(t, err)
	pages = slices.DeleteFunc(append([]string{"../../README.md"}, pages...), func(page string) bool {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		return !transcripts.Match(text)
	})
	require.NotEmpty(t, pages)
	if !*update {
		pages = race.Some(sample.Some(t, pages, 4), len(pages))
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		t.Run(filepath.Base(page), func(t *testing.T) {
			s := startShell(t)
			now := transcripts.ReplaceAllFunc(text, func(block []byte) []byte {
				return []byte("```console\n" + s.typed(string(transcripts.FindSubmatch(block)[1])) + "```")
			})
			if *update {
				require.NoError(t, os.WriteFile(page, now, 0o644))
			}
			assert.Equal(t, string(text), string(now), "go test ./cmd/chainwalk -run TestPagesShowWhatIsPrinted -update writes it")
		})
	}
}

// shell is one that goes on between commands.
type shell struct {
	t   *testing.T
	in  io.Writer
	out *bufio.Reader
}

// startShell starts one whose PATH has chainwalk.
func startShell(t *testing.T) *shell {
	t.Helper()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	folder := t.TempDir()
	entries, err := os.ReadDir(root)
	require.NoError(t, err)
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") && e.Name() != "bin" {
			require.NoError(t, os.Symlink(filepath.Join(root, e.Name()), filepath.Join(folder, e.Name())))
		}
	}
	linkTools(t, "chainwalk")
	t.Setenv("GOFLAGS", "") // what a page builds is what any reader builds
	cmd := exec.Command("sh")
	cmd.Dir = folder
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	read, write, err := os.Pipe()
	require.NoError(t, err)
	cmd.Stdout, cmd.Stderr = write, write
	require.NoError(t, cmd.Start())
	require.NoError(t, write.Close())
	t.Cleanup(func() {
		require.NoError(t, in.Close())
		_ = cmd.Wait() // its status is that of the last command
		require.NoError(t, read.Close())
	})
	sh := &shell{t: t, in: in, out: bufio.NewReader(read)}
	sh.run("alias cd='cd -P'") // what go builds there is in its cache by the folder's true name
	return sh
}

// typed is a transcript with what its commands print now, where that is other than it shows.
func (s *shell) typed(transcript string) string {
	var b strings.Builder
	for _, part := range strings.Split("\n"+transcript, "\n$ ")[1:] {
		command, shown := commandOf(part)
		printed := s.run(command)
		if !matches(shown, printed) {
			shown = printed
		}
		fmt.Fprintf(&b, "$ %s\n%s", command, shown)
	}
	return b.String()
}

// commandOf parts a command, which goes on behind a backslash, and a here-document to its end, from what is shown as printed.
func commandOf(part string) (command, shown string) {
	lines := strings.SplitAfter(part, "\n")
	n := 1
	for n < len(lines) && strings.HasSuffix(lines[n-1], "\\\n") {
		n++
	}
	if _, end, ok := strings.Cut(lines[n-1], "<<'"); ok {
		end, _, _ = strings.Cut(end, "'")
		for n < len(lines) && lines[n-1] != end+"\n" {
			n++
		}
	}
	return strings.TrimSuffix(strings.Join(lines[:n], ""), "\n"), endLine(strings.Join(lines[n:], ""))
}

func endLine(s string) string {
	if s == "" || strings.HasSuffix(s, "\n") {
		return s
	}
	return s + "\n"
}

const endOfCommand = "-- end of command --"

func (s *shell) run(command string) string {
	_, err := fmt.Fprintf(s.in, "%s\necho '%s'\n", command, endOfCommand)
	require.NoError(s.t, err)
	var b strings.Builder
	for {
		line, err := s.out.ReadString('\n')
		require.NoError(s.t, err, "behind %s", command)
		if text, ended := strings.CutSuffix(line, endOfCommand+"\n"); ended {
			return endLine(b.String() + text)
		}
		b.WriteString(line)
	}
}

// matches reports whether this is what a page shows, of which a line "..." stands for any lines.
func matches(shown, printed string) bool {
	parts := strings.Split("\n"+shown, "\n...\n")
	rest := "\n" + printed
	for i, part := range parts {
		part = strings.TrimSuffix(part, "\n") + "\n"
		switch {
		case len(parts) == 1:
			return rest == part || shown == printed
		case i == 0:
			if !strings.HasPrefix(rest, part) {
				return false
			}
			rest = rest[len(part)-1:]
		case i == len(parts)-1:
			return part == "\n" || strings.HasSuffix(rest, "\n"+part)
		default:
			_, behind, found := strings.Cut(rest, "\n"+part)
			if !found {
				return false
			}
			rest = "\n" + behind
		}
	}
	return true
}

func TestMatches(t *testing.T) {
	for _, row := range []struct {
		shown, printed string
		want           bool
	}{
		{"", "", true},
		{"a\n", "a\n", true},
		{"a\n", "a\nb\n", false},
		{"a\n...\n", "a\nb\nc\n", true},
		{"a\n...\nc\n", "a\nb\nc\n", true},
		{"a\n...\nd\n", "a\nb\nc\n", false},
		{"...\nc\n", "a\nb\nc\n", true},
		{"a\n...\nc\n...\ne\n", "a\nb\nc\nd\ne\n", true},
		{"a\n...\nx\n...\ne\n", "a\nb\nc\nd\ne\n", false},
		{"b\n...\n", "a\nb\n", false},
		{"", "a\n", false},
	} {
		assert.Equal(t, row.want, matches(row.shown, row.printed), "%q of %q", row.shown, row.printed)
	}
}

func TestCommandsOfTranscripts(t *testing.T) {
	for part, want := range map[string][2]string{
		"echo a\na\n":                  {"echo a", "a\n"},
		"echo \\\n  a\na":              {"echo \\\n  a", "a\n"},
		"true":                         {"true", ""},
		"cat > a <<'END'\nx\nEND\nb\n": {"cat > a <<'END'\nx\nEND", "b\n"},
	} {
		command, shown := commandOf(part)
		assert.Equal(t, want, [2]string{command, shown})
	}
}
