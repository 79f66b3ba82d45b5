package live

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/chromium"
	"github.com/chainwalk/chainwalk/netfilter"
)

// doctorPage is a report of two things that are wrong, one of which concerns many services.
func doctorPage(t *testing.T) string {
	t.Helper()
	cluster := recorded(t, "nft", dumpNodes...)
	edit(t, cluster.Snapshots[0], netfilter.IPv4,
		`[0:0] -A KUBE-SVC-67NZLRHBNDSAWJRO -m comment --comment "shop/web:http -> 10.244.1.2:8080" `+
			"-m statistic --mode random --probability 0.33333333349 -j KUBE-SEP-XTJTEC7KOHLCQM25\n", "")
	edit(t, cluster.Snapshots[1], netfilter.IPv4, ":FORWARD ACCEPT", ":FORWARD DROP")
	report := examined(t, cluster)
	require.GreaterOrEqual(t, len(report.Findings), 2)
	var page strings.Builder
	require.NoError(t, report.WriteHTML(&page))
	return page.String()
}

// stops are the elements that Tab comes to, in the order of the page.
const stops = `[...document.querySelectorAll("a[href], button, input, select, summary, [tabindex='0']")].filter(e => e.checkVisibility())`

// TestTheDoctorsPageInABrowser opens the doctor's page on a telephone, in light and dark, and goes through it by the
// keyboard alone: make page.
func TestTheDoctorsPageInABrowser(t *testing.T) {
	program, out := os.Getenv("CHAINWALK_CHROMIUM"), os.Getenv("CHAINWALK_PAGE_OUT")
	if program == "" || out == "" {
		t.Skip("make page has a browser for it")
	}
	require.NoError(t, os.MkdirAll(out, 0o755))
	path, err := filepath.Abs(filepath.Join(out, "doctor.html"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, []byte(doctorPage(t)), 0o644))
	b := chromium.Open(t, program)
	for _, colours := range []string{"light", "dark"} {
		for width, name := range map[int]string{1280: "doctor-" + colours, 390: "doctor-390-" + colours} {
			b.Screen(width, colours)
			b.Open(path)
			assert.Equal(t, colours == "dark", b.Number(chromium.Lightness) < 0.5, "the colours that the system asks for")
			assert.Empty(t, b.Unreadable(), name)
			b.Picture(filepath.Join(out, name+".png"), 0)
			assert.Empty(t, b.Sideways(), "%s: what moves sideways", name)
			assert.Empty(t, b.Unreadable(), "%s, unfolded", name)
			b.Open(path)
			byKeyboard(t, b)
		}
	}
	assert.Empty(t, b.Complaints)
}

// byKeyboard goes to everything that can be worked by Tab, in the order of the page and with a frame that is seen, and works it by Enter.
func byKeyboard(t *testing.T, b *chromium.Browser) {
	t.Helper()
	count := int(b.Number(stops + ".length"))
	require.Positive(t, count)
	for i := range count {
		b.Press("Tab")
		require.InDelta(t, i, b.Number(stops+".indexOf(document.activeElement)"), 0, "Tab goes on in the order of the page")
		assert.NotEqual(t, "none", b.Text(`getComputedStyle(document.activeElement).outlineStyle`), "stop %d: %s", i,
			b.Text(`document.activeElement.outerHTML.slice(0, 200)`))
	}
	b.Press("Tab", chromium.Shift)
	assert.InDelta(t, max(count-2, 0), b.Number(stops+".indexOf(document.activeElement)"), 0, "and back")
	const folded = `document.querySelectorAll("details:not([open])").length`
	before := b.Number(folded)
	require.Positive(t, before, "something is folded")
	b.Ask(`(document.querySelector("details:not([open]) > summary").focus(), true)`, new(bool))
	b.Press("Enter")
	assert.True(t, b.Soon(fmt.Sprintf("%s === %v", folded, before-1)), "Enter unfolds")
	// The outcomes of a way.
	b.Ask(`(document.querySelectorAll("details").forEach(d => { d.open = true }), true)`, new(bool))
	if b.Truth(`!!document.querySelector(".outcomes a + a, .outcomes li + li a")`) {
		b.Ask(`(document.querySelector(".outcomes a + a, .outcomes li + li a").focus(), true)`, new(bool))
		b.Press("Enter")
		assert.True(t, b.Soon(`document.activeElement.getAttribute("aria-current") === "true"`), "Enter chooses an outcome")
	}
}
