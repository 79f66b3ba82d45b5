package fakekernel_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/fakekernel"
	"github.com/chainwalk/chainwalk/internal/kerneltest"
	"github.com/chainwalk/chainwalk/netfilter"
)

// accountNamed finds the accounting objects that rules name.
var accountNamed = regexp.MustCompile(`--nfacct-name +\S+`)

// TestGuestsOfDumpsKernel restores what was saved on nodes, with the real tools and ours, and compares what nft shows of it.
func TestGuestsOfDumpsKernel(t *testing.T) {
	kerneltest.Need(t, "iptables-nft-restore", "ip6tables-nft-restore", "nft")
	compared := 0
	require.NoError(t, filepath.WalkDir("../internal/dumps", func(path string, d fs.DirEntry, err error) error {
		name := filepath.Base(path)
		if err != nil || d.IsDir() || !strings.Contains(name, "tables-save") && !strings.Contains(name, "tables.save") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		tool := "iptables-nft-restore"
		if strings.Contains(name, "ip6tables") {
			tool = "ip6tables-nft-restore"
		}
		real := kerneltest.New(t)
		k := fakekernel.New(fakekernel.Options{Dialect: netfilter.NFT})
		for _, named := range slices.Compact(slices.Sorted(slices.Values(accountNamed.FindAllString(string(text), -1)))) {
			words := []string{"nfacct", "add", strings.Fields(named)[1]}
			real.Run(words, "")
			require.NoError(t, k.Exec().Command(words[0], words[1:]...).Run())
		}
		result := real.Run([]string{tool, "-c"}, string(text))
		require.Zero(t, result.Status, "%s: %s", path, result.Stderr)
		command := k.Exec().Command(tool, "-c")
		command.SetStdin(bytes.NewReader(text))
		out, err := command.CombinedOutput()
		require.NoError(t, err, "%s: %s", path, out)
		for _, words := range []string{"-a list ruleset", "-j list ruleset", "-s list ruleset", "list chains"} {
			want := real.Run(append([]string{"nft"}, strings.Fields(words)...), "")
			command := k.Exec().Command("nft", strings.Fields(words)...)
			var errors bytes.Buffer
			command.SetStderr(&errors)
			got, err := command.Output()
			require.NoError(t, err, "%s: %s", path, errors.String())
			require.Equal(t, want.Stdout, string(got), "%s: nft %s", path, words)
			require.Equal(t, want.Stderr, errors.String(), "%s: nft %s", path, words)
		}
		compared++
		return nil
	}))
	require.NotZero(t, compared)
	t.Logf("%d rulesets are shown alike", compared)
}
