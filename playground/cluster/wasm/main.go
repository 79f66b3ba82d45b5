//go:build js && wasm

// Command wasm is the program of the playground's second and third tab.
package main

import (
	"github.com/chainwalk/chainwalk/playground/cluster"
	"github.com/chainwalk/chainwalk/playground/rules"
	"github.com/chainwalk/chainwalk/playground/worker"
)

func main() {
	tab := &cluster.Tab{}
	worker.Serve(worker.Methods{
		"read":  worker.Method(func(p cluster.Paste) (cluster.Read, error) { return tab.Read(p), nil }),
		"walk":  worker.Method(func(p asked) (rules.Walked, error) { return tab.Walk(p.Packet), nil }),
		"check": worker.Method(func(p asked) (cluster.Checked, error) { return cluster.Check(p.Text), nil }),
		"run":   worker.Method(func(p asked) (cluster.Ran, error) { return cluster.Run(p.Text) }),
	})
}

type asked struct {
	Packet string `json:"packet"`
	Text   string `json:"text"`
}
