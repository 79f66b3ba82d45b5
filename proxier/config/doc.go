// Package config brings Services, EndpointSlices and Nodes from the API to their
// consumers. It stands before the proxier: Watch starts the informers, one for
// each kind and shared by all consumers, and AddConsumer attaches a handler,
// usually a proxier. Consumers may come and go while the informers run; a new
// one is first given what is already there.
//
// Handlers get only objects that a service proxy serves. The package asks the API server to leave out the others, and drops those that it
// sends anyway, since the fake clientset does not select in its watches. If an object changes so that a proxy begins or ceases to serve it,
// handlers see an addition or a deletion.
//
// # The fake clientset
//
// client-go's fake does not replay deletions that fall between list and watch, and
// its watches hold k8s.io/apimachinery/pkg/watch.DefaultChanSize events and panic
// beyond. Package scenarios/world/api knows how to wait for both.
//
// Package clientset makes an API of a clientset, the fake one too.
//
// Its objects have no resource version, by which informers tell an update from a
// resync. Options.ResyncPeriod must be 0 with it, or updates can get lost.
package config
