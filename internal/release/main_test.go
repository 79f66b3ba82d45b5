package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func write(t *testing.T, path, text string) string {
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o750))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// archiveOf is a compressed archive of one file.
func archiveOf(t *testing.T, name, text string) string {
	var out bytes.Buffer
	packed := gzip.NewWriter(&out)
	files := tar.NewWriter(packed)
	require.NoError(t, files.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(text)), Typeflag: tar.TypeReg}))
	_, err := files.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, files.Close())
	require.NoError(t, packed.Close())
	return out.String()
}

// TestWhatIsWrongIsFound has artefacts that are not as they should be.
func TestWhatIsWrongIsFound(t *testing.T) {
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte("content")))
	other := strings.Repeat("0", len(sum))
	for about, row := range map[string]struct{ name, text, want string }{
		"a sum":                    {"checksums.txt", sum + "  beside\n", ""},
		"another sum":              {"checksums.txt", other + "  beside\n", "beside has the sum " + sum},
		"no sums":                  {"checksums.txt", "\n", "is no sum and name"},
		"a file that is gone":      {"checksums.txt", sum + "  gone\n", "gone"},
		"components":               {"a.cdx.json", `{"components": [{"name": "k8s.io/utils"}]}`, ""},
		"no components":            {"a.cdx.json", `{"components": []}`, "links k8s.io/utils"},
		"an index":                 {"krew/chainwalk.yaml", "sha256: " + sum, ""},
		"an index with an old sum": {"krew/chainwalk.yaml", "sha256: " + other, "it has the sum " + other},
		"an index of nothing":      {"krew/chainwalk.yaml", "uri: https://github.com///releases/a.tar.gz\nsha256: " + sum, "names no repository"},
		"an index without a sum":   {"homebrew/Casks/chainwalk.rb", "cask", "it has no sums of archives"},
		"an archive of a script":   {"a.tar.gz", archiveOf(t, "chainwalk", "#!/bin/sh\n"), "no program of Linux, macOS or Windows"},
		"an archive of another":    {"a.tar.gz", archiveOf(t, "walk", "#!/bin/sh\n"), "it has no program chainwalk"},
		"no archive":               {"a.zip", "nothing", "not a valid zip file"},
	} {
		t.Run(about, func(t *testing.T) {
			dist := t.TempDir()
			write(t, filepath.Join(dist, "beside"), "content")
			if row.name != "checksums.txt" {
				write(t, filepath.Join(dist, "checksums.txt"), sum+"  beside\n")
			}
			path := write(t, filepath.Join(dist, filepath.FromSlash(row.name)), row.text)
			require.True(t, isArtefact(path))
			tried, err := try(path, "")
			if row.want == "" {
				require.NoError(t, err)
				assert.NotEmpty(t, tried)
				return
			}
			assert.ErrorContains(t, err, row.want)
			assert.ErrorContains(t, tryAll(dist, ""), row.want)
		})
	}
}

// TestProgramsOfEachSystem reads the headers of the test's own program, and refuses one that asks for libraries.
func TestProgramsOfEachSystem(t *testing.T) {
	pe := append([]byte("MZ"), make([]byte, 0x100)...)
	pe[0x3c] = 0x40
	copy(pe[0x40:], "PE\x00\x00\x64\xaa")
	system, architecture, err := headerOf(pe)
	require.NoError(t, err)
	assert.Equal(t, "windows arm64", system+" "+architecture)
	macho := append([]byte{0xcf, 0xfa, 0xed, 0xfe, 0x0c, 0, 0, 1}, make([]byte, 0x40)...)
	system, architecture, err = headerOf(macho)
	require.NoError(t, err)
	assert.Equal(t, "darwin arm64", system+" "+architecture)
}
