//go:build linux

package decompile_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/fakenft/decompile"
	"github.com/chainwalk/chainwalk/fakenft/print"
	"github.com/chainwalk/chainwalk/internal/kerneltest"
	"github.com/chainwalk/chainwalk/internal/nfnetlink"
	"github.com/chainwalk/chainwalk/internal/nftnetlink"
	"github.com/chainwalk/chainwalk/internal/sample"
)

// listing is what chainwalk lists of what the real kernel holds.
func listing(t *testing.T, place *kerneltest.Namespace) string {
	t.Helper()
	now := time.Now()
	var r *nftnetlink.Ruleset
	place.Do(func() {
		s, err := nfnetlink.Open()
		require.NoError(t, err)
		defer func() { require.NoError(t, s.Close()) }()
		r, err = nftnetlink.Read(s, now)
		require.NoError(t, err)
	})
	b, err := print.AppendRuleset(nil, decompile.Read(r, now), &print.Options{Device: device})
	require.NoError(t, err)
	return string(b)
}

// expires is the rest of an element's life, which passes while it is asked for.
var expires = regexp.MustCompile(`expires [0-9a-z]+`)

// equalLines fails with the first lines that differ.
func equalLines(t *testing.T, want, have, what string) {
	t.Helper()
	if want == have {
		return
	}
	wanted := strings.Split(expires.ReplaceAllString(want, "expires X"), "\n")
	had := strings.Split(expires.ReplaceAllString(have, "expires X"), "\n")
	told := 0
	for i := range max(len(wanted), len(had)) {
		var a, b string
		if i < len(wanted) {
			a = wanted[i]
		}
		if i < len(had) {
			b = had[i]
		}
		if a != b && told < 5 {
			told++
			t.Errorf("%s\nnft:       %s\nchainwalk: %s", what, a, b)
		}
	}
}

// TestKernelListsTheSame loads rulesets into the real kernel, and lists what it holds as nft does.
func TestKernelListsTheSame(t *testing.T) {
	kerneltest.Need(t, "nft")
	files, err := filepath.Glob("testdata/*.nft")
	require.NoError(t, err)
	if more := os.Getenv("CHAINWALK_RULESETS"); more != "" {
		found, err := filepath.Glob(more)
		require.NoError(t, err)
		files = append(files, found...)
	}
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.ReplaceAll(file, "/", "_"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			place := kerneltest.New(t)
			place.Must("ip link set lo up")
			place.Feed(string(text), "nft", "-f", "-")
			want := place.Must("nft list ruleset")
			equalLines(t, want, listing(t, place), file)
		})
	}
}

// TestKernelListsEachRuleTheSame does so with single rules.
func TestKernelListsEachRuleTheSame(t *testing.T) {
	kerneltest.Need(t, "nft")
	files, err := filepath.Glob("testdata/rules-*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		t.Run(filepath.Base(file), func(t *testing.T) { eachRule(t, filepath.Base(file), string(text)) })
	}
}

// eachRule takes lines "FAMILY TYPE HOOK: RULE".
func eachRule(t *testing.T, file, text string) {
	place := kerneltest.New(t)
	place.Must("ip link set lo up")
	taken, asked := 0, 0
	var listed strings.Builder
	for line := range strings.Lines(text) {
		rules, isRule := ruleset(line)
		if !isRule {
			continue
		}
		asked++
		if !*rewrite && !sample.InPart(t, asked) {
			continue
		}
		if r := place.Run([]string{"nft", "-f", "-"}, "flush ruleset\n"+rules); r.Status != 0 {
			t.Logf("nft does not take %q: %s", line, r.Stderr)
			continue
		}
		taken++
		want := place.Must("nft list ruleset")
		equalLines(t, want, listing(t, place), line)
		listed.WriteString(line + strings.Join(rulesOf(want), "\n") + "\n")
	}
	t.Logf("%d rules", taken)
	if *rewrite {
		require.NoError(t, os.WriteFile("testdata/listed-"+strings.TrimPrefix(file, "rules-"), []byte(listed.String()), 0o600))
	}
}
