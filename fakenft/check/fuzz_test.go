package check_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chainwalk/chainwalk/fakenft/check"
	"github.com/chainwalk/chainwalk/fakenft/compile"
	"github.com/chainwalk/chainwalk/fakenft/parse"
	"github.com/chainwalk/chainwalk/fakenft/syntax"
)

// FuzzCommands holds that no text makes the checker panic, nor the compiler what it lets pass.
func FuzzCommands(f *testing.F) {
	const before = "add table ip t\nadd chain ip t c\nadd set ip t s { type ipv4_addr; flags interval; auto-merge; }\n" +
		"add map ip t m { type ipv4_addr . inet_service : verdict; }\n"
	files, err := filepath.Glob("testdata/*/*")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, block := range strings.Split(string(text), "\n\n") {
			input, _, _ := strings.Cut(block, "\n----")
			if _, rule, ok := strings.Cut(input, "family=ip\n"); ok {
				input = "add rule ip t c " + rule
			} else if _, script, ok := strings.Cut(input, "script\n"); ok {
				input = script
			}
			f.Add(input)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		commands, mistakes := parse.Text(&syntax.Input{Name: "/dev/stdin", Text: before + text + "\n"}, parse.Options{})
		mistakes = append(mistakes, check.New(check.Empty{}).Commands(commands)...)
		for _, m := range mistakes {
			_ = syntax.Render(m)
		}
		if len(mistakes) > 0 {
			return
		}
		for _, cmd := range commands {
			_, _ = compile.Command(cmd)
		}
	})
}
