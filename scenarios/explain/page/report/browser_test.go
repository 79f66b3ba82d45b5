package report

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"maps"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// browser is a headless Chromium with one tab, spoken to by the DevTools protocol over a pipe.
type browser struct {
	t       *testing.T
	to      *os.File
	from    *bufio.Reader
	calls   int
	session string
	// complaints are errors and warnings of the console, exceptions, and what was loaded beside the page.
	complaints []string
	loaded     bool
}

// message is an answer or an event.
type message struct {
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// browserTime is how long everything that is tried in a browser may take together.
const browserTime = 5 * time.Minute

// openBrowser starts the program. It ends with the test.
func openBrowser(t *testing.T, program string) *browser {
	t.Helper()
	theirIn, to, err := os.Pipe()
	require.NoError(t, err)
	from, theirOut, err := os.Pipe()
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), browserTime)
	command := exec.CommandContext(ctx, program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
		"--user-data-dir="+t.TempDir(), "--remote-debugging-pipe", "about:blank")
	command.ExtraFiles = []*os.File{theirIn, theirOut}
	require.NoError(t, command.Start(), program)
	require.NoError(t, theirIn.Close())
	require.NoError(t, theirOut.Close())
	b := &browser{t: t, to: to, from: bufio.NewReader(from)}
	t.Cleanup(func() {
		b.session = ""
		b.call("Browser.close", nil, nil)
		_ = command.Wait() // it was told to end
		cancel()
	})
	var target struct{ TargetID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		b.call(domain+".enable", nil, nil)
	}
	return b
}

// call asks the browser to do something, and reads what happens until it is done.
func (b *browser) call(method string, params, result any) {
	b.t.Helper()
	b.calls++
	request := map[string]any{"id": b.calls, "method": method}
	if params != nil {
		request["params"] = params
	}
	if b.session != "" {
		request["sessionId"] = b.session
	}
	text, err := json.Marshal(request)
	require.NoError(b.t, err)
	_, err = b.to.Write(append(text, 0))
	require.NoError(b.t, err)
	for {
		m := b.read()
		if m.ID != b.calls {
			continue
		}
		require.Nil(b.t, m.Error, "%s: %+v", method, m.Error)
		if result != nil {
			require.NoError(b.t, json.Unmarshal(m.Result, result))
		}
		return
	}
}

// read reads one message, and notes what it says of the page.
func (b *browser) read() message {
	b.t.Helper()
	text, err := b.from.ReadBytes(0)
	require.NoError(b.t, err, "the browser ended")
	var m message
	require.NoError(b.t, json.Unmarshal(text[:len(text)-1], &m))
	switch m.Method {
	case "Page.loadEventFired":
		b.loaded = true
	case "Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled":
		b.complaints = append(b.complaints, m.Method+" "+string(m.Params))
	case "Network.requestWillBeSent":
		var sent struct {
			Type    string
			Request struct{ URL string }
		}
		require.NoError(b.t, json.Unmarshal(m.Params, &sent))
		if sent.Type != "Document" {
			b.complaints = append(b.complaints, "loads "+sent.Request.URL)
		}
	}
	return m
}

// open shows a file, at a place in it if that is given behind #, as if it had not been open before.
func (b *browser) open(path string) {
	b.t.Helper()
	b.visit("about:blank")
	b.visit("file://" + path)
}

func (b *browser) visit(url string) {
	b.t.Helper()
	b.loaded = false
	b.call("Page.navigate", map[string]any{"url": url}, nil)
	for !b.loaded {
		b.read()
	}
}

// screen sets how wide the window is, in points, and which colours the system asks for.
func (b *browser) screen(width int, colours string) {
	b.t.Helper()
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false}, nil)
	b.call("Emulation.setEmulatedMedia",
		map[string]any{"features": []any{map[string]string{"name": "prefers-color-scheme", "value": colours}}}, nil)
}

// ask evaluates an expression in the page.
func (b *browser) ask(expression string, result any) {
	b.t.Helper()
	var answer struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	b.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}, &answer)
	require.Empty(b.t, string(answer.ExceptionDetails), expression)
	require.NoError(b.t, json.Unmarshal(answer.Result.Value, result), "%s is %s", expression, answer.Result.Value)
}

// number, text and truth are answers.
func (b *browser) number(expression string) (n float64) {
	b.t.Helper()
	b.ask(expression, &n)
	return n
}

func (b *browser) text(expression string) (s string) {
	b.t.Helper()
	b.ask(expression, &s)
	return s
}

func (b *browser) truth(expression string) (yes bool) {
	b.t.Helper()
	b.ask(expression, &yes)
	return yes
}

// soon says whether something becomes true within five seconds: what a click does is done after it.
func (b *browser) soon(expression string) (yes bool) {
	b.t.Helper()
	b.ask(`new Promise(done => { const end = performance.now() + 5000;
		const look = () => (`+expression+`) ? done(true) : performance.now() > end ? done(false) : setTimeout(look, 10); look(); })`, &yes)
	return yes
}

// click clicks in the middle of the first element that a selector finds, as a mouse does.
func (b *browser) click(selector string) {
	b.t.Helper()
	var at struct{ X, Y float64 }
	b.ask(fmt.Sprintf(`(() => { const e = document.querySelector(%q); e.scrollIntoView({block: "center"});
		const r = e.getBoundingClientRect(); return {x: r.x + r.width / 2, y: r.y + r.height / 2}; })()`, selector), &at)
	for _, kind := range []string{"mousePressed", "mouseReleased"} {
		b.call("Input.dispatchMouseEvent", map[string]any{"type": kind, "x": at.X, "y": at.Y, "button": "left", "clickCount": 1}, nil)
	}
}

// press presses a key of the keyboard: Tab or Enter.
func (b *browser) press(key string) {
	b.t.Helper()
	code := map[string]int{"Tab": 9, "Enter": 13}[key]
	for _, kind := range []string{"rawKeyDown", "char", "keyUp"} {
		event := map[string]any{"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code}
		if key == "Enter" {
			event["text"] = "\r"
		} else if kind == "char" {
			continue
		}
		b.call("Input.dispatchKeyEvent", event, nil)
	}
}

// picture takes a picture of the page down to a height, all of it for 0.
func (b *browser) picture(path string, height float64) {
	b.t.Helper()
	var metrics struct {
		CSSContentSize struct{ Width, Height float64 }
	}
	b.call("Page.getLayoutMetrics", nil, &metrics)
	if height == 0 {
		height = metrics.CSSContentSize.Height
	}
	clip := map[string]float64{"x": 0, "y": 0, "width": metrics.CSSContentSize.Width, "height": height, "scale": 1}
	var shot struct{ Data string }
	b.call("Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": true, "clip": clip}, &shot)
	data, err := base64.StdEncoding.DecodeString(shot.Data)
	require.NoError(b.t, err)
	full, err := png.Decode(bytes.NewReader(data))
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
