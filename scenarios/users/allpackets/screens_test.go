package allpackets

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/chromium"
)

// TestPagesOfAllPacketsInABrowser opens the pages on a telephone and on a large screen, in light and dark: make page.
func TestPagesOfAllPacketsInABrowser(t *testing.T) {
	program, out := os.Getenv("CHAINWALK_CHROMIUM"), os.Getenv("CHAINWALK_PAGE_OUT")
	if program == "" || out == "" {
		t.Skip("make page has a browser for it")
	}
	require.NoError(t, os.MkdirAll(out, 0o755))
	b := chromium.Open(t, program)
	for name, write := range map[string]func(io.Writer) error{
		"diff": comparison(t).WriteHTML, "across": oddNode(t).WriteHTML, "ask": answers(t).WriteHTML,
	} {
		path, err := filepath.Abs(filepath.Join(out, name+".html"))
		require.NoError(t, err)
		file, err := os.Create(path)
		require.NoError(t, err)
		require.NoError(t, write(file))
		require.NoError(t, file.Close())
		for _, colours := range []string{"light", "dark"} {
			for width, picture := range map[int]string{1280: name + "-" + colours, 390: name + "-390-" + colours} {
				b.Screen(width, colours)
				b.Open(path)
				assert.Equal(t, colours == "dark", b.Number(chromium.Lightness) < 0.5, "the colours that the system asks for")
				assert.Empty(t, b.Unreadable(), picture)
				b.Picture(filepath.Join(out, picture+".png"), 0)
				assert.Empty(t, b.Sideways(), "%s: what moves sideways", picture)
				b.Ask(`(document.querySelectorAll("details").forEach(d => { d.open = true }), true)`, new(bool))
				assert.Empty(t, b.Unreadable(), "%s, unfolded", picture)
				assert.Empty(t, b.Sideways(), "%s, unfolded: what moves sideways", picture)
			}
		}
	}
	assert.Empty(t, b.Complaints)
}
