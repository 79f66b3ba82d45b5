package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFlagsAreThoseOfTheCheckoutsVersion(t *testing.T) {
	upstream := filepath.Join("..", "..", "..", "proxier", "upstream")
	for name, row := range map[string]struct{ folder, line, want string }{
		"told by the checkout":   {"kubernetes@v1.36.9", "", " -mod=mod -tags=upstream_1_36\n"},
		"newer than is known":    {"kubernetes@v1.40.0", "", " -mod=mod\n"},
		"told by the user":       {"kubernetes@v1.36.9", "1.35", " -mod=mod -tags=upstream_1_35\n"},
		"the newest of the user": {"kubernetes@v1.36.9", "1.37", " -mod=mod\n"},
		"no such version":        {"kubernetes@v1.36.9", "1.2", "modfile: UPSTREAM=1.2: the versions are 1.35, 1.36 and 1.37"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), row.folder)
			require.NoError(t, os.MkdirAll(filepath.Join(dir, "pkg", "proxy", "iptables"), 0o755))
			for file, text := range map[string]string{"go.mod": "module k8s.io/kubernetes\n", "go.sum": "", "pkg/proxy/iptables/proxier.go": ""} {
				require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600))
			}
			var out, errOut bytes.Buffer
			file := filepath.Join(t.TempDir(), "checkout.mod")
			status := newCommand().Run(t.Context(), []string{"-kubernetes", dir, "-line", row.line, "-upstream", upstream, "-out", file}, &out,
				&errOut)
			assert.Contains(t, out.String()+errOut.String(), row.want)
			assert.Equal(t, errOut.Len() > 0, status == 2, errOut.String())
			if status == 0 {
				assert.Equal(t, "-modfile="+file+row.want, out.String())
			}
		})
	}
}
