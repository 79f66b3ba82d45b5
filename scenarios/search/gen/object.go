package gen

import (
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// object is an object as a scenario has it, with what an API server fills in.
func object(o runtime.Object) manifest.Object {
	out, err := manifest.New(o)
	if err != nil {
		panic("gen: " + err.Error())
	}
	return out
}
