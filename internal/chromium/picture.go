package chromium

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/png"
	"maps"
	"os"
	"slices"

	"github.com/stretchr/testify/require"
)

// Unreadable are texts whose contrast with their ground is below what WCAG AA asks of small text, in shadow roots too.
func (b *Browser) Unreadable() (out []string) {
	b.t.Helper()
	b.Ask(`(() => {
		const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
		const parse = c => {
			canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = c; canvas.fillRect(0, 0, 1, 1);
			return [...canvas.getImageData(0, 0, 1, 1).data];
		};
		const lum = c => {
			const f = v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
			return 0.2126 * f(c[0]) + 0.7152 * f(c[1]) + 0.0722 * f(c[2]);
		};
		const up = e => e.parentElement ?? e.getRootNode().host;
		const ground = e => {
			for (; e; e = up(e)) { const c = parse(getComputedStyle(e).backgroundColor); if (c[3] > 250) return c; }
			return [255, 255, 255];
		};
		const out = new Set();
		const look = root => {
			const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT);
			for (let n; n = texts.nextNode();) {
				if (n.nodeType === 1) { if (n.shadowRoot) look(n.shadowRoot); continue; }
				const e = n.parentElement;
				if (!e || !n.data.trim() || !e.checkVisibility() || ["SCRIPT", "STYLE", "NOSCRIPT", "OPTION", "OPTGROUP"].includes(e.tagName)) continue;
				const a = lum(parse(getComputedStyle(e).color)), g = lum(ground(e));
				const ratio = (Math.max(a, g) + 0.05) / (Math.min(a, g) + 0.05);
				if (ratio < 4.5) out.add(e.tagName + "." + e.className + " " + n.data.trim().slice(0, 20) + " " + ratio.toFixed(2));
			}
		};
		look(document.body);
		return [...out];
	})()`, &out)
	return out
}

// Picture takes a picture of the page down to a height, all of it for 0.
func (b *Browser) Picture(path string, height float64) {
	b.t.Helper()
	var metrics struct {
		CSSContentSize struct{ Width, Height float64 }
	}
	b.Call("Page.getLayoutMetrics", nil, &metrics)
	if height == 0 {
		height = metrics.CSSContentSize.Height
	}
	clip := map[string]float64{"x": 0, "y": 0, "width": metrics.CSSContentSize.Width, "height": height, "scale": 1}
	var shot struct{ Data []byte }
	b.Call("Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": true, "clip": clip}, &shot)
	full, err := png.Decode(bytes.NewReader(shot.Data))
	require.NoError(b.t, err)
	file, err := os.Create(path)
	require.NoError(b.t, err)
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	require.NoError(b.t, encoder.Encode(file, fewColours(full)))
	require.NoError(b.t, file.Close())
}

// fewColours is a picture in 256 colours, which is a third of the size: those that are most frequent, and one of each corner of the others.
func fewColours(full image.Image) image.Image {
	bounds := full.Bounds()
	often := map[color.RGBA]int{}
	at := func(x, y int) color.RGBA { return color.RGBAModel.Convert(full.At(x, y)).(color.RGBA) }
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			often[at(x, y)]++
		}
	}
	all := slices.SortedFunc(maps.Keys(often), func(a, b color.RGBA) int {
		return cmp.Or(often[b]-often[a], int(a.R)-int(b.R), int(a.G)-int(b.G), int(a.B)-int(b.B))
	})
	const frequent = 64
	var palette color.Palette
	corners := map[[3]uint8]bool{}
	for i, c := range all {
		corner := [3]uint8{c.R >> 5, c.G >> 5, c.B >> 5}
		if (i < frequent || !corners[corner]) && len(palette) < 256 {
			palette = append(palette, c)
			corners[corner] = true
		}
	}
	nearest := map[color.RGBA]uint8{}
	for _, c := range all {
		nearest[c] = uint8(palette.Index(c))
	}
	few := image.NewPaletted(bounds, palette)
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			few.SetColorIndex(x, y, nearest[at(x, y)])
		}
	}
	return few
}

// Lightness is an expression: how light the page's ground is, from 0 to 1.
const Lightness = `(() => { const c = getComputedStyle(document.body).backgroundColor.match(/[\d.]+/g).map(Number);
	return (c[0] + c[1] + c[2]) / 765; })()`

// Sideways unfolds all that is folded, and names the elements that a hand could then move sideways, and the page itself if it is wider than
// its window.
func (b *Browser) Sideways() (out []string) {
	b.t.Helper()
	b.Ask(`(document.querySelectorAll("details").forEach(d => { d.open = true }), [...document.querySelectorAll("body, body *")]
		.filter(e => e.checkVisibility() && e.scrollWidth > e.clientWidth + 1 && ["auto", "scroll"].includes(getComputedStyle(e).overflowX))
		.map(e => e.tagName + "." + e.className).concat(document.documentElement.scrollWidth > innerWidth ? ["the page"] : []))`, &out)
	return out
}
