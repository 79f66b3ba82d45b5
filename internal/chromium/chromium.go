// Package chromium drives a headless Chromium in tests: it opens pages, clicks, types, asks and takes pictures, by the DevTools protocol.
package chromium

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Browser is a headless Chromium with one tab, spoken to by the DevTools protocol over a pipe.
type Browser struct {
	t       *testing.T
	to      *os.File
	from    *bufio.Reader
	calls   int
	session string
	// Complaints are errors and warnings of the console, exceptions, and what was loaded beside the page.
	Complaints []string
	// From is where a page may load from, such as "http://127.0.0.1:8080/"; empty: it loads nothing.
	From string
	// Patience is how long Soon waits.
	Patience time.Duration
	loaded   bool
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
const browserTime = 10 * time.Minute

// Open starts the program. It ends with the test.
func Open(t *testing.T, program string) *Browser {
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
	b := &Browser{t: t, to: to, from: bufio.NewReader(from), Patience: 5 * time.Second}
	t.Cleanup(func() {
		b.session = ""
		b.Call("Browser.close", nil, nil)
		_ = command.Wait() // it was told to end
		cancel()
	})
	var target struct{ TargetID string }
	b.Call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.Call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		b.Call(domain+".enable", nil, nil)
	}
	return b
}

// Call asks the browser to do something, and reads what happens until it is done.
func (b *Browser) Call(method string, params, result any) {
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
func (b *Browser) read() message {
	b.t.Helper()
	text, err := b.from.ReadBytes(0)
	require.NoError(b.t, err, "the browser ended")
	var m message
	require.NoError(b.t, json.Unmarshal(text[:len(text)-1], &m))
	switch m.Method {
	case "Page.loadEventFired":
		b.loaded = true
	case "Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled":
		b.Complaints = append(b.Complaints, m.Method+" "+string(m.Params))
	case "Network.requestWillBeSent":
		var sent struct {
			Type    string
			Request struct{ URL string }
		}
		require.NoError(b.t, json.Unmarshal(m.Params, &sent))
		if sent.Type != "Document" && (b.From == "" || !strings.HasPrefix(sent.Request.URL, b.From)) &&
			!strings.HasPrefix(sent.Request.URL, "data:") {
			b.Complaints = append(b.Complaints, "loads "+sent.Request.URL)
		}
	}
	return m
}

// Open shows a file, at a place in it if that is given behind #, as if it had not been open before.
func (b *Browser) Open(path string) {
	b.t.Helper()
	b.Visit("about:blank")
	b.Visit("file://" + path)
}

// Visit shows what an address names.
func (b *Browser) Visit(url string) {
	b.t.Helper()
	b.loaded = false
	b.Call("Page.navigate", map[string]any{"url": url}, nil)
	for !b.loaded {
		b.read()
	}
}

// Screen sets how wide the window is, in points, and which colours the system asks for.
func (b *Browser) Screen(width int, colours string) {
	b.t.Helper()
	b.Call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false}, nil)
	b.Call("Emulation.setEmulatedMedia",
		map[string]any{"features": []any{map[string]string{"name": "prefers-color-scheme", "value": colours}}}, nil)
}

// Ask evaluates an expression in the page.
func (b *Browser) Ask(expression string, result any) {
	b.t.Helper()
	var answer struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	b.Call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}, &answer)
	require.Empty(b.t, string(answer.ExceptionDetails), expression)
	require.NoError(b.t, json.Unmarshal(answer.Result.Value, result), "%s is %s", expression, answer.Result.Value)
}

// In has another test ask, such as a part of the one that opened the browser.
func (b *Browser) In(t *testing.T) { b.t = t }

// Number is an answer.
func (b *Browser) Number(expression string) (n float64) {
	b.t.Helper()
	b.Ask(expression, &n)
	return n
}

// Text is an answer.
func (b *Browser) Text(expression string) (s string) {
	b.t.Helper()
	b.Ask(expression, &s)
	return s
}

// Truth is an answer.
func (b *Browser) Truth(expression string) (yes bool) {
	b.t.Helper()
	b.Ask(expression, &yes)
	return yes
}

// Soon says whether something becomes true while there is Patience: what a click does is done after it.
func (b *Browser) Soon(expression string) (yes bool) {
	b.t.Helper()
	b.Ask(`new Promise(done => { const end = performance.now() + `+strconv.FormatInt(b.Patience.Milliseconds(), 10)+`;
		const look = () => (`+expression+`) ? done(true) : performance.now() > end ? done(false) : setTimeout(look, 10); look(); })`, &yes)
	return yes
}

// Click clicks in the middle of the first element that a selector finds, as a mouse does.
func (b *Browser) Click(selector string) {
	b.t.Helper()
	var at struct{ X, Y float64 }
	b.Ask(fmt.Sprintf(`(() => { const e = document.querySelector(%q); e.scrollIntoView({block: "center"});
		const r = e.getBoundingClientRect(); return {x: r.x + r.width / 2, y: r.y + r.height / 2}; })()`, selector), &at)
	for _, kind := range []string{"mousePressed", "mouseReleased"} {
		b.Call("Input.dispatchMouseEvent", map[string]any{"type": kind, "x": at.X, "y": at.Y, "button": "left", "clickCount": 1}, nil)
	}
}

// keyCode is that of a key which Press knows.
func keyCode(key string) (int, bool) {
	code, known := map[string]int{"Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "End": 35, "Home": 36,
		"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Delete": 46, "Backspace": 8}[key]
	return code, known
}

// Modifiers of a key, as the protocol has them.
const (
	Control = 2
	Shift   = 8
)

// Press presses a key of the keyboard, with modifiers.
func (b *Browser) Press(key string, modifiers ...int) {
	b.t.Helper()
	held := 0
	for _, m := range modifiers {
		held |= m
	}
	code, known := keyCode(key)
	require.True(b.t, known, "no code for the key %q", key)
	event := map[string]any{"type": "rawKeyDown", "key": key, "code": key, "windowsVirtualKeyCode": code, "modifiers": held}
	if key == " " {
		event["code"] = "Space"
	}
	b.Call("Input.dispatchKeyEvent", event, nil)
	if text := map[string]string{"Enter": "\r", " ": " "}[key]; text != "" && held == 0 {
		event["type"], event["text"] = "char", text
		b.Call("Input.dispatchKeyEvent", event, nil)
		delete(event, "text")
	}
	event["type"] = "keyUp"
	b.Call("Input.dispatchKeyEvent", event, nil)
}

// Type types a text where the focus is, all at once.
func (b *Browser) Type(text string) {
	b.t.Helper()
	b.Call("Input.insertText", map[string]any{"text": text}, nil)
}
