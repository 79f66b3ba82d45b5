//go:build js && wasm

package worker

import (
	"encoding/json"
	"fmt"
	"runtime/debug"
	"syscall/js"
)

// Methods answer calls by their names.
type Methods map[string]func(params []byte) (any, error)

// Method is an answer whose parameters are of a type.
func Method[P, R any](answer func(P) (R, error)) func([]byte) (any, error) {
	return func(params []byte) (any, error) {
		var p P
		if err := json.Unmarshal(params, &p); err != nil {
			return nil, err
		}
		return answer(p)
	}
}

// A browser gives a program one processor, so that who types waits for every collection of garbage. A call makes more garbage than the
// program keeps: memory may grow to ten times that, as long as all is below cheapMemory bytes.
const (
	garbage     = 900 // per cent, as of GOGC
	cheapMemory = 512 << 20
)

// Serve gives the worker a function chainwalkCall(method, params) and tells it by chainwalkReady. It does not return.
func Serve(m Methods) {
	debug.SetGCPercent(garbage)
	debug.SetMemoryLimit(cheapMemory)
	js.Global().Set("chainwalkCall", js.FuncOf(func(_ js.Value, args []js.Value) any {
		return m.call(args[0].String(), []byte(args[1].String()))
	}))
	js.Global().Call("chainwalkReady")
	select {}
}

// reply is what the page gets.
type reply struct {
	Result any    `json:"result,omitempty"`
	Error  string `json:"error,omitempty"`
}

// call answers in JSON. A panic is an error that says what was seen: the page then starts another worker.
func (m Methods) call(method string, params []byte) (text string) {
	defer func() {
		if seen := recover(); seen != nil {
			text = encode(reply{Error: fmt.Sprintf("chainwalk failed: %v. This is a bug: please report it with what you entered", seen)})
		}
	}()
	answer, there := m[method]
	if !there {
		return encode(reply{Error: "no method " + method})
	}
	result, err := answer(params)
	if err != nil {
		return encode(reply{Error: err.Error()})
	}
	return encode(reply{Result: result})
}

func encode(r reply) string {
	text, err := json.Marshal(r)
	if err != nil {
		return `{"error":"the answer cannot be written as JSON"}`
	}
	return string(text)
}
