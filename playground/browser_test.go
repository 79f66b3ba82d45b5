package playground

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/chromium"
)

// page is the playground in a browser.
type page struct {
	*chromium.Browser
	base string // the address that it is served at
	out  string // a folder for pictures
}

// deep finds elements in shadow roots too, and text is all that a reader sees below one.
const deep = `const deep = (s, r = document) => { const found = r.querySelector(s); if (found) return found;
	for (const e of r.querySelectorAll("*")) if (e.shadowRoot) { const f = deep(s, e.shadowRoot); if (f) return f; } };
	const shadow = (id, s) => document.getElementById(id).shadowRoot?.querySelector(s);`

// in is an expression that can use deep and shadow.
func in(expression string) string {
	return "(() => { " + deep + " return " + expression + "; })()"
}

// openPage serves the folder that make playground has built, and opens a browser.
func openPage(t *testing.T) *page {
	t.Helper()
	program, folder := os.Getenv("CHAINWALK_CHROMIUM"), os.Getenv("CHAINWALK_PLAYGROUND")
	if program == "" || folder == "" {
		t.Skip("make playground-test has a browser for it")
	}
	server := httptest.NewServer(http.FileServer(http.Dir(folder)))
	t.Cleanup(server.Close)
	p := &page{Browser: chromium.Open(t, program), base: server.URL + "/", out: filepath.Join(folder, "../playground-pictures")}
	require.NoError(t, os.MkdirAll(p.out, 0o755))
	p.From, p.Patience = p.base, 2*time.Minute
	p.Screen(1280, "light")
	return p
}

// start opens the page as if nobody had been there. It has the time of a slow machine: others may be at work here.
func (p *page) start(fragment string) {
	p.Visit("about:blank")
	p.Visit(p.base + "?seconds=100" + fragment)
}

// shown waits for a text in the way of a tab.
func (p *page) shown(t *testing.T, where, text string) {
	t.Helper()
	has := in(fmt.Sprintf(`shadow(%q, ".main")?.textContent.includes(%q) ?? false`, where, text))
	require.True(t, p.Soon(has), "%s has %q; the page says %s", where, text,
		p.Text(`document.querySelector("[role=tabpanel]:not([hidden])").innerText.slice(0, 600)`))
}

// write puts a text into an editor in place of what is there: several lines are pasted, one is typed.
func (p *page) write(editor, text string) {
	p.Ask(in(fmt.Sprintf(`(shadow(%q, ".cm-content").focus(), true)`, editor)), new(bool))
	p.Call("Input.dispatchKeyEvent", map[string]any{"type": "rawKeyDown", "key": "a", "code": "KeyA", "windowsVirtualKeyCode": 65,
		"modifiers": chromium.Control}, nil)
	if !strings.Contains(text, "\n") {
		p.Type(text)
		return
	}
	p.Ask(in(fmt.Sprintf(`(() => { const data = new DataTransfer(); data.setData("text/plain", %q);
		shadow(%q, ".cm-content").dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));`+
		` return true; })()`,
		text, editor)), new(bool))
}

// editorText is the text of a short editor.
func (p *page) editorText(id string) string {
	return p.Text(in(fmt.Sprintf(`[...document.getElementById(%q).shadowRoot.querySelectorAll(".cm-line")]
		.map(l => l.textContent).join("\n")`, id)))
}

func TestPlayground(t *testing.T) {
	p := openPage(t)
	for _, part := range []struct {
		name string
		try  func(*page, *testing.T)
	}{
		{"first trace", (*page).firstTrace},
		{"rules", (*page).rules},
		{"mistakes in rules", (*page).mistakes},
		{"a listing of nft", (*page).listing},
		{"completion", (*page).completion},
		{"a keystroke at 1000 rules", (*page).keystroke},
		{"link", (*page).link},
		{"links that are none", (*page).badLinks},
		{"endless", (*page).endless},
		{"too long", (*page).tooLong},
		{"hostile names", (*page).hostile},
		{"keyboard", (*page).keyboard},
		{"cluster", (*page).cluster},
		{"scenario", (*page).scenario},
		{"looks", (*page).looks},
	} {
		t.Run(part.name, func(t *testing.T) {
			p.In(t)
			p.Complaints = nil
			part.try(p, t)
			assert.Empty(t, p.Complaints, "the browser complains, also of violations of the policy, or the page loads from elsewhere")
		})
	}
	p.In(t)
}

// firstTrace prints how long a cold load takes to the first trace, and how large the page is.
func (p *page) firstTrace(t *testing.T) {
	for _, file := range []string{"rules.wasm.zst", "cluster.wasm.zst", "main.js", "worker.js"} {
		info, err := os.Stat(filepath.Join(os.Getenv("CHAINWALK_PLAYGROUND"), file))
		require.NoError(t, err)
		t.Logf("%-16s %9d bytes", file, info.Size())
		if file == "rules.wasm.zst" {
			assert.LessOrEqual(t, info.Size(), int64(3_000_000), "what the first tab loads, packed as it is served")
		}
	}
	for range 3 {
		p.Call("Network.clearBrowserCache", nil, nil)
		p.start("")
		p.shown(t, "rules-way", "shop/web:http")
		t.Logf("first trace of a cold load after %.0f ms", p.Number(`performance.getEntriesByName("chainwalk-answer")[0].startTime +
			performance.getEntriesByName("chainwalk-answer")[0].duration`))
	}
}

func (p *page) rules(t *testing.T) {
	p.start("")
	p.shown(t, "rules-way", "2 endpoints, 1/2 each")
	p.write("packet-editor", "tcp 10.244.1.9:40000 > 10.96.0.81:80 in eth0")
	p.shown(t, "rules-way", "icmp-port-unreachable")
	assert.True(t, p.Soon(`document.getElementById("unmet-claim").textContent.includes("Another packet may meet it")`))
	assert.Regexp(t, `^Rules that no packet met \(\d+ of \d+\)$`, p.Text(`document.getElementById("unmet-summary").textContent`))
	// A packet of the list.
	require.True(t, p.Soon(`document.querySelectorAll("#about-list button").length > 0`))
	p.Click("#about-list li:nth-child(1) button")
	p.shown(t, "rules-way", "shop/web:http")
	assert.Equal(t, p.Text(`document.querySelector("#about-list li:nth-child(1) code").textContent`), p.editorText("packet-editor"))
	assert.Equal(t, "true", p.Text(`document.querySelector("#about-list li:nth-child(1) button").getAttribute("aria-current")`))
	assert.Positive(t, p.Number(in(`document.getElementById("rules-editor").shadowRoot.querySelectorAll(".cm-met").length`)),
		"the rules that it met are marked")
	// Outcomes can be chosen, and the choice stays as one types.
	require.True(t, p.Soon(in(`!!shadow("rules-way", ".outcomes a[href='#wo2']")`)))
	p.Ask(in(`(shadow("rules-way", ".outcomes a[href='#wo2']").click(), true)`), new(bool))
	const chosen = `[...document.getElementById("rules-way").shadowRoot.querySelectorAll(".outcome.chosen")].map(o => o.id).join()`
	assert.Equal(t, "wo2", p.Text(chosen))
	p.write("packet-editor", "tcp 10.244.1.9:40001 > 10.96.0.80:80 in eth0")
	p.shown(t, "rules-way", "10.244.1.9:40001")
	assert.Equal(t, "wo2", p.Text(chosen))
}

func (p *page) mistakes(t *testing.T) {
	p.start("")
	p.shown(t, "rules-way", "shop/web:http")
	p.write("rules-editor", "*filter\n:INPUT ACCEPT [0:0]\n-A INPUT -p tcp --dprt 80 -j DROP\nCOMMIT\n")
	require.True(t, p.Soon(`document.getElementById("rules-read").textContent.startsWith("Line 3, column 17: unknown option")`),
		p.Text(`document.getElementById("rules-read").textContent`))
	require.True(t, p.Soon(in(`shadow("rules-editor", ".cm-lintRange-error")?.textContent === "--dprt"`)), "the word is marked")
	p.write("rules-editor", "*filter\n:INPUT ACCEPT [0:0]\n-A INPUT -p tcp --dport 80 -j DROP\nCOMMIT\n")
	require.True(t, p.Soon(`document.getElementById("rules-read").textContent.startsWith("1 rule in 3 chains of 1 table")`))
	assert.True(t, p.Soon(in(`!shadow("rules-editor", ".cm-lintRange-error")`)))
	p.write("packet-editor", "tcp 10.0.0.1:1 > 10.0.0.x:80")
	assert.True(t, p.Soon(`document.getElementById("packet-wrong").textContent.startsWith("Column 18: ")`),
		p.Text(`document.getElementById("packet-wrong").textContent`))
	assert.Equal(t, "", p.Text(in(`shadow("rules-way", ".main")?.textContent ?? ""`)), "no trace of a packet that is none")
	p.Ask(`(document.getElementById("local").focus(), true)`, new(bool))
	p.Type("10.0.0.999")
	assert.True(t, p.Soon(`document.getElementById("local-wrong").textContent.includes("is not an IP address")`))
}

// completions are what an editor proposes.
func completions(editor string) string {
	return fmt.Sprintf(`[...document.getElementById(%q).shadowRoot.querySelectorAll(".cm-tooltip-autocomplete li")]`+
		`.map(l => l.textContent).join(" ")`,
		editor)
}

// proposed waits until an editor proposes something.
func (p *page) proposed(t *testing.T, editor, text string) {
	t.Helper()
	require.True(t, p.Soon(fmt.Sprintf(`%s.includes(%q)`, completions(editor), text)), "%s has %q and proposes %q, not %s", editor,
		p.editorText(editor), p.Text(completions(editor)), text)
}

// completion: also of who types faster than the rules are read, and of rules that were changed just now.
func (p *page) completion(t *testing.T) {
	p.start("")
	p.shown(t, "rules-way", "shop/web:http")
	p.write("packet-editor", "tc")
	p.proposed(t, "packet-editor", "tcp")
	p.write("packet-editor", "tcp 10.244.1.2:40000 > 10.96")
	p.proposed(t, "packet-editor", "10.96.0.80:")
	p.write("packet-editor", "tcp 10.244.1.2:40000 > 10.96.0.80:8")
	p.proposed(t, "packet-editor", "80")
	p.write("rules-editor", "*filter\n:FORWARD ACCEPT [0:0]\n-A FORWARD -d 10.97.0.9/32 -p tcp -m tcp --dport 8443 -j DROP\nCOMMIT\n")
	p.write("packet-editor", "tcp 10.244.1.2:40000 > 10.97")
	p.proposed(t, "packet-editor", "10.97.0.9:")
}
