package report

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/explain/names"
	"github.com/chainwalk/chainwalk/scenarios/explain/story"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
	"github.com/chainwalk/chainwalk/scenarios/world/sim"
)

// failing is a scenario whose second expectation does not hold, since a rule is taken away behind the proxier's back.
const failing = `name: a pod calls itself by its service
description: Its node has to masquerade that.
objects:
- apiVersion: v1
  kind: Service
  metadata: {name: web}
  spec: {clusterIP: 172.30.0.41, ports: [{port: 80, targetPort: 8080}]}
- apiVersion: discovery.k8s.io/v1
  kind: EndpointSlice
  metadata: {name: web-1, labels: {kubernetes.io/service-name: web}}
  addressType: IPv4
  ports: [{port: 8080}]
  endpoints: [{addresses: [10.244.1.2], nodeName: node1}, {addresses: [10.244.2.2], nodeName: node2}]
steps:
- connect: {name: by its rules, from: 10.244.1.2, to: "tcp 172.30.0.41:80", expect: {endpoints: ["10.244.1.2:8080", "10.244.2.2:8080"]}}
- name: the rule is lost
  fault: {node: node1, run: ["iptables -t nat -F KUBE-MARK-MASQ"]}
- connect: {name: without a rule of it, from: 10.244.1.2, to: "tcp 172.30.0.41:80", expect: {endpoints: ["10.244.1.2:8080", "10.244.2.2:8080"]}}
`

// realTrace is the README's packet, in the node that was recorded.
func realTrace(t *testing.T) string {
	t.Helper()
	file, err := os.Open("../../../../internal/dumps/kind-v1.34/legacy/demo-worker.yaml")
	require.NoError(t, err)
	defer file.Close() //nolint:errcheck // nothing was written
	node, err := snapshot.Read(file.Name(), file)
	require.NoError(t, err)
	in, err := inet.ParseInput("tcp 10.244.2.2:40000 > 10.96.125.22:80 in vethb0aa81ba")
	require.NoError(t, err)
	result, err := node.Trace(in, snapshot.HostOptions{}, packetsim.WalkOptions{})
	require.NoError(t, err)
	objects, err := os.Open("../../../../internal/dumps/kind-v1.34/objects.yaml")
	require.NoError(t, err)
	defer objects.Close() //nolint:errcheck // nothing was written
	known, err := manifest.ReadObjects(objects.Name(), objects)
	require.NoError(t, err)
	told := story.Of(result, story.Options{Host: "demo-worker", Names: names.New(known)})
	return tracePage(t, &told)
}

// realRun is a run of shipped scenarios, and of one that fails.
func realRun(t *testing.T) string {
	t.Helper()
	loaded, err := scenarios.Load("../../../testdata/cases")
	require.NoError(t, err)
	bad, err := scenarios.Read("hairpin-lost.yaml", strings.NewReader(failing))
	require.NoError(t, err)
	sources := map[string]string{"hairpin-lost.yaml": failing}
	var results []*scenarios.Result
	for _, s := range append(loaded[:12], bad) {
		results = append(results, scenarios.Run(t.Context(), s, sim.Backend{}))
	}
	return written(t, func(w io.Writer) error {
		return Run(w, results, RunOptions{Ways: scenarios.WaysOne, Source: func(r *scenarios.Result) string { return sources[r.File] }})
	})
}

// realFuzz is a search that has found the failing scenario.
func realFuzz(t *testing.T) string {
	t.Helper()
	read, err := scenarios.Read("found.yaml", strings.NewReader(failing))
	require.NoError(t, err)
	return written(t, func(w io.Writer) error {
		return Fuzz(w, &Search{Seed: 7, Shard: 1, Shards: 1, Cases: 1000, Findings: []Finding{{
			Clause: "hairpin-masquerade", Law: "S8", Text: "A pod that is sent back to itself sees another address than its own.",
			Where: "after step 2, on node1", Again: "chainwalk fuzz --seed 7 --case 4711",
			Want: "10.244.1.2:8080 or 10.244.2.2:8080", Got: "no reply from 10.244.1.2:8080", File: failing,
			Replayed: scenarios.Run(t.Context(), read, sim.Backend{}),
		}}})
	})
}

// TestPagesInABrowser shows pages in a real browser, tries what can be clicked and leaves pictures: make page.
func TestPagesInABrowser(t *testing.T) {
	program, out := os.Getenv("CHAINWALK_CHROMIUM"), os.Getenv("CHAINWALK_PAGE_OUT")
	if program == "" || out == "" {
		t.Skip("make page has a browser for it")
	}
	require.NoError(t, os.MkdirAll(out, 0o755))
	b := openBrowser(t, program)
	paths := map[string]string{}
	for name, text := range map[string]string{"trace": realTrace(t), "run": realRun(t), "fuzz": realFuzz(t),
		"evil": filled(t, evil)["trace"]} {
		path, err := filepath.Abs(filepath.Join(out, name+".html"))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		paths[name] = path
	}
	for _, name := range []string{"trace", "run", "fuzz", "evil"} {
		t.Run(name, func(t *testing.T) {
			b.t = t
			for _, colours := range []string{"light", "dark"} {
				b.screen(1280, colours)
				b.open(paths[name])
				assert.Equal(t, colours == "dark", b.number(lightness) < 0.5, "the colours that the system asks for")
				assert.Empty(t, b.unreadable(), colours)
				b.picture(filepath.Join(out, name+"-"+colours+".png"), 0)
			}
			for _, width := range []int{1280, 390} {
				b.screen(width, "light")
				assert.LessOrEqual(t, b.number("document.documentElement.scrollWidth"), float64(width), "nothing is beyond the right edge")
			}
			b.narrow(t, paths[name], filepath.Join(out, name+"-390.png"))
			b.withoutScript(t, paths[name])
			b.printed(t, paths[name])
			assert.Empty(t, b.complaints)
		})
	}
	t.Run("outcomes", func(t *testing.T) { b.t = t; b.outcomes(t, paths["trace"]) })
	t.Run("jump", func(t *testing.T) { b.t = t; b.jump(t, paths["trace"]) })
	t.Run("themes", func(t *testing.T) { b.t = t; b.themes(t, paths["trace"]) })
	t.Run("filter", func(t *testing.T) { b.t = t; b.filter(t, paths["run"]) })
	t.Run("failures", func(t *testing.T) { b.t = t; b.failures(t, paths["run"]) })
	b.t = t
	b.screen(1120, "light")
	b.open(paths["trace"])
	b.picture(filepath.Join(out, "readme.png"), b.number(`document.querySelector(".passages li.rewrite").getBoundingClientRect().bottom + 4`))
	assert.Empty(t, b.complaints)
}

// scrolled are the elements that a hand could move sideways, with all that is folded unfolded.
const scrolled = `(document.querySelectorAll("details").forEach(d => { d.open = true }), [...document.querySelectorAll("body, body *")]
	.filter(e => e.checkVisibility() && e.scrollWidth > e.clientWidth + 1 && ["auto", "scroll"].includes(getComputedStyle(e).overflowX))
	.map(e => e.tagName + "." + e.className))`

// beside are the hosts of ways that stand beside another one rather than below it.
const beside = `[...document.querySelectorAll(".direction > .grid")].filter(g => g.checkVisibility()).filter(g => new Set([...g.querySelectorAll(".stop")]
	.map(s => s.getBoundingClientRect().left)).size > 1).length`

// narrow: on a telephone the hosts of a way stand below one another, and nothing moves sideways.
func (b *browser) narrow(t *testing.T, path, picture string) {
	t.Helper()
	b.screen(390, "light")
	b.open(path)
	var moved []string
	b.ask(scrolled, &moved)
	assert.Empty(t, moved, "what moves sideways")
	assert.Zero(t, b.number(beside), "hosts beside one another")
	assert.LessOrEqual(t, b.number("document.documentElement.scrollWidth"), 390.0)
	b.open(path)
	b.picture(picture, 0)
}

// lightness is how light the page's ground is, from 0 to 1.
const lightness = `(() => { const c = getComputedStyle(document.body).backgroundColor.match(/[\d.]+/g).map(Number); return (c[0] + c[1] + c[2]) / 765; })()`

// unreadable are texts whose contrast with their ground is below what WCAG AA asks of small text.
func (b *browser) unreadable() (out []string) {
	b.t.Helper()
	b.ask(`(() => {
		const parse = c => c.match(/[\d.]+/g).map(Number);
		const lum = c => { const f = v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; return 0.2126 * f(c[0]) + 0.7152 * f(c[1]) + 0.0722 * f(c[2]); };
		const ground = e => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c.length < 4 || c[3] > 0) return c; } return [255, 255, 255]; };
		const out = new Set();
		const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
		for (let n; n = texts.nextNode();) {
			const e = n.parentElement;
			if (!n.data.trim() || !e.checkVisibility() || ["SCRIPT", "STYLE"].includes(e.tagName)) continue;
			const a = lum(parse(getComputedStyle(e).color)), g = lum(ground(e));
			const ratio = (Math.max(a, g) + 0.05) / (Math.min(a, g) + 0.05);
			if (ratio < 4.5) out.add(e.tagName + "." + e.className + " " + ratio.toFixed(2));
		}
		return [...out];
	})()`, &out)
	return out
}

// withoutScript: all outcomes stand below one another.
func (b *browser) withoutScript(t *testing.T, path string) {
	t.Helper()
	b.call("Emulation.setScriptExecutionDisabled", map[string]any{"value": true}, nil)
	b.open(path)
	assert.True(t, b.truth(`[...document.querySelectorAll(".outcome")].every(o => o.closest("details:not([open])") || o.checkVisibility())`),
		"without a script")
	assert.False(t, b.truth(`[...document.querySelectorAll(".scripted")].some(e => e.checkVisibility())`),
		"what needs a script is not there without one")
	b.call("Emulation.setScriptExecutionDisabled", map[string]any{"value": false}, nil)
}

// printed: all outcomes are on paper.
func (b *browser) printed(t *testing.T, path string) {
	t.Helper()
	b.open(path)
	b.call("Emulation.setEmulatedMedia", map[string]any{"media": "print"}, nil)
	assert.True(t, b.truth(`[...document.querySelectorAll(".outcome")].every(o => o.closest("details:not([open])") || o.checkVisibility())`),
		"on paper")
	b.call("Emulation.setEmulatedMedia", map[string]any{"media": ""}, nil)
	var paper struct{ Data string }
	b.call("Page.printToPDF", nil, &paper)
	assert.Greater(t, len(paper.Data), 10_000)
}

const chosen = `[...document.querySelectorAll(".outcome")].filter(o => o.checkVisibility()).map(o => o.id).join(" ")`

func (b *browser) outcomes(t *testing.T, path string) {
	b.screen(1280, "light")
	b.open(path)
	assert.True(t, b.soon(chosen+` == "wo1"`), "the first outcome is shown")
	b.click(`.outcomes a[href="#wo3"]`)
	assert.True(t, b.soon(chosen+` == "wo3"`), "by the mouse")
	assert.Equal(t, "true", b.text(`document.querySelector('.outcomes a[href="#wo3"]').getAttribute("aria-current")`))
	assert.Equal(t, float64(1), b.number(`document.querySelectorAll(".outcomes [aria-current]").length`))
	b.ask(`document.querySelector(".outcomes a").focus() || true`, new(bool))
	b.press("Tab")
	b.press("Enter")
	assert.True(t, b.soon(chosen+` == "wo2"`), "by the keyboard")
	b.open(path + "#wo3")
	assert.True(t, b.soon(chosen+` == "wo3"`), "by the address")
}

func (b *browser) jump(t *testing.T, path string) {
	b.screen(1280, "light")
	b.open(path)
	b.ask(`(scrollTo(0, 0), true)`, new(bool))
	b.click("#wo1 .jump")
	const place = `document.querySelector("#wo1 li.decided").getBoundingClientRect()`
	assert.True(t, b.soon(place+".top >= 0 && "+place+".bottom <= innerHeight"), "the rule is in the window")
	assert.True(t, b.soon(`document.activeElement.textContent.includes("KUBE-SEP-")`), "it has the focus")
}

func (b *browser) themes(t *testing.T, path string) {
	b.screen(1280, "light")
	b.open(path)
	light := b.number(lightness)
	b.click(`#themes [data-theme=dark]`)
	assert.True(t, b.soon(lightness+" < 0.5"))
	assert.Equal(t, "true", b.text(`document.querySelector("#themes [data-theme=dark]").getAttribute("aria-pressed")`))
	b.open(path)
	assert.Less(t, b.number(lightness), 0.5, "it stays so")
	b.click(`#themes [data-theme=""]`)
	assert.True(t, b.soon(fmt.Sprintf("%s == %v", lightness, light)))
}

const listed = `[...document.querySelectorAll(".scenarios > .scenario")].filter(s => s.checkVisibility()).length`

func (b *browser) filter(t *testing.T, path string) {
	b.screen(1280, "light")
	b.open(path)
	assert.True(t, b.soon(listed+" == 13"))
	b.click(`#filter [data-verdict=FAIL]`)
	assert.True(t, b.soon(listed+" == 1"))
	b.click(`#filter [data-verdict=""]`)
	b.click(`#filter input`)
	b.call("Input.insertText", map[string]any{"text": "calls ITSELF"}, nil)
	assert.True(t, b.soon(listed+" == 1"))
	assert.Equal(t, "1 of 13", b.text(`document.querySelector("#filter output").textContent`))
	b.call("Input.insertText", map[string]any{"text": " and nobody else"}, nil)
	assert.True(t, b.soon(listed+" == 0"))
}

// failures: a link leads to what failed, and from there to the line of the scenario, whatever is folded or filtered out.
func (b *browser) failures(t *testing.T, path string) {
	b.screen(1280, "light")
	b.open(path)
	b.click(`#filter [data-verdict=ok]`)
	b.ask(`document.querySelectorAll("details").forEach(d => { d.open = false }) || true`, new(bool))
	b.click(".failures a")
	assert.True(t, b.soon(`document.querySelector(".check.bad").checkVisibility()`))
	b.click(".check.bad > .asked a")
	assert.True(t, b.soon(`document.querySelector("mark").checkVisibility()`))
	assert.Contains(t, b.text(`document.querySelector("mark").textContent`), "without a rule of it")
}
