// Package provision makes the containers of a kind cluster's nodes, by kind's library.
//
// The library makes texts by package text/template, which finds methods by their names. Whatever links it keeps every exported method of
// every type that it links. So chainwalk does not link this package, but starts the program chainwalk-kind.
package provision

import (
	kind "sigs.k8s.io/kind/pkg/cluster"
	"sigs.k8s.io/kind/pkg/log"
)

// Nodes makes the containers that a configuration of kind names (kind.x-k8s.io/v1alpha4, as YAML or JSON), by Docker. It stops before it
// starts Kubernetes in them. An error is kind's, which deletes then what it has made. Its library takes no context: Nodes ends early if
// somebody deletes the containers.
func Nodes(config []byte, logger log.Logger) error {
	provider := kind.NewProvider(kind.ProviderWithDocker(), kind.ProviderWithLogger(logger))
	return provider.Create("", kind.CreateWithRawConfig(config), kind.CreateWithStopBeforeSettingUpKubernetes(true))
}
