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

	"github.com/chainwalk/chainwalk/internal/chromium"
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

// browser is a Chromium that shows pages.
type browser struct{ *chromium.Browser }

// TestPagesInABrowser shows pages in a real browser, tries what can be clicked and leaves pictures: make page.
func TestPagesInABrowser(t *testing.T) {
	program, out := os.Getenv("CHAINWALK_CHROMIUM"), os.Getenv("CHAINWALK_PAGE_OUT")
	if program == "" || out == "" {
		t.Skip("make page has a browser for it")
	}
	require.NoError(t, os.MkdirAll(out, 0o755))
	b := browser{chromium.Open(t, program)}
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
			b.In(t)
			for _, colours := range []string{"light", "dark"} {
				b.Screen(1280, colours)
				b.Open(paths[name])
				assert.Equal(t, colours == "dark", b.Number(chromium.Lightness) < 0.5, "the colours that the system asks for")
				assert.Empty(t, b.Unreadable(), colours)
				b.Picture(filepath.Join(out, name+"-"+colours+".png"), 0)
			}
			for _, width := range []int{1280, 390} {
				b.Screen(width, "light")
				assert.LessOrEqual(t, b.Number("document.documentElement.scrollWidth"), float64(width), "nothing is beyond the right edge")
			}
			b.narrow(t, paths[name], filepath.Join(out, name+"-390.png"))
			b.withoutScript(t, paths[name])
			b.printed(t, paths[name])
			assert.Empty(t, b.Complaints)
		})
	}
	t.Run("outcomes", func(t *testing.T) { b.In(t); b.outcomes(t, paths["trace"]) })
	t.Run("jump", func(t *testing.T) { b.In(t); b.jump(t, paths["trace"]) })
	t.Run("themes", func(t *testing.T) { b.In(t); b.themes(t, paths["trace"]) })
	t.Run("filter", func(t *testing.T) { b.In(t); b.filter(t, paths["run"]) })
	t.Run("failures", func(t *testing.T) { b.In(t); b.failures(t, paths["run"]) })
	b.In(t)
	b.Screen(1120, "light")
	b.Open(paths["trace"])
	b.Picture(filepath.Join(out, "readme.png"), b.Number(`document.querySelector(".passages li.rewrite").getBoundingClientRect().bottom + 4`))
	assert.Empty(t, b.Complaints)
}

// beside are the hosts of ways that stand beside another one rather than below it.
const beside = `[...document.querySelectorAll(".direction > .grid")].filter(g => g.checkVisibility())` +
	`.filter(g => new Set([...g.querySelectorAll(".stop")]
	.map(s => s.getBoundingClientRect().left)).size > 1).length`

// narrow: on a telephone the hosts of a way stand below one another, and nothing moves sideways.
func (b browser) narrow(t *testing.T, path, picture string) {
	t.Helper()
	b.Screen(390, "light")
	b.Open(path)
	assert.Empty(t, b.Sideways(), "what moves sideways")
	assert.Zero(t, b.Number(beside), "hosts beside one another")
	b.Open(path)
	b.Picture(picture, 0)
}

// withoutScript: all outcomes stand below one another.
func (b browser) withoutScript(t *testing.T, path string) {
	t.Helper()
	b.Call("Emulation.setScriptExecutionDisabled", map[string]any{"value": true}, nil)
	b.Open(path)
	assert.True(t, b.Truth(`[...document.querySelectorAll(".outcome")].every(o => o.closest("details:not([open])") || o.checkVisibility())`),
		"without a script")
	assert.False(t, b.Truth(`[...document.querySelectorAll(".scripted")].some(e => e.checkVisibility())`),
		"what needs a script is not there without one")
	b.Call("Emulation.setScriptExecutionDisabled", map[string]any{"value": false}, nil)
}

// printed: all outcomes are on paper.
func (b browser) printed(t *testing.T, path string) {
	t.Helper()
	b.Open(path)
	b.Call("Emulation.setEmulatedMedia", map[string]any{"media": "print"}, nil)
	assert.True(t, b.Truth(`[...document.querySelectorAll(".outcome")].every(o => o.closest("details:not([open])") || o.checkVisibility())`),
		"on paper")
	b.Call("Emulation.setEmulatedMedia", map[string]any{"media": ""}, nil)
	var paper struct{ Data string }
	b.Call("Page.printToPDF", nil, &paper)
	assert.Greater(t, len(paper.Data), 10_000)
}

const chosen = `[...document.querySelectorAll(".outcome")].filter(o => o.checkVisibility()).map(o => o.id).join(" ")`

func (b browser) outcomes(t *testing.T, path string) {
	b.Screen(1280, "light")
	b.Open(path)
	assert.True(t, b.Soon(chosen+` == "wo1"`), "the first outcome is shown")
	b.Click(`.outcomes a[href="#wo3"]`)
	assert.True(t, b.Soon(chosen+` == "wo3"`), "by the mouse")
	assert.Equal(t, "true", b.Text(`document.querySelector('.outcomes a[href="#wo3"]').getAttribute("aria-current")`))
	assert.Equal(t, float64(1), b.Number(`document.querySelectorAll(".outcomes [aria-current]").length`))
	b.Ask(`document.querySelector(".outcomes a").focus() || true`, new(bool))
	b.Press("Tab")
	b.Press("Enter")
	assert.True(t, b.Soon(chosen+` == "wo2"`), "by the keyboard")
	b.Open(path + "#wo3")
	assert.True(t, b.Soon(chosen+` == "wo3"`), "by the address")
}

func (b browser) jump(t *testing.T, path string) {
	b.Screen(1280, "light")
	b.Open(path)
	b.Ask(`(scrollTo(0, 0), true)`, new(bool))
	b.Click("#wo1 .jump")
	const place = `document.querySelector("#wo1 li.decided").getBoundingClientRect()`
	assert.True(t, b.Soon(place+".top >= 0 && "+place+".bottom <= innerHeight"), "the rule is in the window")
	assert.True(t, b.Soon(`document.activeElement.textContent.includes("KUBE-SEP-")`), "it has the focus")
}

func (b browser) themes(t *testing.T, path string) {
	b.Screen(1280, "light")
	b.Open(path)
	light := b.Number(chromium.Lightness)
	b.Click(`#themes [data-theme=dark]`)
	assert.True(t, b.Soon(chromium.Lightness+" < 0.5"))
	assert.Equal(t, "true", b.Text(`document.querySelector("#themes [data-theme=dark]").getAttribute("aria-pressed")`))
	b.Open(path)
	assert.Less(t, b.Number(chromium.Lightness), 0.5, "it stays so")
	b.Click(`#themes [data-theme=""]`)
	assert.True(t, b.Soon(fmt.Sprintf("%s == %v", chromium.Lightness, light)))
}

const listed = `[...document.querySelectorAll(".scenarios > .scenario")].filter(s => s.checkVisibility()).length`

func (b browser) filter(t *testing.T, path string) {
	b.Screen(1280, "light")
	b.Open(path)
	assert.True(t, b.Soon(listed+" == 13"))
	b.Click(`#filter [data-verdict=FAIL]`)
	assert.True(t, b.Soon(listed+" == 1"))
	b.Click(`#filter [data-verdict=""]`)
	b.Click(`#filter input`)
	b.Type("calls ITSELF")
	assert.True(t, b.Soon(listed+" == 1"))
	assert.Equal(t, "1 of 13", b.Text(`document.querySelector("#filter output").textContent`))
	b.Type(" and nobody else")
	assert.True(t, b.Soon(listed+" == 0"))
}

// failures: a link leads to what failed, and from there to the line of the scenario, whatever is folded or filtered out.
func (b browser) failures(t *testing.T, path string) {
	b.Screen(1280, "light")
	b.Open(path)
	b.Click(`#filter [data-verdict=ok]`)
	b.Ask(`document.querySelectorAll("details").forEach(d => { d.open = false }) || true`, new(bool))
	b.Click(".failures a")
	assert.True(t, b.Soon(`document.querySelector(".check.bad").checkVisibility()`))
	b.Click(".check.bad > .asked a")
	assert.True(t, b.Soon(`document.querySelector("mark").checkVisibility()`))
	assert.Contains(t, b.Text(`document.querySelector("mark").textContent`), "without a rule of it")
}
