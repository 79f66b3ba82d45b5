package fakenft_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/chainwalk/chainwalk/fakenft"
)

// longestFuzzed keeps inputs small: many small ones find more than a few large ones.
const longestFuzzed = 8 << 10

// fuzzed is a namespace of its own, without files and with a clock that stands.
type fuzzed struct{ *fakenft.Tools }

func newFuzzed() fuzzed {
	clock := clocktesting.NewFakePassiveClock(time.Unix(1_700_000_000, 0))
	return fuzzed{fakenft.New(fakenft.Options{Files: fstest.MapFS{}, Etc: fstest.MapFS{}, Clock: clock})}
}

func (f fuzzed) nft(stdin string, args ...string) (stdout, stderr string, status int) {
	var out, errors bytes.Buffer
	status = f.Run(append([]string{"nft"}, args...), strings.NewReader(stdin), &out, &errors)
	return out.String(), errors.String(), status
}

// FuzzText holds that nft ends with a status and without a panic whatever text it reads, and that what it lists then comes to rest if it
// loads again and again.
func FuzzText(f *testing.F) {
	for _, text := range rulesets(f) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { loadsAgain(t, text, "-f", "-") })
}

// FuzzJSON does so with JSON.
func FuzzJSON(f *testing.F) {
	for _, text := range rulesets(f) {
		ns := newFuzzed()
		if _, _, status := ns.nft(text, "-f", "-"); status != 0 {
			continue
		}
		list, _, _ := ns.nft("", "-j", "list", "ruleset")
		f.Add(list)
	}
	f.Fuzz(func(t *testing.T, text string) { loadsAgain(t, text, "-j", "-f", "-") })
}

func loadsAgain(t *testing.T, text string, args ...string) {
	if len(text) > longestFuzzed {
		return
	}
	ns := newFuzzed()
	_, stderr, status := ns.nft(text, args...)
	require.True(t, status == 0 || status == 1 && stderr != "" || status == 1 && text == "", "status %d without a word", status)
	list, _, status := ns.nft("", "-s", "list", "ruleset")
	if status != 0 {
		return // something is not modelled in listings, and was named
	}
	// Each time nft leaves out a match that another one implies.
	const mostImplied = 8
	for range mostImplied {
		again := newFuzzed()
		if _, _, status = again.nft(list, "-f", "-"); status != 0 || changes(list) {
			return // nft 1.0.6 lists some things that it does not read itself
		}
		before := list
		if list, _, _ = again.nft("", "-s", "list", "ruleset"); list == before {
			return
		}
	}
	t.Fatalf("what is listed lists otherwise each time:\n%s", list)
}

// changing are parts of listings that mean something else to nft 1.0.6 when it reads them: operators beside those that a mask stands for,
// and flags whose order in a set is that of the kernel.
var changing = []string{" >> ", " << ", " | ", " & ", " ^ ", "[invalid type]"}

func changes(list string) bool {
	for _, part := range changing {
		if strings.Contains(list, part) {
			return true
		}
	}
	return false
}

// rulesets are texts that nft reads: listings, single rules of all families, and scripts with mistakes.
func rulesets(f *testing.F) (texts []string) {
	read := func(file string) string {
		text, err := os.ReadFile(file)
		require.NoError(f, err)
		return string(text)
	}
	for _, pattern := range []string{"decompile/testdata/*.nft", "check/testdata/scripts/*", "print/testdata/listings/*"} {
		files, err := filepath.Glob(pattern)
		require.NoError(f, err)
		require.NotEmpty(f, files)
		for _, file := range files {
			for _, part := range strings.Split(read(file), "\n\n") {
				input, _, _ := strings.Cut(part, "\n----")
				_, input, _ = strings.Cut("\n"+input, "\n")
				texts = append(texts, input)
			}
		}
	}
	for line := range strings.Lines(read("decompile/testdata/rules-odd.txt")) {
		where, rule, _ := strings.Cut(strings.TrimSpace(line), ": ")
		family, _, _ := strings.Cut(where, " ")
		texts = append(texts, "table "+family+" t {\n\tchain d {\n\t}\n\tchain c {\n\t\t"+rule+"\n\t}\n}\n")
	}
	return texts
}
