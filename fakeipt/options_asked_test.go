package fakeipt

import (
	"fmt"
	"io/fs"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/fakeipt/match"
	"github.com/chainwalk/chainwalk/fakeipt/target"
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// TestOptionsAreAskedAbout: the real tools were asked about every option of every extension, each with the names that it has.
func TestOptionsAreAskedAbout(t *testing.T) {
	assert.Empty(t, optionsNotAsked(t), "in no rule of testdata/rules")
}

func optionsNotAsked(t *testing.T) []string {
	asked := optionsAsked(t)
	return slices.DeleteFunc(everyOption(), func(option string) bool { return slices.Contains(asked, option) })
}

// everyOption is "-m NAME --OPTION" and "-j NAME --OPTION" of all extensions. Extensions without options are left out.
func everyOption() []string {
	var all []string
	for kind, extensions := range map[string]iter.Seq2[string, *xtables.Extension]{"-m": match.All(), "-j": target.All()} {
		for _, ext := range extensions {
			for _, spec := range ext.Options {
				all = append(all, fmt.Sprintf("%s %s --%s", kind, ext.Name, spec.Name))
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// optionsAsked are the options in rules of testdata/rules, as they are spelled there.
func optionsAsked(t *testing.T) []string {
	var asked []string
	require.NoError(t, filepath.WalkDir("testdata/rules", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		datadriven.RunTest(t, path, func(t *testing.T, td *datadriven.TestData) string {
			if family, ok := map[string]netfilter.Family{"rules": netfilter.IPv4, "rules6": netfilter.IPv6}[td.Cmd]; ok {
				for line := range strings.Lines(td.Input) {
					asked = append(asked, optionsOfRule(savedWords(t, line), family)...)
				}
			}
			return td.Expected
		})
		return nil
	}))
	slices.Sort(asked)
	return slices.Compact(asked)
}

// optionsOfRule are the options in a rule, with the extension that was named last and has them.
func optionsOfRule(words []string, f netfilter.Family) []string {
	type named struct {
		kind string
		ext  *xtables.Extension
	}
	var loaded []named
	var options []string
	for i, word := range words {
		if i+1 < len(words) && word == "-p" {
			if number, err := xtables.ParseProtocol([]byte(strings.ToLower(words[i+1]))); err == nil {
				if ext := match.Find([]byte(libc.ProtocolName(number)), f); ext != nil {
					loaded = slices.Insert(loaded, 0, named{"-m", ext})
				}
			}
		}
		if i+1 < len(words) && word == "-m" {
			if ext := match.Find([]byte(words[i+1]), f); ext != nil {
				loaded = append(loaded, named{word, ext})
			}
		}
		if i+1 < len(words) && word == "-j" {
			if ext := target.Find([]byte(words[i+1]), f); ext != nil {
				loaded = append(loaded, named{word, ext})
			}
		}
		name, isOption := strings.CutPrefix(word, "--")
		name, _, _ = strings.Cut(name, "=")
		for _, l := range slices.Backward(loaded) {
			if isOption && l.ext.Find([]byte(name)) >= 0 {
				options = append(options, fmt.Sprintf("%s %s --%s", l.kind, l.ext.Name, name))
				break
			}
		}
	}
	return options
}
