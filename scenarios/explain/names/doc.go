// Package names gives addresses and rules the names of the Kubernetes objects behind them, and finds the addresses of objects that are
// named in a packet.
//
// It stands beside the scenarios: a Book is made of objects as package manifest reads them, and is what a story (package story) asks for
// names. It knows the API's fields and the names of kube-proxy's chains, decides nothing, and judges nothing.
package names
