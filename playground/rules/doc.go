// Package rules answers the playground's first tab: what becomes of a packet in rules that were pasted, which packets the rules are about,
// and which rules those packets meet.
//
// It stands behind packetsim and the page of a trace, and links no object of Kubernetes, so that a browser loads little of it.
package rules
