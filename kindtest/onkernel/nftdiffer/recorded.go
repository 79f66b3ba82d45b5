package nftdiffer

import (
	"embed"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"sync"
)

// recordedFiles are the sessions of people.
//
//go:embed testdata/sessions
var recordedFiles embed.FS

// recorded are the sessions of people without their answers.
var recorded = sync.OnceValues(func() ([][]step, error) {
	var all [][]step
	err := fs.WalkDir(recordedFiles, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := recordedFiles.ReadFile(path)
		if err != nil {
			return err
		}
		sessions, err := readSessions(string(text))
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, sessions...)
		return nil
	})
	return all, err
})

// answerLine stands between what a step asks and what it is answered, and twice where the answer has empty lines.
const answerLine = "----"

// readSessions reads the steps of a file of sessions.
func readSessions(text string) ([][]step, error) {
	var all [][]step
	lines := strings.Split(text, "\n")
	for at := 0; at < len(lines); {
		head := lines[at]
		at++
		if head == "" || strings.HasPrefix(head, "#") {
			continue
		}
		from := at
		for at < len(lines) && lines[at] != answerLine {
			at++
		}
		input := strings.Join(lines[from:min(at, len(lines))], "\n")
		at = behindAnswer(lines, at+1)
		switch head {
		case "new":
			all = append(all, nil)
			continue
		case "end":
			continue
		}
		cmd, rest, _ := strings.Cut(head, " ")
		s, err := readStep(cmd, strings.TrimPrefix(rest, "name="), rest == "raw", input)
		if err != nil || len(all) == 0 {
			return nil, fmt.Errorf("line %d: %q is no step of a session: %w", from, head, err)
		}
		all[len(all)-1] = append(all[len(all)-1], *s)
	}
	return all, nil
}

// behindAnswer is the line behind the answer that begins at a line.
func behindAnswer(lines []string, at int) int {
	if at >= len(lines) || lines[at] != answerLine {
		for at < len(lines) && lines[at] != "" {
			at++
		}
		return at
	}
	for at++; at+1 < len(lines) && (lines[at] != answerLine || lines[at+1] != answerLine); {
		at++
	}
	return min(at+2, len(lines))
}

// readStep is a step of which a file has a line with cmd, the name of a file, and raw, and the input below it.
func readStep(cmd, name string, raw bool, input string) (*step, error) {
	switch cmd {
	case "file":
		return &step{Stdin: input + "\n", File: name}, nil
	case "nft":
	default:
		return nil, fmt.Errorf("there is no command %q", cmd)
	}
	line, stdin, more := strings.Cut(input, "\n")
	if more {
		stdin += "\n"
	}
	s := &step{Args: splitWords(line), Stdin: stdin}
	if raw {
		var err error
		s.Stdin, err = strconv.Unquote(strings.TrimSpace(stdin))
		return s, err
	}
	return s, nil
}
