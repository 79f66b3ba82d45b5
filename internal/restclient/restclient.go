// Package restclient makes clients for the few kinds of objects that a program reads and writes, on client-go's requests.
// client-go's typed clients link the types of every group of the API, which makes a program 5 MB larger, and its clientset 20 MB. Its
// generic clients (gentype) link their fakes, and by these all that server-side apply needs: 33 packages, and the memory of their start.
package restclient

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
)

// Kinds are the types of objects that are read or written, by the version of their group.
type Kinds map[schema.GroupVersion][]runtime.Object

// Server is an API server, as far as its kinds are known.
type Server struct {
	codec  runtime.ParameterCodec
	groups map[schema.GroupVersion]rest.Interface
}

// New returns a client of the API server that a configuration names, which it does not change. It asks the server nothing yet. All groups
// share their connections and the configuration's limit of requests.
func New(to *rest.Config, kinds Kinds) (*Server, error) {
	shared := *to
	if shared.UserAgent == "" {
		shared.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	if shared.RateLimiter == nil && shared.QPS > 0 {
		if shared.Burst <= 0 {
			return nil, fmt.Errorf("burst %d: the limit of %v requests a second needs one of 1 or more", shared.Burst, shared.QPS)
		}
		shared.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(shared.QPS, shared.Burst)
	}
	scheme := schemeOf(kinds)
	shared.NegotiatedSerializer = rest.CodecFactoryForGeneratedClient(scheme, serializer.NewCodecFactory(scheme)).WithoutConversion()
	through, err := rest.HTTPClientFor(&shared)
	if err != nil {
		return nil, err
	}
	s := &Server{codec: runtime.NewParameterCodec(scheme), groups: map[schema.GroupVersion]rest.Interface{}}
	for version := range kinds {
		of := shared
		of.APIPath, of.GroupVersion = "/apis", &version
		if version.Group == "" {
			of.APIPath = "/api"
		}
		if s.groups[version], err = rest.RESTClientForConfigAndClient(&of, through); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// schemeOf knows the kinds, and what every answer may have.
func schemeOf(kinds Kinds) *runtime.Scheme {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	for version, types := range kinds {
		scheme.AddKnownTypes(version, types...)
		metav1.AddToGroupVersion(scheme, version)
	}
	return scheme
}

// Group makes requests to a version of a group, which must be one of the kinds'.
func (s *Server) Group(version schema.GroupVersion) rest.Interface {
	group := s.groups[version]
	if group == nil {
		panic(fmt.Sprintf("restclient: %s is not among the versions of the kinds that New was given", version))
	}
	return group
}

// Parameters writes the options of requests.
func (s *Server) Parameters() runtime.ParameterCodec { return s.codec }
