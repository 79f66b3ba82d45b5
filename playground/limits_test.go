package playground

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// link: everything is in the address, and comes back from it.
func (p *page) link(t *testing.T) {
	p.start("")
	p.shown(t, "rules-way", "shop/web:http")
	p.write("rules-editor",
		"*filter\n:FORWARD ACCEPT [0:0]\n-A FORWARD -p tcp -m tcp --dport 81 -m comment --comment \"ünï\" -j DROP\nCOMMIT\n")
	p.write("packet-editor", "tcp 10.0.0.1:40000 > 10.0.0.2:81 in eth0")
	p.shown(t, "rules-way", "dropped")
	p.Click("#share")
	require.True(t, p.Soon(`location.hash.length > 10 && document.getElementById("said").textContent !== ""`))
	fragment := p.Text(`location.hash`)
	assert.Regexp(t, `^#1[A-Za-z0-9_-]+$`, fragment)
	p.start(fragment)
	p.shown(t, "rules-way", "dropped")
	assert.Contains(t, p.editorText("rules-editor"), `--comment "ünï"`)
	assert.Equal(t, "tcp 10.0.0.1:40000 > 10.0.0.2:81 in eth0", p.editorText("packet-editor"))
}

func (p *page) badLinks(t *testing.T) {
	for fragment, says := range map[string]string{
		"#1AAAA": "damaged", "#9x": "another version", "#1" + strings.Repeat("A", 30_001): "longer",
		"#1q1bKSM3JyVeyUqpVSk4tLlGyUirIz": "damaged",
	} {
		p.start(fragment)
		p.shown(t, "rules-way", "shop/web:http")
		assert.Contains(t, p.Text(`document.getElementById("said").textContent`), says, fragment[:3])
	}
	// What has no room in a link is said.
	p.start("")
	p.shown(t, "rules-way", "shop/web:http")
	drawn := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	b.WriteString("*filter\n:FORWARD ACCEPT [0:0]\n")
	for range 4000 {
		fmt.Fprintf(&b, "-A FORWARD -s 10.%d.%d.%d/32 -d 10.%d.%d.%d/32 -j DROP\n", drawn.IntN(256), drawn.IntN(256), drawn.IntN(256),
			drawn.IntN(256), drawn.IntN(256), drawn.IntN(256))
	}
	p.write("rules-editor", b.String()+"COMMIT\n")
	require.True(t, p.Soon(`document.getElementById("rules-read").textContent.startsWith("4000 rules")`))
	p.Click("#share")
	assert.True(t, p.Soon(`/^The link would have \d+ characters, and links have at most 30000/`+
		`.test(document.getElementById("said").textContent)`))
}

// endless: rules that leave the way to chance sixteen times, before a thousand others, keep a computer busy for minutes. The worker is
// ended, and the page goes on.
func (p *page) endless(t *testing.T) {
	p.Visit("about:blank")
	p.Visit(p.base + "?seconds=10")
	p.shown(t, "rules-way", "shop/web:http")
	var b strings.Builder
	b.WriteString("*mangle\n:PREROUTING ACCEPT [0:0]\n")
	for i := range 16 {
		fmt.Fprintf(&b, "-A PREROUTING -m statistic --mode random --probability 0.5 -j MARK --set-xmark %#x/%#x\n", 1<<i, 1<<i)
	}
	for i := range 1000 {
		fmt.Fprintf(&b, "-A PREROUTING -m mark --mark %#x -j DROP\n", 1<<16+i)
	}
	p.write("rules-editor", b.String()+"COMMIT\n")
	const says = `document.getElementById("packet-wrong").textContent`
	require.True(t, p.Soon(says+`.includes("took longer than 10 s and was stopped")`), "it ends; the page says %q, and of the rules %q",
		p.Text(says),
		p.Text(`document.getElementById("rules-read").textContent`))
	p.write("rules-editor", "*filter\n:FORWARD DROP [0:0]\nCOMMIT\n")
	p.shown(t, "rules-way", "dropped")
	assert.Empty(t, p.Text(says))
}

// tooLong: a hundred megabytes are refused before anything looks at them.
func (p *page) tooLong(t *testing.T) {
	p.start("")
	p.shown(t, "rules-way", "shop/web:http")
	took := p.Number(in(`(() => { const data = new DataTransfer(); data.setData("text/plain", "-A FORWARD -j ACCEPT\n".repeat(5_000_000));
		const began = performance.now();
		shadow("rules-editor", ".cm-content").dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, ` +
		`cancelable: true }));
		return performance.now() - began; })()`))
	t.Logf("105 MB refused in %.0f ms", took)
	assert.Contains(t, p.Text(`document.getElementById("rules-read").textContent`), "A text of 105 MB is refused")
	p.write("packet-editor", "tcp 10.244.1.9:40000 > 10.96.0.81:80 in eth0")
	p.shown(t, "rules-way", "icmp-port-unreachable")
}

// hostile: what others wrote is text.
func (p *page) hostile(t *testing.T) {
	p.start("")
	p.shown(t, "rules-way", "shop/web:http")
	p.write("rules-editor", "*filter\n:FORWARD ACCEPT [0:0]\n-A FORWARD -p tcp -m comment --comment "+
		`"<img src=x onerror=alert(1)> style=\"color:red\" </code><script>alert(2)</script>"`+" -j DROP\nCOMMIT\n")
	p.write("packet-editor", "tcp 10.0.0.1:40000 > 10.0.0.2:81 in eth0")
	p.shown(t, "rules-way", "<img src=x onerror=alert(1)>")
	p.shown(t, "rules-way", `</code><script>alert(2)</script>`)
	assert.Zero(t, p.Number(in(`document.getElementById("rules-way").shadowRoot.querySelectorAll("img, script, [onerror]").length`)))
	require.True(t, p.Soon(`document.querySelectorAll("#about-list button").length > 0`))
	assert.Zero(t, p.Number(`document.querySelectorAll("#about-list img, #about-list script").length`))
}

// focused is what has the focus, in a word.
const focused = `(() => { let e = document.activeElement; while (e?.shadowRoot?.activeElement) e = e.shadowRoot.activeElement;
	return e.getAttribute("aria-label") || e.id || e.textContent.slice(0, 40); })()`

// keyboard: everything is reached by Tab, and nothing keeps the focus.
func (p *page) keyboard(t *testing.T) {
	p.start("")
	p.shown(t, "rules-way", "shop/web:http")
	var met []string
	for range 14 {
		p.Press("Tab")
		met = append(met, p.Text(focused))
	}
	t.Logf("by Tab: %s", strings.Join(met, " | "))
	for _, want := range []string{"Skip to the content", "examples", "share", "tab-rules", "Rules", "local", "tools", "Packet"} {
		assert.Contains(t, met, want)
	}
	// A packet of the list by the arrows.
	require.True(t, p.Soon(`document.querySelectorAll("#about-list button").length > 1`))
	p.Ask(`(document.querySelector("#about-list button").focus(), true)`, new(bool))
	p.Press("ArrowDown")
	p.Press("Enter")
	assert.True(t, p.Soon(`document.querySelector("#about-list li:nth-child(2) button").getAttribute("aria-current") === "true"`))
	// The tabs by the arrows.
	p.Ask(`(document.getElementById("tab-rules").focus(), true)`, new(bool))
	p.Press("ArrowRight")
	assert.Equal(t, "tab-cluster", p.Text(focused))
	assert.True(t, p.Truth(`!document.getElementById("panel-cluster").hidden && document.getElementById("panel-rules").hidden`))
	p.shown(t, "cluster-way", "shop/web:http")
	p.Press("ArrowRight")
	assert.Equal(t, "tab-scenario", p.Text(focused))
	p.Press("ArrowRight")
	assert.Equal(t, "tab-rules", p.Text(focused))
}

// cluster: the rules of a node, whose they are, packets to click, and why not.
func (p *page) cluster(t *testing.T) {
	p.start("#example=cluster")
	p.shown(t, "cluster-way", "service shop/web:http")
	t.Logf("first answer of the cluster tab: %s", p.Text(`document.getElementById("objects-read").textContent`))
	assert.Equal(t, "node1", p.Text(`document.getElementById("node").value`))
	require.True(t, p.Soon(`/The rules that kube-proxy writes on node1 \([1-9]\d*\)/`+
		`.test(document.getElementById("node-rules-summary").textContent)`))
	p.shown(t, "cluster-way", "not ready")
	// Of the mode and the node that are chosen.
	p.Ask(`(() => { const s = document.getElementById("mode"); s.value = "nftables"; s.dispatchEvent(new Event("change")); return true; })()`,
		new(bool))
	require.True(t, p.Soon(in(`!!shadow("node-rules", ".cm-content")?.textContent.includes("table ip kube-proxy {")`)))
	p.shown(t, "cluster-way", "service-KHN6ECMT-shop/web/tcp/http")
	p.Ask(`(() => { const s = document.getElementById("mode"); s.value = "legacy"; s.dispatchEvent(new Event("change")); return true; })()`,
		new(bool))
	p.Ask(`(() => { const s = document.getElementById("node"); s.value = "node2"; s.dispatchEvent(new Event("change")); return true; })()`,
		new(bool))
	require.True(t, p.Soon(`document.getElementById("node-rules-summary").textContent.includes("on node2")`))
	// The rules of the object that the cursor is in.
	p.Ask(in(`(shadow("objects-editor", ".cm-content").focus(), true)`), new(bool))
	for range 16 {
		p.Press("ArrowDown")
	}
	require.True(t, p.Soon(`/^[1-9]\d* rules were written for [sS]ervice shop\/web$/`+
		`.test(document.getElementById("node-rule-of").textContent)`),
		p.Text(`document.getElementById("node-rule-of").textContent`))
	require.True(t, p.Soon(in(`!!shadow("node-rules", ".cm-own")`)), "they are marked")
	// A packet that is clicked.
	count := int(p.Number(`document.querySelectorAll("#cluster-about-list button").length`))
	require.Positive(t, count)
	p.Click(fmt.Sprintf("#cluster-about-list li:nth-child(%d) button", count))
	p.shown(t, "cluster-way", "icmp-port-unreachable")
	p.write("cluster-packet-editor", "tcp 198.51.100.10:40000 > node/node2:30080")
	p.shown(t, "cluster-way", "192.168.0.12:30080")
	// Mistakes at their lines.
	p.write("objects-editor", "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {clusterIP: 10.96.0.1, ports: [{port: 80000}]}\n")
	require.True(t, p.Soon(`document.getElementById("objects-read").textContent.startsWith("Line 4, column ")`),
		p.Text(`document.getElementById("objects-read").textContent`))
}

// scenario: mistakes in the margin, completion, a run, and the files that there are.
func (p *page) scenario(t *testing.T) {
	p.start("#example=scenario")
	p.shown(t, "scenario-way", "1 scenario held")
	require.True(t, p.Soon(`document.getElementById("scenario-read").textContent.includes("no mistakes")`))
	p.write("scenario-editor", "name: a\nsteps:\n- conect: {from: 10.0.0.1}\n")
	require.True(t, p.Soon(`document.getElementById("scenario-read").textContent.includes("Line 3, column 3")`),
		p.Text(`document.getElementById("scenario-read").textContent`))
	require.True(t, p.Soon(in(`!!shadow("scenario-editor", ".cm-lint-marker-error")`)), "in the margin")
	p.write("scenario-editor", "name: a\nsteps:\n- c") // what is pasted is not completed, what is typed is
	p.Type("onn")
	p.proposed(t, "scenario-editor", "connect")
	p.Press("Escape")
	require.Greater(t, p.Number(`document.querySelectorAll("#files option").length`), 20.0)
	p.Ask(`(() => { const s = document.getElementById("files"); `+
		`s.value = [...s.options].find(o => o.value.includes("hairpin-keeps-source")).value;
		s.dispatchEvent(new Event("change")); return true; })()`, new(bool))
	p.shown(t, "scenario-way", "1 scenario held")
}

// looks: light and dark have contrast, a telephone moves nothing sideways; pictures are left to be looked at.
func (p *page) looks(t *testing.T) {
	for fragment, shown := range map[string][2]string{
		"#example=service": {"rules-way", "shop/"}, "#example=cluster": {"cluster-way", "shop/"},
		"#example=scenario": {"scenario-way", "1 scenario held"}, "#example=nftables": {"rules-way", "tcp dport vmap @ports"},
	} {
		way, text := shown[0], shown[1]
		name := strings.TrimPrefix(fragment, "#example=")
		for _, width := range []int{1280, 390} {
			for _, colours := range []string{"light", "dark"} {
				p.Screen(width, colours)
				p.start(fragment)
				p.shown(t, way, text)
				if way == "rules-way" {
					require.True(t, p.Soon(`document.querySelectorAll("#about-list button").length > 0`))
				}
				assert.Empty(t, p.Unreadable(), "%s, %s, %d points", name, colours, width)
				p.Picture(filepath.Join(p.out, fmt.Sprintf("%s-%d-%s.png", name, width, colours)), 0)
			}
		}
		p.Ask(`(document.querySelectorAll("details").forEach(d => { d.open = true }), true)`, new(bool))
		assert.LessOrEqual(t, p.Number(`document.documentElement.scrollWidth`), 390.0, "%s: nothing is beyond the right edge", name)
	}
	p.Screen(1280, "light")
}
