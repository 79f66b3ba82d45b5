// Package config brings Services, EndpointSlices and Nodes from the API to their
// consumers. It stands before the proxier: Watch starts the informers, one for
// each kind and shared by all consumers, and AddConsumer attaches a handler,
// usually a proxier. Consumers may come and go while the informers run; a new
// one is first given what is already there.
//
// Handlers get only what a service proxy cares for. The API server is asked to
// leave the rest out, and what it sends anyway is dropped here, since the fake
// clientset does not select in its watches. An object that begins or ceases to
// be of interest arrives as an addition or a deletion.
//
// # Waiting for delivery
//
// WaitDelivered returns when every handler has returned from every event that
// had reached this process before the call. It puts a marker behind these events
// in the watch, from where it takes the same way through reflector, store and
// queues; no handler sees it. No clock is involved and nothing is polled.
//
// With k8s.io/client-go/kubernetes/fake a write reaches all watches before it
// returns, so a simulator that writes and then calls WaitDelivered knows that
// every consumer has seen the write. With a real API server an event may still
// be on its way, and WaitDelivered does not wait for that one.
//
// # The fake clientset
//
// Two properties of client-go's fake need care. It does not replay deletions
// that fall between list and watch; Watch returns only when all watches stand,
// so nothing is lost that is deleted later. And its watches hold
// k8s.io/apimachinery/pkg/watch.DefaultChanSize events and panic beyond: write at
// most that many objects of a kind between two calls of WaitDelivered, or write
// them before Watch, where no limit applies.
//
// A write through fake.NewClientset costs milliseconds, since it keeps managed
// fields; its Tracker().Add and fake.NewSimpleClientset take microseconds.
//
// Its objects have no resource version, by which informers tell an update from a
// resync. Options.ResyncPeriod must be 0 with it, or updates can get lost.
package config
