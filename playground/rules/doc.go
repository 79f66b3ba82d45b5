// Package rules answers the playground's first tab: the fate of a packet in pasted rules, packets that match the rules, and the rules that
// those packets meet.
//
// It stands behind packetsim and the page of a trace, and links no object of Kubernetes, so that a browser loads little of it.
package rules
