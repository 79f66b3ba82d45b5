//go:build js && wasm

// Command wasm is the program of the playground's first tab.
package main

import (
	"github.com/chainwalk/chainwalk/playground/rules"
	"github.com/chainwalk/chainwalk/playground/worker"
)

func main() {
	tab := &rules.Tab{}
	worker.Serve(worker.Methods{
		"read": worker.Method(func(p rules.Paste) (rules.Read, error) { return tab.Read(p), nil }),
		"name": worker.Method(func(asked) (rules.Named, error) { return tab.Named(), nil }),
		"walk": worker.Method(func(p asked) (rules.Walked, error) { return tab.Walk(p.Packet), nil }),
		"try":  worker.Method(func(p asked) (rules.Tried, error) { return tab.Try(p.Packet), nil }),
	})
}

type asked struct {
	Packet string `json:"packet"`
}
