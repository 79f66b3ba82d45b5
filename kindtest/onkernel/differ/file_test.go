package differ

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/race"
	"github.com/chainwalk/chainwalk/internal/sample"
	"github.com/chainwalk/chainwalk/kindtest/internal/toolrun"
	"github.com/chainwalk/chainwalk/netfilter"
)

// TestCasesAreWrittenAsTheyWereRead holds the writer against every fourth of the recorded cases (internal/sample), byte for byte.
func TestCasesAreWrittenAsTheyWereRead(t *testing.T) {
	race.OneGoroutine(t)
	folder := t.TempDir()
	for _, kind := range []struct {
		folder string
		fresh  func() any
	}{
		{walkCases, func() any { return &walkCase{} }},
		{textCases, func() any { return &textCase{} }},
	} {
		paths, err := filepath.Glob(filepath.Join(kind.folder, "*.yaml"))
		require.NoError(t, err)
		require.NotEmpty(t, paths, kind.folder)
		for _, path := range sample.Some(t, paths, 4) {
			c := kind.fresh()
			require.NoError(t, readFile(path, c))
			written, err := writeFile(folder, filepath.Base(path), c)
			require.NoError(t, err)
			want, err := os.ReadFile(path)
			require.NoError(t, err)
			got, err := os.ReadFile(written)
			require.NoError(t, err)
			assert.Equal(t, string(want), string(got), path)
		}
	}
}

func TestBytesThatAreNoTextAreKept(t *testing.T) {
	want := textCase{
		Dialect: netfilter.NFT,
		Steps:   []textStep{{Argv: []string{"iptables-nft", "-A", "\xc3"}, Stdin: "*nat\n\xff\x01\n"}},
		Kernel:  []toolrun.Run{{Stdout: "\xc3\n", Stderr: "\ta\nb\n", Status: 2}},
	}
	path, err := writeFile(t.TempDir(), "text.yaml", &want)
	require.NoError(t, err)
	var got textCase
	require.NoError(t, readFile(path, &got))
	assert.Equal(t, want, got)
}

func TestBadCasesAreRefused(t *testing.T) {
	for _, row := range []struct{ name, text, want string }{
		{"no dialect", "family: 4\nrules: x\n", `"dialect" is missing`},
		{"another dialect", "dialect: NFT\n", `unknown dialect "NFT": want legacy or nft`},
		{"another field", "dialect: nft\nrule: x\n", `unknown field "rule"`},
		{"two documents", "dialect: nft\n---\ndialect: nft\n", "a second document (want one)"},
		{"nothing", "", "the input is empty (want one document)"},
	} {
		t.Run(row.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "case.yaml")
			require.NoError(t, os.WriteFile(path, []byte(row.text), 0o600))
			assert.ErrorContains(t, readFile(path, &walkCase{}), row.want)
		})
	}
}

// TestACaseThatStopsARunIsReplayed: its file has the case, under a name that -replay looks for.
func TestACaseThatStopsARunIsReplayed(t *testing.T) {
	for prefix, c := range map[string]*walkCase{
		"walk":   {Dialect: netfilter.Legacy, Family: 6, Rules: "*raw\nCOMMIT\n"},
		"native": {Dialect: netfilter.NFT, Family: 4, NFT: "table ip t {\n}\n"},
	} {
		c.Sends = []send{{From: nodePlace, Packet: "udp 10.78.1.1:1 > 10.78.1.2:2"}}
		folder := t.TempDir()
		err := stopped(&runBounds{Folder: folder, Seed: 7}, c, 3, os.ErrDeadlineExceeded)
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		paths, globbed := filepath.Glob(filepath.Join(folder, prefix+"-*.yaml"))
		require.NoError(t, globbed)
		require.Len(t, paths, 1)
		assert.ErrorContains(t, err, paths[0])
		read := &walkCase{}
		require.NoError(t, readFile(paths[0], read))
		assert.Equal(t, c, read)
	}
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	err := stopped(&runBounds{Folder: file}, &walkCase{Dialect: netfilter.NFT, Family: 4}, 1, os.ErrDeadlineExceeded)
	assert.ErrorIs(t, err, os.ErrDeadlineExceeded, "where the case cannot be written, what stopped the run is said, too")
	assert.ErrorContains(t, err, file)
}
